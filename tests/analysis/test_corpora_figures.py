import polars as pl
import pytest

from selfevolve.analysis.corpora import corpora_figure, outcome_table, success_table


def tasks(variant: str, *groups: list[float]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "variant": [variant] * len(groups),
            "success_rate": [sum(reward > 0 for reward in group) / len(group) for group in groups],
            "gradient_bearing": [max(group) > min(group) for group in groups],
            "rewards": groups,
        }
    )


def test_by_hand():
    rollouts = pl.concat([tasks("synco", [0.0, 0.0], [1.0, 0.0], [1.0, 0.9]), tasks("metamathqa", [1.0, 1.0])])
    table = outcome_table(rollouts)
    assert table["variant"].unique(maintain_order=True).to_list() == ["metamathqa", "synco"]
    synco = dict(table.filter(variant="synco").select("outcome", "value").iter_rows())
    third = pytest.approx(1 / 3)
    assert synco == {"all_incorrect": third, "mixed": third, "all_correct": third, "gradient_bearing": pytest.approx(2 / 3)}
    assert table["tasks"].to_list() == [1] * 4 + [3] * 4
    rates = success_table(rollouts)
    assert rates.filter(variant="metamathqa").select("success_rate", "value").rows() == [(0.0, 0.0), (0.5, 0.0), (1.0, 1.0)]


def test_shares_sum_to_one_and_lie_in_their_intervals(rollouts):
    outcomes, rates = outcome_table(rollouts), success_table(rollouts)
    for table in (outcomes.filter(pl.col("outcome") != "gradient_bearing"), rates):
        assert table.group_by("variant").agg(pl.col("value").sum())["value"].to_list() == pytest.approx([1.0] * 3)
        assert ((table["low"] <= table["value"]) & (table["value"] <= table["high"])).all()
    assert rates.filter(variant="synco")["success_rate"].to_list() == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_no_tasks(rollouts):
    assert outcome_table(rollouts.clear()).is_empty() and success_table(rollouts.clear()).is_empty()
    with pytest.raises(ValueError, match="no task was rolled out"):
        corpora_figure(rollouts.clear())
