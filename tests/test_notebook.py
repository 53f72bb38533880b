"""Strict execution: what a parameters cell may hold, how an execution fails, and what normalising takes out."""

import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import v4
from small_repository import PARAMETERS

from selfevolve import notebook

GIVEN = {"profile": "tiny", "out": "artifacts/a", "work": ".work/a/all/0123"}


def execute(repository, monkeypatch, cells: list[str], given: dict = GIVEN):
    path = repository.stage("a", cells)
    notebook.install_kernel(repository.root / "jupyter")
    monkeypatch.setenv("JUPYTER_PATH", str(repository.root / "jupyter"))
    monkeypatch.chdir(repository.root)
    return notebook.execute(Path(path), given, Path("running.ipynb"), repository.root)


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        ("a = 1\nb = a + 1", "`b = a + 1` is not `name = <plain literal>`"),
        ("a = f'{1}'", "is not `name = <plain literal>`"),
        ("a, b = 1, 2", "is not `name = <plain literal>`"),
        ("import os", "`import os` is not"),
    ],
)
def test_a_parameters_cell_holds_literals_only(repository, cell, fault):
    path = repository.root / repository.stage("a", [], parameters=cell)
    with pytest.raises(notebook.NotebookError) as raised:
        notebook.declared(path)
    assert fault in str(raised.value) and "01_a.ipynb" in str(raised.value)


def test_declared_reads_names_and_defaults(repository):
    cell = '# the profile\nprofile = "a=b"  # any\nsteps: int = -3\nrates = {"x": [0.5, None]}'
    path = repository.root / repository.stage("a", [], parameters=cell)
    assert notebook.declared(path) == {"profile": "a=b", "steps": -3, "rates": {"x": [0.5, None]}}


def test_exactly_one_cell_is_tagged(repository):
    path = repository.root / repository.stage("a", ["1"])
    nb = nbformat.read(path, 4)
    nb.cells[1].metadata.tags = ["parameters"]
    nbformat.write(nb, path)
    with pytest.raises(notebook.NotebookError, match="2 cells are tagged"):
        notebook.declared(path)


def test_an_early_exit_fails(repository, monkeypatch):
    with pytest.raises(notebook.NotebookError, match=r"code cell 4 of 5 failed:(?s:.*)leave out sys\.exit"):
        execute(repository, monkeypatch, ["1", "import sys; sys.exit(0)", "2"])


def test_a_cell_that_never_ran_fails():
    codes = [v4.new_code_cell("1", execution_count=1), v4.new_code_cell("2"), v4.new_code_cell(" ")]
    with pytest.raises(notebook.NotebookError, match=r"code cells \[2\] of 2 never ran"):
        notebook.raise_for_failure(Path("x.ipynb"), v4.new_notebook(cells=codes))


def test_a_dead_kernel_is_reported_with_its_cell(repository, monkeypatch):
    with pytest.raises(notebook.NotebookError, match=r"the kernel died(?s:.*)code cell 4 of 4:\n    import os"):
        execute(repository, monkeypatch, ["1", "import os; os._exit(0)"])


def test_parameters_reach_the_notebook_and_places_are_taken_out(repository, monkeypatch):
    nb = execute(repository, monkeypatch, ["#md # Title", "import sys; print(profile, work, sys.executable)"])
    assert [cell.metadata.get("tags") for cell in nb.cells] == [["parameters"], ["injected-parameters"], None, None]
    assert nb.cells[-1].outputs[0].text == "tiny .work/a/all/<key> bin/" + Path(sys.executable).name + "\n"
    assert set(nb.metadata) == {"kernelspec"}
    assert [cell.id for cell in nb.cells] == ["cell-0", "cell-1", "cell-2", "cell-3"]


def test_normalising_orders_streams_and_hides_addresses():
    outputs = [
        v4.new_output("stream", name="stderr", text="/tmp/ipykernel_71/12.py:1: UserWarning: x\n"),
        v4.new_output("stream", name="stdout", text="one\n"),
        v4.new_output("stream", name="stderr", text="w2\n"),
        v4.new_output("stream", name="stdout", text="two\n"),
        v4.new_output("display_data", data={"text/plain": "<Legend at 0x7f00aa>", "image/png": "0x12"}),
        v4.new_output("stream", name="stdout", text="/somewhere/data/x\n"),
    ]
    cell = v4.new_code_cell("1", execution_count=1, outputs=outputs, metadata={"papermill": {}, "execution": {}})
    done = notebook.normalise(v4.new_notebook(cells=[cell]), Path("/somewhere"), ".work/a/all/0123").cells[0]
    assert [output.get("text") for output in done.outputs] == [
        "one\ntwo\n",
        "<cell>:1: UserWarning: x\nw2\n",
        None,
        "data/x\n",
    ]
    assert done.outputs[2].data == {"text/plain": "<Legend at 0x...>", "image/png": "0x12"}
    assert done.metadata == {}


def test_unknown_and_missing_parameters_are_refused(repository):
    path = repository.root / repository.stage("a", [], parameters=PARAMETERS + "extra = 1")
    with pytest.raises(notebook.NotebookError, match=r"not declare \['typo'\] and declares \['extra'\], which nothing"):
        notebook.check_parameters(path, {**GIVEN, "typo": 1})
