import pytest

from selfevolve.analysis import reference

FUNCTIONS = (
    reference.table_1,
    reference.table_3,
    reference.table_5_outcomes,
    reference.table_5_signals,
    reference.table_5_difficulty,
    reference.table_8_cost,
    reference.table_8_differences,
    reference.table_8_yield,
    reference.table_8_production,
    reference.figure_2,
    reference.figure_6,
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_frame_names_its_source(function):
    frame = function()
    assert frame["source"].str.starts_with("SynCo, ").all()
    assert frame.null_count().sum_horizontal()[0] == 0


def test_table_1_averages_are_the_papers():
    table = reference.table_1()
    assert table.height == 14 * 9
    for (_,), rows in table.group_by("system"):
        parts = rows.filter(rows["benchmark"] != "average")["value"]
        # the paper's own rounding: Vanilla's eight numbers average to 72.355
        assert rows.filter(benchmark="average")["value"][0] == pytest.approx(parts.mean(), abs=1.01e-4)


def test_gains_quoted_in_section_4_1():
    average = dict(reference.table_1().filter(benchmark="average").select("system", "value").iter_rows())
    assert round(average["synco"] - average["frozen"], 4) == 0.0287
    assert round(average["synco"] - average["vanilla"], 4) == 0.0636


def test_counts_are_consistent():
    outcomes = reference.table_5_outcomes()
    assert outcomes["cards"].sum() == 2940
    assert reference.table_5_difficulty()["cards"].sum() == 2919
