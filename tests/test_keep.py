"""A kept run: what is copied, what is recorded, and what is refused."""

import json
import re
from types import SimpleNamespace

import polars as pl
import pytest
from small_repository import SmallRepository

from selfevolve import keep as module
from selfevolve.report import trace


@pytest.fixture
def finished(repository: SmallRepository, root, monkeypatch):
    """A small repository with one finished item and predictions; the real parameters and runs are replaced."""
    repository.stage("evaluation", [])
    repository.write("artifacts/evaluation/notebook.ipynb", "{}")
    pl.DataFrame({"system": ["synco"]}).write_parquet(root / "artifacts/evaluation/predictions.parquet")
    monkeypatch.setattr(module.params, "load", lambda: SimpleNamespace(profile="tiny"))
    monkeypatch.setattr(module, "load_runs", lambda settings: SimpleNamespace(models="tiny models"))
    return root


def test_predictions_parameters_and_hashes_are_kept(finished, capsys):
    assert module.main(["smol-overnight"]) == 0
    assert "kept in runs/smol-overnight" in capsys.readouterr().out
    folder = finished / "runs/smol-overnight"
    assert pl.read_parquet(folder / "predictions.parquet")["system"].to_list() == ["synco"]
    (record,) = trace.kept()
    assert (record.name, record.profile, record.models) == ("smol-overnight", "tiny", "tiny models")
    (origin,) = record.origins
    assert origin.id == "evaluation" and "steps: 3" in origin.parameters
    assert {file.path for file in origin.files} == {
        f"artifacts/evaluation/{name}" for name in ("notebook.ipynb", "predictions.parquet")
    }
    assert json.loads((folder / "run.json").read_text())["commit"].startswith("unknown")


@pytest.mark.parametrize("name", ["", "Big", "../up", "a b", "-a", "this run"])
def test_a_name_that_is_not_plain_is_refused(finished, name):
    with pytest.raises(ValueError, match=re.escape(f"name {name!r}: lower-case letters")):
        module.keep(name)


def test_a_name_that_is_taken_is_refused(finished, capsys):
    assert module.main(["mine"]) == 0
    assert module.main(["mine"]) == 1
    assert "choose another name" in capsys.readouterr().err
