"""Small temporary repositories with the shape of this one: params.yaml, dvc.yaml, notebooks/, artifacts/."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import yaml

# The stage runner with `selfevolve.params` replaced: a small repository has no use for the real schema.
RUNNER = """
import sys, types, yaml
params = types.ModuleType("selfevolve.params")
params.ParamsError = type("ParamsError", (ValueError,), {})
params.load = lambda: types.SimpleNamespace(**yaml.safe_load(open("params.yaml")))
sys.modules["selfevolve.params"] = params
sys.modules["rfc3987_syntax"] = None  # an optional grammar of jsonschema that takes a second to import
from selfevolve import stage
sys.exit(stage.main())
"""
PARAMETERS = 'profile = "none"\nout = "none"\nwork = "none"\n'


class SmallRepository:
    """A repository of one or more stages under `root`; every file is written by the test that uses it."""

    def __init__(self, root: Path):
        self.root = root
        self.stages: dict[str, dict] = {}
        (root / "notebooks").mkdir()
        self.write("params.yaml", yaml.safe_dump({"profile": "tiny", "profiles": {"tiny": {"a": {"steps": 3}}}}))

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def stage(self, name: str, cells: list[str], parameters: str = PARAMETERS, **entry) -> str:
        """Add a stage whose notebook has a parameters cell and then `cells` (code; a leading `#md ` makes markdown)."""
        path = f"notebooks/{len(self.stages) + 1:02}_{name}.ipynb"
        nb = nbformat.v4.new_notebook()
        nb.cells.append(nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}))
        for cell in cells:
            markdown = cell.startswith("#md ")
            make = nbformat.v4.new_markdown_cell if markdown else nbformat.v4.new_code_cell
            nb.cells.append(make(cell.removeprefix("#md ")))
        nbformat.write(nb, self.root / path)
        entry.setdefault("params", ["profile", "profiles.${profile}.a"])
        self.stages[name] = {"cmd": "none", "deps": [path, *entry.pop("deps", [])], **entry}
        self.write("dvc.yaml", yaml.safe_dump({"stages": self.stages}, sort_keys=False))
        return path

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        """`python -m selfevolve.stage <arguments>` in this repository."""
        return subprocess.Popen(
            [sys.executable, "-c", RUNNER, *arguments],
            cwd=self.root,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        process = self.start(*arguments, **environment)
        stdout, stderr = process.communicate(timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        return subprocess.check_output(["git", *identity, *arguments], cwd=self.root, text=True).strip()
