"""The rows of an external corpus: from local JSONL or Parquet files or the hub, by the columns each known corpus has (SynCo C.2).

Which rows are synthetic problems, from the paper: OpenMathInstruct-2's "newly augmented synthetic problems rather than unchanged
original benchmark questions". So rows whose question is the original are left out of MetaMathQA too. Nothing is downloaded unless a hub
id is set in params.yaml.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from selfevolve.paths import ROOT
from selfevolve.synco.settings import CorpusParams


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
    setting = f"params.yaml: cotraining.sources.corpora.{name}"
    if corpus.path is None and corpus.hub is None:
        raise CorpusError(
            f"{setting} has neither path nor hub: set path to a local .jsonl or .parquet file, or hub to a data set id"
        )
    if corpus.path is not None and not (ROOT / corpus.path).exists():
        raise CorpusError(f"{setting}.path: there is no {ROOT / corpus.path}; put the corpus there, or set hub instead")


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
            if not kind.startswith(layout.kinds) or (layout.original and key(values[layout.original]) == key(problem)):
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


def key(problem: str) -> str:
    """What makes a problem unique: its text, whatever the white space."""
    return " ".join(problem.split())
