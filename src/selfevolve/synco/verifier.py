"""The verifier V(x) = (admitted, report) that stands between the Synthesizer and the Reasoner's training.

Paper: SynCo section 3.2 (verified admission, Eq. 5) and appendix B.2: schema completeness, problem well-posedness,
answer consistency, output validity and redundancy; quality "a deterministic composite of verifier signals",
reliability "the internal consistency between the Synthesizer-provided reference solution and final answer";
rule-based, no LLM judge.

Deviations:
* The paper's coefficients and thresholds are in a supplement that is not public: they are `VerifierParams` here.
* Beyond the consistency of the final answer, reliability weighs the arithmetic steps of the solution, recomputed, and
  grounding, the share of the problem's numbers that the solution uses: a key can be consistent with a solution of
  another problem. Support, the reverse, is an admission check: a Synthesizer paid for mixed outcomes soon finds chains
  such as "26+7=33; 32+2=34", whose steps are all right and whose result is not the problem's. A signal that does not apply (no step to check, no number in the problem) leaves the average.
* Leakage and contamination are admission checks the paper asks of the prompt only (C.4).
* The optional consensus check (independent solutions by a model) is not part of this verifier.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from selfevolve.cards import CardError, TaskCard, parse_card
from selfevolve.checker import check, extract
from selfevolve.synco import steps, wording
from selfevolve.synco.contamination import ContaminationIndex
from selfevolve.synco.redundancy import RecentPool

_TOLERANCE = 1e-9  # of a sum of weights
_CLAUSE_END = re.compile(r"[;\n]|[.,]\s")
_NUMBER = re.compile(r"(?:(?<![\w)])-)?\d[\d,]*(?:\.\d+)?(?:/\d+)?")
_NUMBER_THEN_WORDS = re.compile(r"(-?[$]?\d[\d.,/]*%?)\s+[A-Za-z(]")


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
    min_consistency: float = Field(
        ge=0.0, le=1.0, description="consistency is 0 or 1; 0 turns the check off; not stated"
    )
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
    contamination_ngram: int = Field(
        ge=1, description="tokens shared with a benchmark item; not stated, 13 is common use"
    )


class Report(BaseModel):
    """What the verifier found. Every signal is in [0, 1], or None if there is no card or it does not apply."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    admitted: bool
    reason: str = Field(
        description="'' if admitted, else the first check that failed: schema:<cards.REASONS>, incomplete:placeholder|"
        "short|truncated, invalid:no_question|figure|several_problems|unbalanced, format:box|sentence|several_lines|"
        "long_answer|unbalanced|unreadable, leakage, contaminated, inconsistent, no_step, wrong_step, ungrounded, "
        "unsupported, duplicate"
    )
    card: TaskCard | None = None
    completeness: float | None = Field(default=None, description="share of the nine fields with substance")
    validity: float | None = Field(default=None, description="share of the well-posedness rules kept")
    consistency: float | None = Field(default=None, description="1 if the solution's own final value is the answer")
    steps: float | None = Field(default=None, description="share of checkable arithmetic steps that are right")
    grounding: float | None = Field(default=None, description="share of the problem's numbers the solution uses")
    support: float | None = Field(default=None, description="share of the numbers the solution brings in that are given")
    format: float | None = Field(default=None, description="1 bare value, 0.5 decorated, 0 unusable answer")
    redundancy: float | None = Field(default=None, description="similarity to the nearest recent problem, same numbers")
    novelty: float | None = Field(default=None, description="1 - similarity to the nearest recent problem; diagnostic")
    leakage: float | None = Field(default=None, description="1 if the problem states its answer")
    contamination: float | None = Field(default=None, description="1 if it overlaps a benchmark problem")
    quality: float | None = None
    reliability: float | None = None


class Verifier:
    """Rule-based admission of task cards. `verify` reads the recent pool, `remember` extends it."""

    def __init__(self, params: VerifierParams, benchmark_problems: Iterable[str]):
        self.params = params
        self.contamination = ContaminationIndex(benchmark_problems, params.contamination_ngram)
        self._recent = RecentPool(params.recent_pool)

    def remember(self, card: TaskCard) -> None:
        """Add an admitted card, so that later ones must differ from it. The caller verifies a batch in order."""
        self.remember_problem(card.problem)

    def remember_problem(self, problem: str) -> None:
        """Add a problem by its text alone, as when the pool is rebuilt from the memory."""
        self._recent.add(problem)

    def verify(self, text: str) -> Report:
        """Judge one raw Synthesizer output. Never raises on bad input; does not change the pool."""
        try:
            card = parse_card(text)
        except CardError as error:
            return Report(admitted=False, reason=f"schema:{error.reason}")
        params = self.params
        completeness, incomplete = wording.completeness(card, params.min_problem_chars)
        validity, invalid = wording.validity(card.problem)
        form, malformed = wording.answer_format(card.final_answer, params.max_answer_chars)
        if not (invalid or wording.balanced(card.solution)):
            invalid = "unbalanced"
        consistent = None if malformed else _consistent(card)
        if consistent is None and not malformed:
            form, malformed = 0.0, "unreadable"
        solved = steps.read(card.solution)
        right = sum(step.correct for step in solved.steps) / len(solved.steps) if solved.steps else None
        given = steps.read(card.problem).operands
        grounding = _share_found(given, solved.operands)
        support = _share_found(solved.operands, given)
        nearest = self._recent.nearest(card.problem)
        leakage = wording.leaks(card)
        contaminated = self.contamination.overlap(card.problem) is not None
        signals = {
            "completeness": completeness,
            "validity": validity,
            "consistency": float(consistent or False),
            "steps": right,
            "grounding": grounding,
            "support": support,
            "format": form,
            "redundancy": nearest.same,
        }
        checks = (
            (incomplete, f"incomplete:{incomplete}"),
            (invalid, f"invalid:{invalid}"),
            (malformed, f"format:{malformed}"),
            (leakage, "leakage"),
            (contaminated, "contaminated"),
            (signals["consistency"] < params.min_consistency, "inconsistent"),
            (len(solved.steps) < params.min_step_count, "no_step"),
            (right is not None and right < params.min_steps, "wrong_step"),
            (grounding is not None and grounding < params.min_grounding, "ungrounded"),
            (support is not None and support < params.min_support, "unsupported"),
            (nearest.same >= params.duplicate_similarity, "duplicate"),
        )
        reason = next((name for failed, name in checks if failed), "")
        return Report(
            admitted=not reason,
            reason=reason,
            card=card,
            **signals,
            novelty=1.0 - nearest.any_,
            leakage=float(leakage),
            contamination=float(contaminated),
            quality=params.quality_weights.average(signals | {"non_redundancy": 1.0 - nearest.same}),
            reliability=params.reliability_weights.average(signals),
        )


def _consistent(card: TaskCard) -> bool | None:
    """Whether the solution's own final value is `final_answer`; None if the checker cannot read `final_answer`.

    That value is the last box, else what follows "answer is"; without either, what follows the last "=" or the last
    number (either may agree: "... = 7 apples each" and "... = 7. So 7 are left").
    """
    verdict = check(card.solution, card.final_answer)
    if verdict.correct is not False or extract(card.solution).how in ("box", "phrase"):
        return verdict.correct
    _, equals, rest = card.solution.rpartition("=")
    clause = _CLAUSE_END.split(rest.strip(), maxsplit=1)[0].strip(" $.&\\") if equals else ""
    number = _NUMBER_THEN_WORDS.match(clause)
    values = {number[1] if number else clause, *_NUMBER.findall(card.solution)[-1:]} - {""}
    return any(check(f"\\boxed{{{value}}}", card.final_answer).correct is True for value in sorted(values))


def _share_found(wanted: tuple[Fraction, ...], there: tuple[Fraction, ...]) -> float | None:
    """Share of the numbers `wanted`, repeats counted, that occur in `there`; None if nothing is wanted.

    Grounding: the problem's numbers in the solution. Support: the numbers the solution brings in (results of earlier steps are not
    brought in, see `steps.Arithmetic`) in the problem. 20 also occurs as 0.2 and the reverse, as in "20% of".
    """
    unused, found = Counter(there), 0
    for value in wanted:
        form = next((form for form in (value, value / 100, value * 100) if unused[form] > 0), None)
        if form is not None:
            unused[form] -= 1
            found += 1
    return found / len(wanted) if wanted else None
