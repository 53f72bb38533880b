"""The verifier V(x) = (admitted, report) that stands between the Synthesizer and the Reasoner's training.

Paper: SynCo section 3.2 (verified admission, Eq. 5) and appendix B.2: schema completeness, problem well-posedness,
answer consistency, output validity and redundancy; quality "a deterministic composite of verifier signals",
reliability "the internal consistency between the Synthesizer-provided reference solution and final answer";
rule-based, no LLM judge.

Deviations:
* The paper gives no coefficient or threshold ("supplementary implementation"): they are `VerifierParams` here. The code released
  with it (github.com/weiyang930/SynCo) weighs 0.30 schema, 0.30 problem, 0.25 answer, 0.10 novelty and 0.05 format, and admits from
  0.5 on problem and answer and 0.3 on novelty (4-gram overlap with recent problems); it recomputes no arithmetic.
* Beyond the consistency of the final answer, reliability weighs the arithmetic steps of the solution, recomputed, and
  grounding, the share of the problem's numbers that the solution uses: a key can be consistent with a solution of
  another problem. Support, the reverse, is an admission check: a Synthesizer paid for mixed outcomes soon finds chains
  such as "26+7=33; 32+2=34", whose steps are all right and whose result is not the problem's. A signal that does not apply (no step to check, no number in the problem) leaves the average.
* Leakage and contamination are admission checks the paper asks of the prompt only (C.4).
* The consensus check of B.2 and C.3 needs a model to solve the problem, so it is apart, in `consensus`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from copy import copy
from fractions import Fraction

from pydantic import BaseModel, ConfigDict, Field

from selfevolve.cards import CardError, TaskCard, parse_card
from selfevolve.checker import check, extract
from selfevolve.synco import steps, wording
from selfevolve.synco.contamination import ContaminationIndex
from selfevolve.synco.redundancy import RecentPool
from selfevolve.synco.settings import VerifierParams

_CLAUSE_END = re.compile(r"[;\n]|[.,]\s")
_NUMBER = re.compile(r"(?:(?<![\w)])-)?\d[\d,]*(?:\.\d+)?(?:/\d+)?")
_NUMBER_THEN_WORDS = re.compile(r"(-?[$]?\d[\d.,/]*%?)\s+[A-Za-z(]")


class Report(BaseModel):
    """What the verifier found. Every signal is in [0, 1], or None if there is no card or it does not apply."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    admitted: bool
    reason: str = Field(
        description="'' if admitted, else the first check that failed: schema:<cards.REASONS>, incomplete:placeholder|"
        "short|truncated, invalid:no_question|figure|several_problems|unbalanced, format:box|sentence|several_lines|"
        "long_answer|unbalanced|unreadable, leakage, contaminated, inconsistent, no_step, wrong_step, ungrounded, "
        "unsupported, duplicate, or no_consensus (`consensus`)"
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
    agreement: float | None = Field(default=None, description="share of independent solutions that agree; None: not asked")


class Verifier:
    """Rule-based admission of task cards. `verify` reads the recent pool, `remember` extends it."""

    def __init__(self, params: VerifierParams, benchmark_problems: Iterable[str]):
        self.params = params
        self.contamination = ContaminationIndex(benchmark_problems, params.contamination_ngram)
        self._recent = RecentPool(params.recent_pool)

    def emptied(self) -> Verifier:
        """A verifier of the same settings and benchmarks, with no recent pool yet."""
        other = copy(self)
        other._recent = RecentPool(self.params.recent_pool)
        return other

    def remember(self, card: TaskCard) -> None:
        """Add an admitted card, so that later ones must differ from it. The caller verifies a batch in order."""
        self.remember_problem(card.problem)

    def remember_problem(self, problem: str) -> None:
        """Add a problem by its text alone, as when the pool is rebuilt from the memory."""
        self._recent.add(problem)

    def verify(self, text: str, only: frozenset[str] | None = None) -> Report:
        """Judge one raw Synthesizer output. Never raises on bad input; does not change the pool.

        Args:
            text: what the Synthesizer wrote.
            only: the checks that may reject, by what stands before the colon of a reason ("invalid", "duplicate", ...); None: all.
                Every signal is measured all the same, and what is no card is always rejected.
        """
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
        reason = next((name for failed, name in checks if failed and (only is None or name.partition(":")[0] in only)), "")
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
