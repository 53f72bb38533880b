"""Where numbers come from: every item of the pipeline with its parameters, seeds, and the files it wrote.

A cell of a table in a report links to the origin of its row (`links.py`), shown on the page `runs.html`; this module collects the origins.
"""

import hashlib
import json
import re
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from selfevolve import paths, pipeline

_SEED = re.compile(r"(?:^|/)seed-(\d+)/")


class File(BaseModel):
    """A file an item wrote, relative to the root. `seed`: the training seed whose folder it lies in, if it lies in one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    bytes: int
    sha256: str
    seed: int | None


class Origin(BaseModel):
    """One item of the pipeline, such as the co-training of one variant.

    `id`: `<stage>[-<value>...]`, as its page is called. `parameters`: YAML, of the active profile, without its name. `seeds`: the training
    seeds it left a folder for. `reads`: the ids of items whose files it read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    title: str
    command: str
    parameters: str
    seeds: tuple[int, ...]
    reads: tuple[str, ...]
    files: tuple[File, ...]


class Kept(BaseModel):
    """A finished run kept for comparison: `runs/<name>/run.json` beside its `predictions.parquet` (see `selfevolve.keep`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    profile: str
    models: str
    commit: str
    origins: tuple[Origin, ...]


def identity(stage: str, item: dict[str, str]) -> str:
    """How an item is called in file names and anchors, e.g. `cotraining-synco`."""
    return "-".join([stage, *item.values()])


def origins() -> tuple[Origin, ...]:
    """Every item with a notebook, in the order of `dvc.yaml`, with the files that are there now."""
    items = [(stage, item) for stage in pipeline.stages() if pipeline.notebook(stage) for item in pipeline.items(stage)]
    return tuple(_origin(stage, item, items) for stage, item in items)


def kept() -> tuple[Kept, ...]:
    """The kept runs, by name. Raises ValueError, naming the file, for a record that is not one."""
    found = []
    for path in sorted(paths.RUNS.glob("*/run.json")):
        try:
            found.append(Kept.model_validate_json(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise ValueError(f"{path}: not a record of a kept run ({error}); keep the run again, or remove its folder") from error
    return tuple(found)


def _origin(stage: str, item: dict[str, str], items: list[tuple[str, dict[str, str]]]) -> Origin:
    written = pipeline.outs(stage, item) or [pipeline.out(stage, item).as_posix()]
    read = pipeline.deps(stage, item)
    values = _own(pipeline.parameters(stage, item), item, pipeline.choices(stage))
    files = tuple(_file(path) for place in written for path in _files(paths.ROOT / place))
    shown = {re.sub(r"^profiles\.[^.]+\.?", "", name) or "all": value for name, value in values.items()}
    return Origin(
        id=identity(stage, item),
        title=" ".join([stage, *item.values()]).replace("_", " "),
        command=" ".join(["python -m selfevolve.stage", stage, *(f"--{name} {value}" for name, value in item.items())]),
        parameters=yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=120),
        seeds=tuple(sorted({file.seed for file in files if file.seed is not None})),
        reads=tuple(
            identity(other, of)
            for other, of in items
            if (other, of) != (stage, item) and any(_within(dep, pipeline.out(other, of).as_posix()) for dep in read)
        ),
        files=files,
    )


def _own(value: object, item: dict[str, str], choices: dict[str, list[str]]) -> object:
    """The parameters with a section per choice, such as `variants`, cut down to the item's own."""
    if not isinstance(value, dict):
        return value
    for name, mine in item.items():
        if mine in value and set(choices[name]) <= set(value):
            return {mine: value[mine]}
    return {key: _own(inner, item, choices) for key, inner in value.items()}


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/") or folder.startswith(f"{path}/")


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return sorted(path for path in place.rglob("*") if path.is_file())


def _file(path: Path) -> File:
    name = path.relative_to(paths.ROOT).as_posix()
    seed = _SEED.search(name)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return File(path=name, bytes=path.stat().st_size, sha256=digest, seed=int(seed[1]) if seed else None)


def write(record: Kept, path: Path) -> None:
    """Write `run.json`."""
    path.write_text(json.dumps(record.model_dump(), indent=1) + "\n", encoding="utf-8")
