import polars as pl
import pytest

from selfevolve.analysis.scales import kept_predictions, scale_gains, scales_table


def test_runs_stand_side_by_side(predictions):
    small = predictions.filter(pl.col("system") != "static_pool", pl.col("benchmark") == "exam")
    table = scales_table({"this run (tiny)": predictions, "big": small}, replicates=50)
    assert table["run"].unique(maintain_order=True).to_list() == ["this run (tiny)", "big"]
    assert set(table["mode"]) == {"greedy"} and "per_seed" not in table.columns
    big = table.filter(run="big")
    assert big["system"].to_list() == ["vanilla", "frozen", "synco"] and set(big["benchmark"]) == {"exam"}
    gains = scale_gains({"this run (tiny)": predictions, "big": small}, replicates=50)
    assert gains.filter(run="big")["comparison"].to_list() == ["SynCo − Vanilla", "SynCo − Frozen Synth."]
    assert {"value", "low", "high", "n"} <= set(gains.columns)


def test_kept_runs_are_those_that_exist(tmp_path, predictions):
    assert kept_predictions(tmp_path / "nowhere") == {}
    for name in ("smol", "paper-8b"):
        (tmp_path / name).mkdir()
        predictions.head(3).write_parquet(tmp_path / name / "predictions.parquet")
    (tmp_path / "README.md").write_text("about")
    found = kept_predictions(tmp_path)
    assert list(found) == ["paper-8b", "smol"] and found["smol"].height == 3


def test_no_run_is_an_error():
    with pytest.raises(ValueError, match="no run given"):
        scales_table({})
