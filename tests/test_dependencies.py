"""Every stage in dvc.yaml depends on all the code it runs: a missing dependency means a stale result that looks fresh.

The code of a stage is what its notebook imports, directly or not (also inside functions), and the data files beside it;
for `report`, what `selfevolve.report` imports. `selfevolve.stage`, which runs the notebooks, is left out on purpose: it
carries them in and out and computes nothing, so a change of it need not retrain.
"""

import ast
import re
from pathlib import Path

import nbformat
import pytest

from selfevolve import pipeline

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
STAGES = list(pipeline.stages()) if (ROOT / "dvc.yaml").is_file() else []


TARGET = re.compile(r"selfevolve(\.\w+)+:\w+")


def imported(source: str, module: str = "") -> set[str]:
    """Dotted names a piece of source may import, anywhere in it; for `from a import b` both `a` and `a.b`."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and TARGET.fullmatch(node.value):
            names.add(node.value.partition(":")[0])  # a function that `selfevolve.parallel` imports in its workers
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*package, *([node.module] if node.module else [])])
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return names


def files_of(name: str, src: Path) -> set[Path]:
    """The files that importing a dotted name executes: its own and the `__init__` of every package above it."""
    parts = name.split(".")
    candidates = [src.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1)]
    return {file for path in candidates for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()}


def closure(source: str, src: Path) -> set[Path]:
    """All files below `src` that the source executes by importing, and the data files of the packages among them."""
    found: set[Path] = set()
    waiting = [file for name in imported(source) for file in files_of(name, src)]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            module = ".".join(file.relative_to(src).with_suffix("").parts)
            waiting += [other for name in imported(file.read_text(), module) for other in files_of(name, src)]
    packages = [file.parent for file in found if file.name == "__init__.py"]
    data = {path for path in src.rglob("*") if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts}
    return found | {path for path in data if owner(path) in packages}


def owner(path: Path) -> Path | None:
    """The package a data file belongs to: the nearest folder above it with an `__init__.py`."""
    return next((folder for folder in path.parents if (folder / "__init__.py").is_file()), None)


def code_cells(path: Path) -> str:
    cells = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    lines = "\n".join(cells).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))


def missing(needed: set[str], deps: list[str]) -> list[str]:
    """The needed files that no dependency is, or holds."""
    return sorted(file for file in needed if not any(file == dep or file.startswith(f"{dep}/") for dep in deps))


@pytest.mark.skipif(not STAGES, reason="dvc.yaml does not exist yet")
@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_everything_it_runs(stage):
    notebook = pipeline.notebook(stage)
    source = code_cells(ROOT / notebook) if notebook else "import selfevolve.report.render"
    needed = {file.relative_to(ROOT).as_posix() for file in closure(source, SRC)}
    needed |= {"requirements.lock"} | ({notebook.as_posix()} if notebook else set())
    for item in pipeline.items(stage):
        lacking = missing(needed, [dep.rstrip("/") for dep in pipeline.deps(stage, item)])
        assert not lacking, f"dvc.yaml: add to stages.{stage}.deps: {', '.join(lacking)}"


@pytest.mark.skipif(not STAGES, reason="dvc.yaml does not exist yet")
@pytest.mark.parametrize("stage", STAGES)
def test_every_dependency_in_the_checkout_exists(stage):
    """A misspelt path to code or a notebook; data and outputs of other stages are DVC's to bring."""
    for item in pipeline.items(stage):
        deps = [dep for dep in pipeline.deps(stage, item) if not dep.startswith(("data", "artifacts"))]
        assert [dep for dep in deps if not (ROOT / dep).exists()] == []


def test_the_closure_follows_every_way_to_import(tmp_path):
    files = {
        "pkg/__init__.py": "",
        "pkg/a.py": "from pkg.sub import b",
        "pkg/sub/__init__.py": "",
        "pkg/sub/b.py": "def f():\n    from . import c\n    import pkg.d as d",
        "pkg/sub/c.py": "from ..e import thing",
        "pkg/sub/words/list.txt": "",
        "pkg/d.py": "import os",
        "pkg/e.py": "",
        "pkg/unused.py": "",
        "pkg/other/__init__.py": "",
        "pkg/other/data.txt": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = {path.relative_to(tmp_path).as_posix() for path in closure("import numpy\nfrom pkg import a", tmp_path)}
    assert found == set(files) - {"pkg/unused.py", "pkg/other/__init__.py", "pkg/other/data.txt"}


def test_a_folder_covers_the_files_below_it():
    assert missing({"src/p/a.py", "src/p/q/b.py", "src/pq.py"}, ["src/p"]) == ["src/pq.py"]
