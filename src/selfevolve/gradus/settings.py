"""Settings of Gradus, the section `gradus` of `params.yaml`. Importing this loads nothing else of the package.

Paper: Gradus 2.3 and 2.4 (search and refinement), 3.1 and A.6 (baselines, ablations), A.5 (sizes by depth).
"""

from __future__ import annotations

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from selfevolve.gradus.scripted.settings import ScriptedSettings

Method = Literal["gradus", "model_prior", "graph_based", "trajectory_first"]
Validity = Literal["full", "reflection", "parallel", "none", "reject"]
DEEPEST = 5


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Arm(_Section):
    """One way to make a curriculum: the full method, an ablation (Table 2, in A.6's words), or a controlled baseline (3.1)."""

    method: Method = Field("gradus", description="who proposes blueprints")
    operators: bool = Field(True, description="false: raw policies, tools and state schemas instead of guarded operators")
    ledger: bool = Field(True, description="false: no corpus-level coverage, no gaps to aim at")
    structural: bool = Field(True, description="false: scenarios in one shot, without kernels or iterative expansion")
    interaction: bool = Field(True, description="false: structurally evolved scenarios go directly to task realization")
    validity: Validity = Field(
        "full",
        description="full: recovery; reflection: no re-initialization; parallel: K rollouts, one attempt each; "
        "none: the first rollout, unverified; reject: one rollout, kept only if it verifies",
    )
    blueprints: int = Field(ge=1, description="blueprints to propose")

    @model_validator(mode="after")
    def _baselines_have_no_parts(self) -> Self:
        if self.method != "gradus" and (self.operators or self.ledger or self.structural or self.interaction):
            raise ValueError(f"{self.method} uses no operators, ledger, structural or interaction kernels: set all four to false")
        if self.method != "gradus" and self.validity != "reject":
            raise ValueError(f"{self.method} rejects what does not verify at once (3.1): set validity to reject")
        return self


class Search(_Section):
    """The schedule of coverage-guided evolution (2.3)."""

    per_operator: int = Field(ge=1, description="k, atomic blueprints asked for per operator")
    children: int = Field(ge=1, description="K, children requested of each parent")
    depths: tuple[Annotated[float, Field(ge=0)], ...] = Field(
        min_length=1, max_length=DEEPEST, description="share of an arm's blueprints at depth 1, 2, ...; sums to 1"
    )
    wave: int = Field(ge=1, description="requests made against one state of the ledger")
    gaps: int = Field(ge=1, description="least covered branches shown with a request")
    interaction: float = Field(ge=0, le=1, description="probability that a blueprint is rewritten by an interaction kernel")

    @model_validator(mode="after")
    def _shares_sum_to_one(self) -> Self:
        if abs(sum(self.depths) - 1) > 1e-6:
            raise ValueError(f"depths {list(self.depths)} sum to {sum(self.depths):g}, not 1")
        return self

    def quotas(self, blueprints: int) -> tuple[int, ...]:
        """Blueprints per depth; they add up to `blueprints`, rounding goes to the shallow depths."""
        quotas = [int(share * blueprints) for share in self.depths]
        for depth in range(blueprints - sum(quotas)):
            quotas[depth % len(quotas)] += 1
        return tuple(quotas)


class Recovery(_Section):
    """The budget of the loop of initialization, simulation and verification (2.4)."""

    rounds: int = Field(ge=1, description="rounds, the first included; each later one re-initializes the task or searches on")
    branches: int = Field(ge=1, description="K, parallel search branches per round")
    attempts: int = Field(ge=1, description="m, attempts in each branch; those after the first are guided by the evaluator")
    revisions: int = Field(ge=0, description="local revisions of a reference that does not execute")
    max_turns: int = Field(ge=1, description="messages and calls of one conversation")
    scouts: int = Field(ge=1, description="independent rollouts of every accepted task that measure its difficulty")


class Sampling(_Section):
    """How to sample an answer. None leaves a value to the server (some models accept no other)."""

    temperature: float | None = Field(ge=0, le=2)
    top_p: float | None = Field(gt=0, le=1)
    max_tokens: int = Field(ge=1, description="tokens of an answer; one that reaches it is cut, and asked for again")


class Prices(_Section):
    """US dollars per million tokens."""

    prompt: float = Field(0.0, ge=0)
    completion: float = Field(0.0, ge=0)


class LlmSettings(_Section):
    """One model that plays every role."""

    backend: Literal["endpoint", "local"] = Field(
        description="endpoint: an OpenAI-compatible server; local: transformers, in process"
    )
    model: str = Field(min_length=1, description="name at the endpoint; local: a folder or a hub id, as in models.base.path")
    base_url: str = Field("https://api.openai.com/v1", description="endpoint: its address, without a secret in it")
    api_key_env: str | None = Field(
        "OPENAI_API_KEY", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="environment variable with the key; null: none needed"
    )
    sampling: Sampling
    prices: Prices = Prices()
    concurrency: int = Field(64, ge=1, description="calls under way at once")
    time_limit_s: float = Field(120.0, gt=0, description="seconds that one attempt of a call may take, all in all")
    attempts: int = Field(6, ge=1, description="attempts of one call when the network fails")
    max_wait_s: float = Field(60.0, gt=0, description="longest wait between attempts; a server that asks for more ends the run")
    reasks: int = Field(2, ge=0, description="times an unusable answer is asked for again")
    probes: int = Field(12, ge=0, description="calls the grounding role may make on its copy of the environment")

    @field_validator("base_url")
    @classmethod
    def _no_secret(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an http(s) address")
        if parts.username or parts.password or parts.query:
            # Not quoted: what it holds would be written to logs and records.
            raise ValueError("must hold no user, password or query: put the key into the variable that api_key_env names")
        return url

    @model_validator(mode="after")
    def _a_new_draw_can_differ(self) -> Self:
        if self.sampling.temperature == 0 and self.reasks:
            raise ValueError("sampling.temperature 0 draws the same answer again: set reasks to 0, or a temperature above 0")
        return self


class Curriculum(_Section):
    """Who learns what (3.1)."""

    arm: str = Field(description="the arm whose accepted tasks are exported")
    sft_depths: tuple[Annotated[int, Field(ge=1, le=DEEPEST)], ...] = Field(
        min_length=1, description="depths that become SFT rows; the others become RL items"
    )


class Gradus(_Section):
    """Stage 03."""

    seed: int = Field(ge=0)
    roles: Literal["scripted", "llm"] = Field(description="who plays the roles")
    scripted: ScriptedSettings
    llm: LlmSettings = Field(description="who answers, if roles is llm")
    workers: int = Field(ge=1, description="scripted: processes, an arm each; llm: blueprints under way at once")
    search: Search
    recovery: Recovery
    arms: dict[str, Arm] = Field(min_length=1)
    curriculum: Curriculum

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.curriculum.arm not in self.arms:
            raise ValueError(f"curriculum.arm {self.curriculum.arm!r} is none of {sorted(self.arms)}")
        return self
