import polars as pl
import pytest

from selfevolve.analysis import reference
from selfevolve.analysis.calibration import calibration_figure, calibration_table, prediction_table
from selfevolve.analysis.variants import by_variant

WRONG, MIXED, FORMAT, RIGHT = [0.0, 0.0], [1.0, 0.0], [1.0, 0.9], [1.0, 1.0]


def values(table: pl.DataFrame, label: str) -> dict[str, float]:
    return dict(table.filter(label=label).select("outcome", "value").iter_rows())


def test_by_hand(make_cards):
    cards = make_cards([MIXED, RIGHT, WRONG, FORMAT], difficulty=["learnable", "learnable", "hard", "too hard"])
    table = calibration_table(cards, replicates=50)
    assert table["label"].unique(maintain_order=True).to_list() == ["learnable", "hard / too hard", "pool overall"]
    learnable, hard = values(table, "learnable"), values(table, "hard / too hard")
    assert learnable == {
        "success_rate": 0.75,
        "gradient_bearing": 0.5,
        "mixed": 0.5,
        "all_correct": 0.5,
        "all_incorrect": 0.0,
    }
    assert hard == {"success_rate": 0.5, "gradient_bearing": 0.5, "mixed": 0.0, "all_correct": 0.5, "all_incorrect": 0.5}
    assert table.filter(label="pool overall")["cards"].to_list() == [4] * 5
    assert table.select("low", "high").null_count().sum_horizontal()[0] == 0


def papers_pool(make_cards):
    """Cards with the paper's counts per label (Table 7 a, K = 4), from its percentages."""
    groups, labels = [], []
    for row in reference.table_7_outcomes().head(3).iter_rows(named=True):
        right, wrong = round(row["cards"] * row["all_correct"]), round(row["cards"] * row["all_incorrect"])
        groups += [RIGHT] * right + [WRONG] * wrong + [MIXED] * (row["cards"] - right - wrong)
        labels += ["hard" if row["label"].startswith("hard") else row["label"]] * row["cards"]
    return make_cards(groups, difficulty=labels)


def test_the_papers_shares_and_prediction_come_out_of_its_counts(make_cards):
    cards = papers_pool(make_cards)
    found = calibration_table(cards, replicates=20)
    for row in reference.table_7_outcomes().iter_rows(named=True):
        for outcome in ("gradient_bearing", "all_correct", "all_incorrect"):
            assert values(found, row["label"])[outcome] == pytest.approx(row[outcome], abs=2e-3)
    expected = reference.table_7_prediction()["value"].to_list()[:3]
    assert prediction_table(cards)["value"].to_list()[:3] == pytest.approx(expected, abs=2e-3)


def test_prediction_by_hand(make_cards):
    cards = make_cards([MIXED, MIXED, RIGHT, RIGHT, RIGHT], difficulty=["learnable", "hard", "learnable", None, "learnable"])
    correlation, precision, recall, teachability = prediction_table(cards).rows(named=True)
    assert (precision["value"], precision["cards"]) == (pytest.approx(1 / 3), 3)
    assert (recall["value"], recall["cards"]) == (0.5, 2)
    assert correlation["value"] == pytest.approx(-1 / 6) and correlation["cards"] == 5
    assert teachability["value"] == 1.0 and teachability["availability"] == "after rollout"


def test_no_cards(make_cards):
    assert calibration_table(make_cards([])).is_empty()
    assert prediction_table(make_cards([]))["value"].to_list() == [None] * 4
    with pytest.raises(ValueError, match="no variant has an admitted card"):
        calibration_figure(by_variant(calibration_table, {"synco": make_cards([])}))
