"""The held-out exam and the eight math benchmarks (SynCo C.1), from `data/`, a local folder or the hub.

A benchmark is a frame with the columns id, benchmark, skill, level, problem, answer (skill and level are null where the source has
none). Local files are `<name>.jsonl` with at least id, problem and answer. Nothing is downloaded unless `folder` is null and a
benchmark other than the exam is asked for.
"""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from selfevolve.params import Benchmarks
from selfevolve.paths import DATA, ROOT

SCHEMA = {
    "id": pl.String,
    "benchmark": pl.String,
    "skill": pl.String,
    "level": pl.Int64,
    "problem": pl.String,
    "answer": pl.String,
}


class HubSource(NamedTuple):
    """Where a benchmark lives on the hub, and which of its columns are used."""

    path: str
    config: str | None
    split: str
    problem: tuple[str, ...]
    """Columns that make up the problem, joined by a space."""
    answer: str


HUB = {
    "gsm8k": HubSource("openai/gsm8k", "main", "test", ("question",), "answer"),
    "svamp": HubSource("ChilleD/SVAMP", None, "test", ("question_concat",), "Answer"),
    "asdiv": HubSource("EleutherAI/asdiv", None, "validation", ("body", "question"), "answer"),
    "gsm_hard": HubSource("reasoning-machines/gsm-hard", None, "train", ("input",), "target"),
    "math500": HubSource("HuggingFaceH4/MATH-500", None, "test", ("problem",), "answer"),
    "aime24": HubSource("HuggingFaceH4/aime_2024", None, "train", ("problem",), "answer"),
    "aime25": HubSource("math-ai/aime25", None, "test", ("problem",), "answer"),
    "minerva": HubSource("math-ai/minervamath", None, "test", ("question",), "answer"),
}
NAMES = ("exam", *HUB)


class BenchmarkError(OSError):
    """A benchmark cannot be loaded; the message names it, the place looked in, and the remedy."""


def load(settings: Benchmarks) -> pl.DataFrame:
    """All benchmarks of a profile, one after the other, each cut to `settings.limit` problems."""
    frames = [load_one(name, settings.folder) for name in settings.names]
    return pl.concat([frame.head(settings.limit) if settings.limit else frame for frame in frames])


def load_one(name: str, folder: str | None) -> pl.DataFrame:
    """One benchmark: the exam from `data/`, any other from `folder` (relative to the repository) or, without one, the hub."""
    if name not in NAMES:
        raise BenchmarkError(f"benchmarks.names: {name!r} is none of {', '.join(NAMES)}")
    if name == "exam":
        path = DATA / "exam.parquet"
        if not path.is_file():
            raise BenchmarkError(f"{path} is missing: restore it with `dvc pull`, or rebuild it with `python -m selfevolve.data`")
        frame = pl.read_parquet(path)
    elif folder is None:
        frame = _from_hub(name)
    else:
        frame = _from_file(name, ROOT / folder / f"{name}.jsonl")
    return frame.with_columns(
        [pl.lit(None, dtype=SCHEMA[column]).alias(column) for column in ("skill", "level") if column not in frame.columns]
    ).select([pl.col(column).cast(dtype) for column, dtype in SCHEMA.items()])


def _from_file(name: str, path: Path) -> pl.DataFrame:
    try:
        frame = pl.read_ndjson(path, infer_schema_length=None)
    except FileNotFoundError:
        raise BenchmarkError(
            f"{path} is missing: put {name}.jsonl there, or set benchmarks.folder to null to load {name} from the hub"
        ) from None
    except pl.exceptions.PolarsError as error:
        raise BenchmarkError(f"{path}: not one JSON object per line: {error}") from None
    if missing := {"id", "problem", "answer"} - set(frame.columns):
        raise BenchmarkError(f"{path}: field {', '.join(sorted(missing))} is missing")
    if empty := [column for column in ("id", "problem", "answer") if frame[column].null_count()]:
        line = frame[empty[0]].is_null().arg_true()[0] + 1
        raise BenchmarkError(f"{path}, row {line}: field {empty[0]} is missing or null")
    keep = [column for column in ("id", "problem", "answer", "skill") if column in frame.columns]
    return frame.select(pl.col(keep).cast(pl.String), pl.lit(name).alias("benchmark"))


def _from_hub(name: str) -> pl.DataFrame:
    from datasets import load_dataset

    source = HUB[name]
    try:
        rows = load_dataset(source.path, source.config, split=source.split)
    except Exception as error:  # the hub client raises many kinds; all mean the same to the user
        reason = (str(error).strip() or repr(error)).splitlines()[0]
        raise BenchmarkError(
            f"cannot load {name} from the hub ({source.path}): {reason}. Offline, set "
            f"benchmarks.folder in params.yaml to a folder that holds {name}.jsonl"
        ) from error
    if name == "asdiv":  # as usually evaluated: without the 90 problems that have several answers
        rows = [row for row in rows if ";" not in row[source.answer]]
    answers = [final_answer(name, row[source.answer]) for row in rows]
    return pl.DataFrame(
        {
            "id": [f"{name}-{i:04d}" for i in range(len(answers))],
            "benchmark": name,
            "problem": [" ".join(row[column] for column in source.problem) for row in rows],
            "answer": answers,
        }
    )


def final_answer(name: str, raw: object) -> str:
    """The string to grade against, from the source's answer field.

    GSM8K keeps it after `####`; ASDiv adds the unit in parentheses; SVAMP and GSM-Hard write whole numbers as floats.
    """
    text = str(raw).strip()
    if name == "gsm8k":
        text = text.rsplit("####", 1)[-1].strip()
    if name == "asdiv":
        text = text.split(" (", 1)[0].strip()
    if name in ("svamp", "gsm_hard"):
        text = text.removesuffix(".0")
    return text
