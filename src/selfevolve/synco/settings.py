"""Settings of the verifier, as a record of `params.yaml` (SynCo 3.2, B.2)."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_TOLERANCE = 1e-9  # of a sum of weights


class _Weights(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        total = sum(self.model_dump().values())
        if abs(total - 1.0) > _TOLERANCE:
            raise ValueError(f"the weights of {type(self).__name__} must sum to 1, not {total:g}")
        return self

    def average(self, signals: dict[str, float | None]) -> float:
        """Weighted mean of the signals that apply; the weights of the others are shared out. In [0, 1]."""
        weights = {name: w for name, w in self.model_dump().items() if signals[name] is not None}
        total = sum(weights.values())
        mean = sum(w * signals[name] for name, w in weights.items()) / total if total else 0.0
        return min(1.0, max(0.0, mean))


class QualityWeights(_Weights):
    """Weights of the task-quality score; not negative, sum 1. Paper: which signals, not which weights (B.2)."""

    completeness: float = Field(ge=0.0)
    validity: float = Field(ge=0.0)
    consistency: float = Field(ge=0.0)
    format: float = Field(ge=0.0)
    non_redundancy: float = Field(ge=0.0, description="weight of 1 - redundancy")


class ReliabilityWeights(_Weights):
    """Weights of the reliability score; not negative, sum 1. Paper: consistency of solution and answer (B.2)."""

    consistency: float = Field(ge=0.0)
    steps: float = Field(ge=0.0)
    grounding: float = Field(ge=0.0)


class VerifierParams(BaseModel):
    """Thresholds and weights of the verifier. The paper states none of them ("supplementary implementation", B.2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quality_weights: QualityWeights
    reliability_weights: ReliabilityWeights
    min_problem_chars: int = Field(ge=1, description="shortest problem admitted; not stated")
    max_answer_chars: int = Field(ge=1, description="longest final answer admitted; not stated")
    min_consistency: float = Field(ge=0.0, le=1.0, description="consistency is 0 or 1; 0 turns the check off; not stated")
    min_step_count: int = Field(ge=0, description="checkable arithmetic steps a solution must show; not stated")
    min_steps: float = Field(ge=0.0, le=1.0, description="share of checkable steps that must be right; not stated")
    min_grounding: float = Field(
        ge=0.0, le=1.0, description="share of the problem's numbers the solution must use; 0 turns it off; not stated"
    )
    min_support: float = Field(
        ge=0.0, le=1.0, description="share of the solution's numbers the problem must give; 0 turns it off; not stated"
    )
    duplicate_similarity: float = Field(
        gt=0.0,
        le=1.0,
        description="edit similarity from which a problem with the same numbers is a duplicate; not stated",
    )
    recent_pool: int = Field(ge=1, description="admitted cards a new one must differ from; not stated")
    contamination_ngram: int = Field(ge=1, description="tokens shared with a benchmark item; not stated, 13 is common use")
