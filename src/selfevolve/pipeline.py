"""What `dvc.yaml` says about a stage: its variants, the files it reads, and the parameters it depends on.

DVC decides with these whether a stage is stale; the stage runner uses the same list to decide whether half-finished
work is still valid. Only the templating this repository uses is read: one `matrix` per stage, and `${item.<parameter>}`
or a dotted key of `params.yaml` inside a string.
"""

import hashlib
import itertools
import json
import re
from pathlib import Path

import yaml

from selfevolve import paths


class PipelineError(ValueError):
    """`dvc.yaml` does not say what was asked of it, or names a file that is not there."""


def stages() -> dict[str, dict]:
    """The stages of `dvc.yaml` by name, in file order, as written (templates unresolved)."""
    return _read(paths.PIPELINE)["stages"]


def choices(stage: str) -> dict[str, list[str]]:
    """The parameters of a stage with their allowed values, e.g. {"variant": ["synco", "frozen"]}; {} if it has none."""
    return {name: [str(value) for value in values] for name, values in stages()[stage].get("matrix", {}).items()}


def items(stage: str) -> list[dict[str, str]]:
    """Every item of a stage in matrix order, e.g. [{"variant": "synco"}, ...]; [{}] for a plain stage."""
    allowed = choices(stage)
    return [dict(zip(allowed, values, strict=True)) for values in itertools.product(*allowed.values())]


def notebook(stage: str) -> Path | None:
    """The notebook of a stage, `notebooks/<two digits>_<stage>.ipynb`, relative to the root; None if it has none."""
    found = sorted(paths.NOTEBOOKS.glob(f"[0-9][0-9]_{stage}.ipynb"))
    return found[0].relative_to(paths.ROOT) if found else None


def out(stage: str, item: dict[str, str]) -> Path:
    """The output folder of a stage's item relative to the root: `artifacts/<stage>[/<value>...]`."""
    return paths.ARTIFACTS.relative_to(paths.ROOT).joinpath(stage, *item.values())


def deps(stage: str, item: dict[str, str]) -> list[str]:
    """The files and folders the stage's item reads, as `dvc.yaml` lists them, resolved, relative to the root."""
    return [_resolve(dep, stage, item) for dep in stages()[stage].get("deps", [])]


def outs(stage: str, item: dict[str, str]) -> list[str]:
    """The files and folders the stage's item writes, as `dvc.yaml` lists them, resolved, relative to the root."""
    listed = [next(iter(entry)) if isinstance(entry, dict) else entry for entry in stages()[stage].get("outs", [])]
    return [_resolve(entry, stage, item) for entry in listed]


def parameters(stage: str, item: dict[str, str]) -> dict[str, object]:
    """The keys of `params.yaml` that the stage's item depends on, resolved, with their values."""
    return {name: _lookup(name, stage) for name in _param_names(stage, item)}


def key(stage: str, item: dict[str, str]) -> str:
    """A sha256 (hex) that changes when a parameter, an input, or a code file of the stage's item changes.

    Raises PipelineError for a dependency that does not exist.
    """
    values = parameters(stage, item)
    contents = {dep: _digest(paths.ROOT / dep, stage) for dep in deps(stage, item)}
    text = json.dumps([stage, item, values, contents], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _param_names(stage: str, item: dict[str, str]) -> list[str]:
    names = stages()[stage].get("params", [])
    for name in names:
        if not isinstance(name, str):
            raise PipelineError(f"dvc.yaml: stages.{stage}.params: {name!r} is not a key of params.yaml; give plain keys")
    return [_resolve(name, stage, item) for name in names]


def _resolve(text: str, stage: str, item: dict[str, str]) -> str:
    def value(match: re.Match) -> str:
        name = match[1].strip()
        scope, _, parameter = name.partition(".")
        if scope == "item":
            if parameter not in item:
                raise PipelineError(f"dvc.yaml: stages.{stage}: ${{{name}}} is none of its parameters {sorted(item)}")
            return item[parameter]
        return str(_lookup(name, stage))

    return re.sub(r"\$\{([^}]+)\}", value, text)


def _lookup(name: str, stage: str):
    value = _read(paths.PARAMS)
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            raise PipelineError(f"dvc.yaml: stages.{stage}: params.yaml has no key {name!r} (stops at {part!r})")
        value = value[part]
    return value


def _read(path: Path) -> dict:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise PipelineError(f"{path.name} is not valid YAML: {error}") from error


def _digest(path: Path, stage: str) -> str:
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
        listing = [[file.relative_to(path).as_posix(), _digest(file, stage)] for file in files]
        return hashlib.sha256(json.dumps(listing).encode()).hexdigest()
    raise PipelineError(
        f"dvc.yaml: stages.{stage}.deps: {path.relative_to(paths.ROOT)} does not exist; "
        "run `dvc repro` for the stage that makes it, or `dvc pull` if it lies in data/"
    )
