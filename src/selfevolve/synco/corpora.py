"""External corpora as task pools: exactly N unique synthetic problems, sampled with a seed (SynCo C.2).

Paper: "For each corpus, we sample exactly 2,940 unique synthetic problems" of MetaMathQA, ScaleQuest-Math and, of OpenMathInstruct-2,
"its newly augmented synthetic problems rather than unchanged original benchmark questions". So rows whose question is the original are
left out of MetaMathQA too.

The N problems are those with the smallest keyed digests, which makes them a uniform sample of the distinct problems that depends neither
on the order of the rows nor on how often a problem occurs, and needs no more memory than a few times N. Of a problem's several answers
the one with the smallest digest is taken.

Beyond uniqueness, a problem is left out if it could not be trained on: no answer the checker can read, overlap with a benchmark, a prompt
too long for the model. The paper does not mention such a filter. Nothing is downloaded unless a hub id is set in params.yaml.
"""

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import polars as pl

from selfevolve.checker import check, extract
from selfevolve.paths import ROOT
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


class CorpusError(OSError):
    """A corpus cannot be read or sampled; the message names the setting, the file, the field, and the remedy."""


class Layout(NamedTuple):
    """Where a corpus keeps what."""

    problem: str
    solution: str | None
    answer: str | None
    """Column of the final answer; None: it is in the solution, boxed or after "answer is"."""
    kind: str | None
    original: str | None = None
    """Column of the question a row was made from: rows that only repeat it are left out."""
    kinds: str = ""
    """What `kind` starts with in the rows that are synthetic problems; "" for all."""

    @property
    def columns(self) -> list[str]:
        return [name for name in (self.problem, self.solution, self.answer, self.kind, self.original) if name]


LAYOUTS = {
    "metamathqa": Layout("query", "response", None, "type", original="original_question"),
    "scalequest": Layout("query", "response", None, None),
    "openmathinstruct2": Layout("problem", "generated_solution", "expected_answer", "problem_source", kinds="augmented"),
    "plain": Layout("problem", None, "answer", None),
}


class Row(NamedTuple):
    """One synthetic problem of a corpus."""

    problem: str
    solution: str
    answer: str | None
    """None: to be found in the solution."""
    kind: str


def require_place(name: str, corpus: CorpusParams) -> None:
    """Raise CorpusError unless the corpus can be looked for: a setting that is missing, or a path where nothing is."""
    key = f"params.yaml: cotraining.sources.corpora.{name}"
    if corpus.path is None and corpus.hub is None:
        raise CorpusError(f"{key} has neither path nor hub: set path to a local .jsonl or .parquet file, or hub to a data set id")
    if corpus.path is not None and not (ROOT / corpus.path).exists():
        raise CorpusError(f"{key}.path: there is no {ROOT / corpus.path}; put the corpus there, or set hub instead")


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


class Rows:
    """The synthetic rows of a corpus, read anew each time they are iterated over."""

    def __init__(self, name: str, corpus: CorpusParams):
        require_place(name, corpus)
        self.name, self.corpus, self.layout = name, corpus, LAYOUTS[corpus.layout]

    def __iter__(self) -> Iterator[Row]:
        layout = self.layout
        for where, record in self._records():
            values = {column: self._text(where, record, column) for column in layout.columns}
            problem, kind = values[layout.problem], values[layout.kind] if layout.kind else self.name
            if not kind.startswith(layout.kinds) or (layout.original and _key(values[layout.original]) == _key(problem)):
                continue
            solution = values[layout.solution] if layout.solution else "not given"
            yield Row(problem, solution, values[layout.answer] if layout.answer else None, kind)

    def _text(self, where: str, record: dict, column: str) -> str:
        if column not in record:
            raise CorpusError(
                f"{where}: field {column} is missing; layout {self.corpus.layout} needs {', '.join(self.layout.columns)} "
                f"(found {', '.join(sorted(record)) or 'nothing'}): set cotraining.sources.corpora.{self.name}.layout"
            )
        if not isinstance(value := record[column], str):
            if isinstance(value, int | float) and not isinstance(value, bool):
                return str(value)
            raise CorpusError(f"{where}: field {column} must be text, not {value!r}")
        return value

    def _records(self) -> Iterator[tuple[str, dict]]:
        """(where, record) of every row."""
        if self.corpus.hub is not None:
            yield from self._from_hub(self.corpus.hub)
            return
        place = ROOT / self.corpus.path
        files = sorted(path for path in place.rglob("*") if path.suffix in _READERS) if place.is_dir() else [place]
        for path in files:
            if path.suffix not in _READERS:
                raise CorpusError(f"{path}: a corpus must be a .jsonl or .parquet file, or a folder of them")
            yield from _READERS[path.suffix](path, self.layout.columns)
        if not files:
            raise CorpusError(f"{place}: no .jsonl or .parquet file in this folder")

    def _from_hub(self, hub: str) -> Iterator[tuple[str, dict]]:
        from datasets import load_dataset

        try:
            for index, record in enumerate(load_dataset(hub, split="train", streaming=True)):
                yield f"{hub}, row {index + 1}", record
        except Exception as error:  # the hub client raises many kinds; all mean the same to the user
            reason = (str(error).strip() or repr(error)).splitlines()[0]
            raise CorpusError(
                f"cannot read {hub} from the hub: {reason}. Offline, set cotraining.sources.corpora.{self.name}.hub to null and "
                "path to a local copy"
            ) from error


def _json(path: Path, columns: list[str]) -> Iterator[tuple[str, dict]]:
    """One object per line, or one list of objects (MetaMathQA's file)."""
    with path.open(encoding="utf-8") as file:
        start = file.read(1)
        file.seek(0)
        items = enumerate([file.read()] if start == "[" else file, 1)
        for number, text in items:
            if not text.strip():
                continue
            try:
                value = json.loads(text)
            except ValueError as error:
                raise CorpusError(f"{path}, line {number}: not JSON: {error}") from None
            for index, record in enumerate(value if start == "[" else [value], number):
                where = f"{path}, {'item' if start == '[' else 'line'} {index}"
                if not isinstance(record, dict):
                    raise CorpusError(f"{where}: not a JSON object")
                yield where, record


def _parquet(path: Path, columns: list[str]) -> Iterator[tuple[str, dict]]:
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
        there = [name for name in columns if name in file.schema_arrow.names]
        number = 0
        for batch in file.iter_batches(columns=there):
            for record in batch.to_pylist():
                number += 1
                yield f"{path}, row {number}", record
    except pyarrow.ArrowException as error:
        raise CorpusError(f"{path}: not a Parquet file that can be read: {error}") from None


_READERS = {".jsonl": _json, ".json": _json, ".parquet": _parquet}


def _answer(solution: str) -> str | None:
    found = extract(solution)
    return found.answer if found.how in ("box", "phrase") else None


def _key(problem: str) -> str:
    return " ".join(problem.split())


def _smallest(rows: Iterable[Row], capacity: int, seed: int) -> tuple[list[Row], bool]:
    """The `capacity` distinct problems with the smallest digests, smallest first, and whether there are no others."""
    kept: dict[bytes, tuple[bytes, Row]] = {}  # digest of the problem -> digest of the rest, and the row
    largest: list[bytes] = []  # heap of the kept digests, negated
    complete = True
    for row in rows:
        digest = _digest(_key(row.problem), seed)
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
