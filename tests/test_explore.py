"""The notebook for exploring runs by itself: on the small domain here without a finished run, and on a finished run."""

import json

import nbformat
import papermill
import polars as pl
import pytest

from selfevolve import params, paths
from selfevolve.cards import FIELDS
from selfevolve.synco.batch import Interaction, record
from selfevolve.synco.memory import SCHEMA
from selfevolve.synco.proposals import Proposal
from selfevolve.synco.verifier import Verifier

NOTEBOOK = paths.NOTEBOOKS / "explore.ipynb"


def run(source, tmp_path, **parameters) -> list[nbformat.NotebookNode]:
    """The code cells of the notebook after it was run."""
    done = papermill.execute_notebook(
        source, tmp_path / "explore.ipynb", parameters, cwd=tmp_path, progress_bar=False, kernel_name="python3"
    )
    code = [cell for cell in done.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    return code


def texts(cells) -> str:
    kinds = ("text/markdown", "text/plain", "text/html")
    shown = [output.get("data", {}).get(kind, "") for cell in cells for output in cell.outputs for kind in kinds]
    return "\n".join(shown + [output.get("text", "") for cell in cells for output in cell.outputs])


def test_it_runs_from_top_to_bottom_without_a_finished_run(tmp_path):
    code = run(NOTEBOOK, tmp_path, domain="desk", artifacts=str(tmp_path / "artifacts"))
    assert any("image/png" in output.get("data", {}) for cell in code for output in cell.outputs)
    assert "No finished run in" in texts(code) and "make repro" in texts(code)


@pytest.fixture
def finished(tmp_path):
    """A finished run of four cards: one admitted, three rejected, one of those as a duplicate."""
    good = {"problem": "A box has 12 nuts. Add 5. How many?", "solution": "12+5=17", "final_answer": "17"}
    cards = (good, {**good, "solution": "12+5=18"}, {**good, "final_answer": "it is 17"}, good)
    verifier, rows = Verifier(params.load("tiny").verifier, []), []
    for slot, card in enumerate(cards):
        text = json.dumps(dict.fromkeys(FIELDS, "counting") | card)
        report = verifier.verify(text)
        if report.admitted:
            verifier.remember(report.card)
        rows.append(record(0, 4, slot, Interaction(Proposal(text, 0), report, None)))
    folder = tmp_path / "artifacts" / "cotraining" / "synco"
    folder.mkdir(parents=True)
    pl.DataFrame(rows, schema=SCHEMA, orient="row").write_parquet(folder / "memory.parquet")
    return tmp_path / "artifacts"


def test_the_section_on_runs_stands_alone_and_says_why_a_card_was_rejected(finished, tmp_path):
    nb = nbformat.read(NOTEBOOK, 4)
    start = next(i for i, cell in enumerate(nb.cells) if cell.source.startswith("## Runs: cards, rollouts, rewards"))
    nb.cells = [cell for cell in nb.cells if "parameters" in cell.metadata.get("tags", [])] + nb.cells[start:]
    nbformat.write(nb, tmp_path / "section.ipynb")
    shown = texts(run(tmp_path / "section.ipynb", tmp_path, artifacts=str(finished)))
    assert "Finished: synco. Shown: **synco**." in shown
    assert "most alike: A box has 12 nuts" in shown and "0 of 4 cards" in shown
