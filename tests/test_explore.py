"""The notebook for exploring runs by itself, on the small domain here."""

import papermill

from selfevolve import paths


def test_it_runs_from_top_to_bottom(tmp_path):
    ran = papermill.execute_notebook(
        paths.NOTEBOOKS / "explore.ipynb",
        tmp_path / "explore.ipynb",
        {"domain": "desk"},
        cwd=tmp_path,
        progress_bar=False,
        kernel_name="python3",
    )
    code = [cell for cell in ran.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert any("image/png" in output.get("data", {}) for cell in code for output in cell.outputs)
