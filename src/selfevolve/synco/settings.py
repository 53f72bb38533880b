"""Settings of the verifier, the task sources and the learners, as records of `params.yaml` (SynCo 3.2, B.2, C.2)."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from selfevolve.models.settings import Sampling, SftParams

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


class ConsensusParams(BaseModel):
    """The consensus check (3.2, B.2, C.3). The paper applies it and gives neither number."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    solutions: int = Field(ge=0, description="independent solutions of each card; 0 turns the check off; not stated")
    min_agreement: float = Field(gt=0.0, le=1.0, description="share of them that must agree with the reference; not stated")


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
    overlap_ngram: int = Field(ge=1, description="tokens of the grams that the report on overlap counts; not stated")
    consensus: ConsensusParams


class RewritingShares(BaseModel):
    """How many of each kind of rewritten problem, relative to each other."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rephrase: int = Field(ge=0)
    self_verification: int = Field(ge=0)
    backward: int = Field(ge=0)

    @model_validator(mode="after")
    def _not_all_zero(self) -> Self:
        if not (self.rephrase or self.self_verification or self.backward):
            raise ValueError("all shares are 0: give at least one kind of rewriting a share")
        return self


class RewritingParams(BaseModel):
    """Off-Augment GRPO: a pool of rewritten problems, made once from the cards of the static pool."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int = Field(ge=1, description="rewritten problems in the pool")
    shares: RewritingShares
    writer: Literal["rules", "model"] = Field(description="who rephrases: fixed rules, or the untrained Reasoner")
    sampling: Sampling = Field(description="of the model's rephrasings; unused by rules")


class CorpusParams(BaseModel):
    """One external corpus. It can only be run where `path` or `hub` says where it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: Literal["metamathqa", "scalequest", "openmathinstruct2", "plain"] = Field(
        description="which columns it has and which rows are synthetic, see `synco.corpus_files`; plain: problem, answer"
    )
    path: str | None = Field(description="local .jsonl or .parquet file, or a folder of them (relative to the repository)")
    hub: str | None = Field(description="data set id on the hub")
    problems: int = Field(ge=1, description="unique problems sampled")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.path is not None and self.hub is not None:
            raise ValueError("path and hub are both given: set one of them to null")
        return self


class RZeroParams(BaseModel):
    """R-Zero (Huang et al. 2025): stages in which the Challenger and then the Solver learn."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    challenger_steps: int = Field(ge=0, description="Challenger updates at the start of a round")
    solver_steps: int = Field(ge=1, description="Solver updates of a round, which are the iterations of the run")
    candidates: int = Field(ge=1, description="problems the Challenger then writes for the Solver")
    answers: int = Field(ge=2, description="m, answers of the Solver that vote on the label")
    band: float = Field(gt=0.0, le=0.5, description="delta: a problem is kept if its vote share is within 1/2 +- delta")
    bleu_distance: float = Field(gt=0.0, le=1.0, description="tau: problems nearer than this form a cluster")
    repetition_weight: float = Field(ge=0.0, description="lambda, of the repetition penalty")


class SourcesParams(BaseModel):
    """What the task sources other than the Synthesizer and its static pool need."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rewriting: RewritingParams
    corpora: dict[str, CorpusParams]
    r_zero: RZeroParams


class RejectionSftParams(BaseModel):
    """Reject-Sample SFT: generate, keep what is correct, fine-tune (ReST-EM, Singh et al. 2023)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rounds: int = Field(ge=1, description="times the run generates and then fine-tunes the untrained Reasoner anew")
    per_problem: int = Field(ge=1, description="different correct solutions kept of one problem")
    sft: SftParams = Field(description="of each fine-tuning")


class Variant(BaseModel):
    """One run: where its tasks come from, how the Reasoner learns from them, and whether the one who writes them learns."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: Literal["synthesizer", "static_pool", "rewriting", "corpus", "r_zero"]
    learner: Literal["grpo", "rejection_sft"]
    train_synthesizer: bool
    corpus: str | None = Field(None, description="which of `sources.corpora`; only with source corpus")

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if (self.source == "corpus") != (self.corpus is not None):
            raise ValueError(
                f"source {self.source} {'needs' if self.corpus is None else 'has no'} corpus: name one of sources.corpora"
            )
        if self.source == "r_zero" and not (self.train_synthesizer and self.learner == "grpo"):
            raise ValueError("r_zero trains both of its agents by GRPO: set learner to grpo and train_synthesizer to true")
        if self.train_synthesizer and self.source not in ("synthesizer", "r_zero"):
            raise ValueError(f"source {self.source} has no Synthesizer to train: set train_synthesizer to false")
        return self
