"""The notebook for exploring runs by itself, on the small domain here."""

import papermill

from selfevolve import paths


def test_it_runs_from_top_to_bottom(tmp_path):
    desk = {
        "domain": "desk",
        "action": "cancel",
        "policies": ["cancel.plan"],
        "facts": {},
        "episode": [["look", {"id": "b10"}], ["cancel", {"id": "b10"}], ["cancel", {"id": "nowhere"}]],
    }
    ran = papermill.execute_notebook(
        paths.NOTEBOOKS / "explore.ipynb", tmp_path / "explore.ipynb", desk, cwd=tmp_path, progress_bar=False, kernel_name="python3"
    )
    outputs = [output for cell in ran.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 1
    episode = outputs[-1]["data"]["text/plain"]
    assert all(text in episode for text in ("look", "cancel", "true", "false"))
