"""Settings of the `llm` roles, as a record of `params.yaml`. Apart from the modules that use them: importing this costs nothing.

No secret is a setting: `api_key_env` names the environment variable that holds the key.
"""

from __future__ import annotations

from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


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
