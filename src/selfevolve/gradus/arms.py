"""Arms: the full method, its ablations (Table 2, A.6) and the controlled baselines (3.1), as settings of one controller.

Paper: Gradus 3.1 (three baselines under the same teacher and budget), 3.3 and A.6 (each ablation).
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from selfevolve.gradus.blueprints import Record

Method = Literal["gradus", "model_prior", "graph_based", "trajectory_first"]
Validity = Literal["full", "reflection", "parallel", "none", "reject"]


class Arm(Record):
    """One way to make a curriculum. What is switched off is A.6's wording of the row of Table 2."""

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
