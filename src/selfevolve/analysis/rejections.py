"""Why a card was rejected (or admitted): every check of the verifier on one row of the memory, with what it found and what it asks.

For a reader, in notebooks/explore.ipynb. The decision itself was made in training and stands in the row (`reason`: the first check that
failed, in this order); nothing here is used by it.
"""

from collections.abc import Callable
from fractions import Fraction

import polars as pl
from rapidfuzz import fuzz

from selfevolve.cards import FIELDS, TaskCard
from selfevolve.synco import steps, wording
from selfevolve.synco.contamination import tokens
from selfevolve.synco.settings import VerifierParams

_SCHEMA = {"check": pl.String, "found": pl.String, "asked": pl.String, "rejected": pl.Boolean}
_Row = tuple[str, str, str]


def why(card: pl.DataFrame, memory: pl.DataFrame, verifier: VerifierParams) -> pl.DataFrame:
    """One row per check, in the verifier's order: check, found, asked, rejected (true for the check that decided).

    ``card`` is one row of ``memory`` (artifacts/cotraining/<variant>/memory.parquet), or no row, which gives no rows. An output that is
    no card has the first row alone. Raises ValueError for more than one row.
    """
    if card.height > 1:
        raise ValueError(f"why: one card at a time, not {card.height} rows; filter by seed, iteration and slot")
    if card.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    row = card.row(0, named=True)
    kind, _, detail = row["reason"].partition(":")
    if row["problem"] is None:
        found = [("schema", detail or "no card", "JSON with the nine fields, each a text")]
    else:
        found = [("schema", "a card", "JSON with the nine fields, each a text"), *_checks(row, memory, verifier, detail)]
    return pl.DataFrame([(*check, check[0] == kind) for check in found], schema=_SCHEMA, orient="row")


def _checks(row: dict, memory: pl.DataFrame, verifier: VerifierParams, detail: str) -> list[_Row]:
    card = TaskCard(**{name: row[name] or "" for name in FIELDS})
    solved, given = steps.read(card.solution), steps.read(card.problem).operands
    wrong = [f"{step.left} = {step.right}" for step in solved.steps if not step.correct]
    told: Callable[[str], str] = lambda kind: f" ({detail})" if row["reason"].startswith(f"{kind}:") else ""  # noqa: E731
    return [
        (
            "incomplete",
            _share(row["completeness"]) + told("incomplete"),
            "nine fields with substance, problem and solution whole",
        ),
        ("invalid", _share(row["validity"]) + told("invalid"), "one well-posed problem that needs no figure, brackets balanced"),
        ("format", _share(row["format"]) + told("format"), "a bare value the checker can read"),
        ("leakage", "answer in the problem" if wording.leaks(card) else "no", "the problem does not state its answer"),
        (
            "contaminated",
            "overlap with a benchmark" if row["reason"] == "contaminated" else "no overlap, or not looked at",
            f"fewer than {verifier.contamination_ngram} tokens in a row shared with a benchmark problem",
        ),
        (
            "inconsistent",
            _share(row["consistency"]),
            f"the solution's own final value is the answer (at least {verifier.min_consistency:g})",
        ),
        ("no_step", f"{len(solved.steps)} steps", f"at least {verifier.min_step_count} steps of arithmetic to check"),
        (
            "wrong_step",
            _share(row["steps"]) + (f" (wrong: {'; '.join(wrong)})" if wrong else ""),
            f"share of right steps at least {verifier.min_steps:g}",
        ),
        (
            "ungrounded",
            _share(row["grounding"]) + _numbers("unused", given, solved.operands),
            f"share of the problem's numbers the solution uses at least {verifier.min_grounding:g}",
        ),
        (
            "unsupported",
            _share(row["support"]) + _numbers("from nowhere", solved.operands, given),
            f"share of the solution's numbers the problem gives at least {verifier.min_support:g}",
        ),
        (
            "duplicate",
            _share(row["redundancy"]) + _nearest(row, memory),
            f"similarity to a recent problem with the same numbers below {verifier.duplicate_similarity:g}",
        ),
        (
            "no_consensus",
            _share(row.get("agreement")),
            f"independent answers that agree: at least {verifier.consensus.min_agreement:g}, of {verifier.consensus.solutions}",
        ),
    ]


def _share(value: float | None) -> str:
    return "does not apply" if value is None else f"{value:.2f}"


def _numbers(what: str, wanted: tuple[Fraction, ...], there: tuple[Fraction, ...]) -> str:
    missing = [str(value) for value in dict.fromkeys(wanted) if not {value, value / 100, value * 100} & set(there)]
    return f" ({what}: {', '.join(missing)})" if missing else ""


def _nearest(row: dict, memory: pl.DataFrame) -> str:
    """The most similar problem admitted earlier in the same run, if it is much alike."""
    place = (row["iteration"], row["slot"])
    earlier = memory.filter(pl.col("admitted"), pl.col("seed") == row["seed"], pl.col("iteration") <= row["iteration"])
    problems = [text for i, slot, text in earlier.select("iteration", "slot", "problem").iter_rows() if (i, slot) < place]
    own = " ".join(tokens(row["problem"]))
    best = max(problems, key=lambda text: fuzz.ratio(own, " ".join(tokens(text))), default=None)
    similar = best is not None and fuzz.ratio(own, " ".join(tokens(best))) >= 80
    return f" (most alike: {best})" if similar else ""
