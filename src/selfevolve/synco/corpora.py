"""External corpora as task pools: exactly N unique synthetic problems, sampled with a seed (SynCo C.2).

Paper: "For each corpus, we sample exactly 2,940 unique synthetic problems" of MetaMathQA, ScaleQuest-Math and OpenMathInstruct-2. How
their files are read, and which rows count as synthetic, is in `corpus_files`.

The N problems are those with the smallest keyed digests, which makes them a uniform sample of the distinct problems that depends neither
on the order of the rows nor on how often a problem occurs, and needs no more memory than a few times N. Of a problem's several answers
the one with the smallest digest is taken.

Beyond uniqueness, a problem is left out if it could not be trained on: no answer the checker can read, overlap with a benchmark, a prompt
too long for the model. The paper does not mention such a filter.
"""

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import blake2b

import polars as pl

from selfevolve.checker import check, extract
from selfevolve.synco.corpus_files import CorpusError, Row, Rows, key
from selfevolve.synco.proposals import Proposal
from selfevolve.synco.settings import CorpusParams
from selfevolve.synco.verifier import Verifier

CHECKS = frozenset({"contaminated"})
SCHEMA = {
    "origin": pl.String,
    "problem": pl.String,
    "answer": pl.String,
    "admitted": pl.Boolean,
    "reason": pl.String,
    "text": pl.String,
}
"""One row per problem looked at: its type in the corpus, and why it was left out (no_answer, unreadable, too_long, contaminated,
schema:...) if it was."""


def build(
    name: str, corpus: CorpusParams, verifier: Verifier, fits: Callable[[str], bool], seed: int, rows: Iterable[Row] | None = None
) -> pl.DataFrame:
    """Sample `corpus.problems` unique problems. Rows as in `SCHEMA`, in the order looked at.

    Args:
        name: of the corpus in params.yaml, for messages.
        verifier: refuses problems that overlap with a benchmark.
        fits: whether a problem's prompt leaves the model room to answer.
        seed: of the sample.
        rows: what to sample from instead of the corpus' place; must be iterable more than once.

    Raises:
        CorpusError: the corpus cannot be read, or holds too few problems.
    """
    source = Rows(name, corpus) if rows is None else rows
    capacity = 2 * corpus.problems
    while True:
        sample, complete = _smallest(source, capacity, seed)
        looked_at, admitted = [], 0
        for row in sample:
            looked_at.append(_judged(name, row, verifier, fits))
            admitted += looked_at[-1]["admitted"]
            if admitted == corpus.problems:
                return pl.DataFrame(looked_at, schema=SCHEMA, orient="row")
        if complete:
            reasons = Counter(row["reason"] for row in looked_at if row["reason"])
            left_out = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items())) or "none"
            raise CorpusError(
                f"params.yaml: cotraining.sources.corpora.{name}: {corpus.problems} unique problems asked for, {admitted} usable in "
                f"{corpus.path or corpus.hub} ({len(sample)} unique synthetic ones; left out: {left_out}): lower `problems` or give more"
            )
        capacity *= 4


def proposals(pool: pl.DataFrame) -> list[Proposal]:
    """The sampled problems, for `sources.FixedPool`."""
    return [Proposal(text, 0, origin=origin) for text, origin in pool.filter("admitted").select("text", "origin").iter_rows()]


def _answer(solution: str) -> str | None:
    found = extract(solution)
    return found.answer if found.how in ("box", "phrase") else None


def _smallest(rows: Iterable[Row], capacity: int, seed: int) -> tuple[list[Row], bool]:
    """The `capacity` distinct problems with the smallest digests, smallest first, and whether there are no others."""
    kept: dict[bytes, tuple[bytes, Row]] = {}  # digest of the problem -> digest of the rest, and the row
    largest: list[bytes] = []  # heap of the kept digests, negated
    complete = True
    for row in rows:
        digest = _digest(key(row.problem), seed)
        rest = _digest(f"{row.answer}\0{row.solution}", seed)
        if digest in kept:
            if rest < kept[digest][0]:
                kept[digest] = (rest, row)
            continue
        if len(kept) == capacity:
            complete = False
            if digest >= _negated(largest[0]):
                continue
            del kept[_negated(heapq.heappop(largest))]
        kept[digest] = (rest, row)
        heapq.heappush(largest, _negated(digest))
    return [row for _, (_, row) in sorted(kept.items(), key=lambda item: item[0])], complete


def _digest(text: str, seed: int) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=seed.to_bytes(8, "big")).digest()


def _negated(digest: bytes) -> bytes:
    """A digest that sorts the other way round, for a heap whose first entry is the largest."""
    return bytes(255 - byte for byte in digest)


def _judged(name: str, row: Row, verifier: Verifier, fits: Callable[[str], bool]) -> dict:
    """The row of `SCHEMA` for one problem."""
    answer, text = row.answer or _answer(row.solution), None
    if not answer:
        reason = "no_answer"
    elif check(f"\\boxed{{{answer}}}", answer).correct is None:
        reason = "unreadable"
    elif not fits(row.problem):
        reason = "too_long"
    else:
        text = _card(name, row._replace(answer=answer))
        reason = verifier.verify(text, CHECKS).reason
    return {
        "origin": row.kind,
        "problem": row.problem,
        "answer": answer,
        "admitted": not reason,
        "reason": reason,
        "text": None if reason else text,
    }


def _card(name: str, row: Row) -> str:
    """The problem as a task card; what a corpus does not say is said to be unknown."""
    return json.dumps(
        {
            "teaching_intent": f"taken from {name}",
            "target_reasoning_style": row.kind,
            "expected_reasoner_weakness": "unknown",
            "difficulty_estimate": "not estimated",
            "problem": row.problem,
            "solution": row.solution,
            "final_answer": row.answer,
            "verification_notes": "as published",
            "novelty_notes": "as published",
        }
    )
