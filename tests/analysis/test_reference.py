import re
from pathlib import Path

import nbformat
import polars as pl
import pytest

from selfevolve.analysis import reference
from selfevolve.analysis.variants import SYSTEMS
from selfevolve.paths import NOTEBOOKS

PAPER = Path(__file__).parents[3] / "shared" / "papers" / "synco.txt"
FUNCTIONS = [f for name, f in sorted(vars(reference).items()) if re.match(r"(table|figure)_", name)]
NAMES = {  # as the paper prints them, where it is not our name
    "vanilla": "Vanilla",
    "metamathqa": "MetaMathQA",
    "scalequest": "ScaleQuest-Math",
    "openmathinstruct2": "OpenMathInstruct-2",
    "static_pool_sft": "Reject-Sample SFT",
    "static_pool": "Static-Pool GRPO",
    "rewriting": "Off-Augment GRPO",
    "r_zero": "R-Zero",
    "frozen": "SynCo (Frozen Syn)",
    "synco": "SynCo",
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_frame_names_its_source(function):
    frame = function()
    assert frame["source"].str.starts_with("SynCo, ").all()
    assert frame.null_count().sum_horizontal()[0] == 0


def test_every_table_and_figure_with_numbers_is_there():
    found = {function.__name__.rstrip("abcdefghijklmnopqrstuvwxyz").rstrip("_") for function in FUNCTIONS}
    assert found == {*(f"table_{n}" for n in range(1, 9)), *(f"figure_{n}" for n in (2, 3, 5, 6))}
    sources = " ".join(function()["source"][0] for function in FUNCTIONS)
    assert "Figure 4" in sources and "Figure 7" in sources  # drawn from Tables 7 and 2


def test_averages_are_the_papers():
    for table, systems in ((reference.table_1(), 14), (reference.table_4(), 5)):
        assert table.height == systems * 9
        for (_,), rows in table.group_by("system"):
            parts = rows.filter(rows["benchmark"] != "average")["value"]
            # the paper's own rounding: Vanilla's eight numbers average to 72.355
            assert rows.filter(benchmark="average")["value"][0] == pytest.approx(parts.mean(), abs=1.01e-4)
    assert set(SYSTEMS) <= set(reference.table_1()["system"])


def test_gains_quoted_in_section_4_1():
    average = dict(reference.table_1().filter(benchmark="average").select("system", "value").iter_rows())
    assert round(average["synco"] - average["frozen"], 4) == 0.0287
    assert round(average["synco"] - average["vanilla"], 4) == 0.0636


def test_counts_are_consistent():
    outcomes = reference.table_5_outcomes()
    assert outcomes["cards"].sum() == 2940
    assert reference.table_5_difficulty()["cards"].sum() == 2919
    parts, pooled = (
        reference.table_2().filter(expr) for expr in (pl.col("benchmark") != "pooled", pl.col("benchmark") == "pooled")
    )
    for name in ("n", "reference_solved", "system_solved", "additional"):
        sums = parts.group_by("subset", maintain_order=True).agg(pl.col(name).sum())[name].to_list()
        assert sums == pooled[name].to_list()


def test_no_cell_of_the_analysis_mixes_the_papers_numbers_with_ours():
    cells = [cell.source for cell in nbformat.read(NOTEBOOKS / "05_analysis.ipynb", 4).cells if cell.cell_type == "code"]
    papers = [source for source in cells if re.search(r"\breference\.", source)]
    assert len(papers) == len(FUNCTIONS)  # every table of reference numbers is shown, and alone
    assert all(re.match(r"reference\.(table|figure)_\w+\(\)", source) and "run" not in source for source in papers)


@pytest.fixture(scope="module")
def paper() -> str:
    if not PAPER.is_file():
        pytest.skip(f"the text of the paper is not in this checkout's surroundings ({PAPER})")
    return PAPER.read_text(encoding="utf-8")


def between(text: str, start: str, end: str) -> str:
    assert text.count(start) == 1, start
    part = text[text.index(start) + len(start) :]
    assert end in part, end
    return part[: part.index(end)]


def percent(value: float) -> str:
    return f"{100 * value:.1f}%"


@pytest.mark.parametrize(
    ("table", "start", "end"),
    [("TABLE_1", "Table 1: Reasoning accuracy", "4 Experiments"), ("TABLE_4", "Table 4: Reasoning accuracy", "D.2 How Does")],
)
def test_accuracies_are_the_papers(paper, table, start, end):
    text = between(paper, start, end)
    for system, values in getattr(reference, table).items():
        name = NAMES.get(system, system).replace("Syn)", "Synth.)" if table == "TABLE_4" else "Syn)")
        assert f"{name} {' '.join(f'{value:.2f}' for value in values)}" in text, system


def test_table_2_is_the_papers(paper):
    text = between(paper, "Table 2: Instance-level attribution", "4.4 RQ4").replace(",", "")
    for (name,), rows in reference.table_2().group_by("benchmark", maintain_order=True):
        digits = 2 if name == "pooled" else 1
        printed = name.replace("pooled", "Pooled")
        for row in rows.iter_rows(named=True):
            n = row["n"]
            solved = " ".join(f"{row[who]} ({100 * row[who] / n:.{digits}f}%)" for who in ("reference_solved", "system_solved"))
            printed += f" {n} {solved} +{row['additional']}+{row['additional']}"
        assert printed in text


@pytest.mark.parametrize(
    ("start", "end", "numbers"),
    [
        (
            "Table 3: Training cost",
            "4.7 RQ7",
            lambda: [
                f"{NAMES[v].removeprefix('SynCo (').removesuffix(' Syn)')} {a} s {b} s {percent(c)} {d}"
                for v, (a, b, c, d) in _wide(reference.table_3(), "value")
            ],
        ),
        (
            "(a) Realized Rollout Outcomes",
            "(b) Synthesis Signals",
            lambda: [f"{row['cards']:,} {percent(row['share'])}" for row in _rows(reference.table_5_outcomes)],
        ),
        (
            "(b) Synthesis Signals vs. Realized Utility",
            "(c) Intended",
            lambda: [f"{abs(row['r']):.3f} {row['alignment']}" for row in _rows(reference.table_5_signals)],
        ),
        (
            "(c) Intended Difficulty vs. Realized Learnability",
            "D.3 Attributing",
            lambda: [
                f"{row['cards']:,} {percent(row['gradient_bearing_rate'])} {percent(row['zero_gradient_rate'])}"
                for row in _rows(reference.table_5_difficulty)
            ],
        ),
        (
            "Table 6: Diagnostic statistics",
            "Table 7: Calibration",
            lambda: [f"{row['mean']:.3f} {row['sd']:.3f} {row['r']:+.3f}".replace("-", "−") for row in _rows(reference.table_6)],
        ),
        (
            "(a) Ex-Ante Difficulty vs. Realized Rollout Outcomes",
            "(b) Ex-Ante vs.",
            lambda: [
                f"{row['cards']:,} {row['success_rate']:.3f} "
                + " ".join(percent(row[name]) for name in ("gradient_bearing", "all_correct", "all_incorrect"))
                for row in _rows(reference.table_7_outcomes)
            ],
        ),
        (
            "(b) Ex-Ante vs. Outcome-Grounded Signals",
            "D.5 Why",
            lambda: [
                "{:+.3f} {} {}".format(
                    reference.table_7_prediction()["value"][0], *map(percent, reference.table_7_prediction()["value"][1:3])
                ),
                "{:+.3f} – –".format(reference.table_7_prediction()["value"][3]),
            ],
        ),
        (
            "(a) Marginal Training Cost",
            "(b) Productive-Task Yield",
            lambda: [
                *(f"100 {a} s {b:.1f} s {c} s" for _, (a, b, c) in _wide(reference.table_8_cost(), "seconds")),
                *(f"{100 * row['difference']:+.1f}%".replace("-", "−") for row in _rows(reference.table_8_differences)),
            ],
        ),
        (
            "(b) Productive-Task Yield over the Matched Window",
            "(c) Online",
            lambda: [
                *(
                    f"{percent(row['learnable'])} {percent(row['mid_band'])} {percent(row['rate'])} {row['tasks_per_batch']}"
                    for row in _rows(reference.table_8_yield)
                ),
                " ".join(f"{row['change']}×{row['change']}×" for row in _rows(reference.table_8_changes)),
            ],
        ),
        (
            "(c) Online Data Production",
            "Update time denotes",
            lambda: [
                f"{row['quantity'].split()[-1]} {percent(row['value']) if row['unit'] == 'share' else format(int(row['value']), ',')}"
                for row in _rows(reference.table_8_production)
            ],
        ),
        (
            "Figure 2 reveals a progressive shift",
            "The full-pool statistics",
            lambda: [
                f"from {percent(row['first'])} to {percent(row['last'])}"
                if row["quantity"] in ("gradient_bearing", "all_correct")
                else f"from {row['first']:.3f} to {row['last']:.3f}"
                for row in _rows(reference.figure_2)
            ],
        ),
        (
            "Figure 3 shows that outcome-grounded teachability",
            "The signal-level statistics",
            lambda: [percent(row["share"]) for row in _rows(reference.figure_3)],
        ),
        (
            "Figure 5 compares the learner-relative utility",
            "Panel (b) further",
            lambda: [
                f"{percent(row['value'])} " + ("of its tasks" if row["variant"] == "synco" else f"for {NAMES[row['variant']]}")
                for row in _rows(reference.figure_5)
            ],
        ),
        (
            "Figure 6 compares the Reasoner",
            "This sustained divergence",
            lambda: [
                "SynCo reaches {1:.3f} compared with {0:.3f} for the frozen-Synthesizer".format(*reference.figure_6()["last"])
            ],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value[:1] in "TF(" else "",
)
def test_numbers_are_in_the_papers_text_in_their_place(paper, start, end, numbers):
    part = between(paper, start, end)
    for printed in numbers():
        assert printed in part, printed
        part = part[part.index(printed) + len(printed) :]


def _rows(function):
    return function().iter_rows(named=True)


def _wide(frame: pl.DataFrame, value: str):
    return [(variant, rows[value].to_list()) for (variant,), rows in frame.group_by("variant", maintain_order=True)]
