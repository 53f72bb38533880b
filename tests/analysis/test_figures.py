import io

import matplotlib.pyplot as plt
import polars as pl
import pytest
import seaborn as sns

from selfevolve.analysis import (
    accuracy,
    accuracy_figures,
    attribution,
    calibration,
    corpora,
    cost,
    curriculum,
    dynamics,
    signals,
    style,
)
from selfevolve.analysis.variants import SYSTEMS, by_variant


@pytest.fixture(scope="module")
def figures(predictions, memory, metrics, timings, rollouts):
    table, gains = accuracy.accuracy_table(predictions, 50), accuracy.gains_table(predictions, replicates=50)
    return {
        "accuracy": lambda: accuracy_figures.accuracy_figure(table),
        "gains": lambda: accuracy_figures.gains_figure(gains, "sampled"),
        "by level": lambda: accuracy_figures.accuracy_by_figure(accuracy.accuracy_by(predictions, "level", replicates=50)),
        "curriculum": lambda: curriculum.curriculum_figure(memory),
        "skills": lambda: curriculum.share_figure(memory, "skill"),
        "difficulty": lambda: curriculum.share_figure(memory, "difficulty"),
        "gradient": lambda: dynamics.gradient_bearing_figure(metrics),
        "reward": lambda: dynamics.reward_figure(metrics),
        "optimisation": lambda: dynamics.optimisation_figure(metrics),
        "phases": lambda: cost.phase_figure(timings),
        "attribution": lambda: attribution.attribution_figure(attribution.attribution_table(predictions, replicates=50)),
        "enrichment": lambda: signals.enrichment_figure(by_variant(signals.enrichment_table, memory)),
        "calibration": lambda: calibration.calibration_figure(by_variant(calibration.calibration_table, memory, replicates=20)),
        "corpora": lambda: corpora.corpora_figure(rollouts),
    }


def png(figure):
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=50)  # small: what is checked does not depend on it
    return out.getvalue()


NAMES = (
    "accuracy",
    "gains",
    "by level",
    "curriculum",
    "skills",
    "difficulty",
    "gradient",
    "reward",
    "optimisation",
    "phases",
    "attribution",
    "enrichment",
    "calibration",
    "corpora",
)


@pytest.mark.parametrize("name", NAMES)
def test_figure_is_page_wide_and_labelled(figures, name):
    figure = figures[name]()
    assert figure.get_figwidth() == style.WIDTH
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert any(ax.get_xlabel() for ax in shown) or figure.get_supxlabel()
    assert png(figure)[:4] == b"\x89PNG"
    assert plt.get_fignums() == []  # nothing is left open for a notebook to show twice


@pytest.mark.parametrize("name", ("accuracy", "gradient"))
def test_figures_are_byte_for_byte_deterministic(figures, name):
    assert png(figures[name]()) == png(figures[name]())


def test_direct_labels_name_the_variants(figures):
    texts = {text.get_text() for text in figures["gradient"]().axes[0].texts}
    assert texts == {"Static pool", "Frozen Synth.", "SynCo"}


def test_labels_of_equal_ends_do_not_overlap():
    with style.theme():
        figure, axes = style.figure()
        axes[0, 0].set_ylim(0, 1)
        style.label_ends(axes[0, 0], [(1.0, 0.5, name, "black") for name in "abcd"], gap=0.1)
    heights = sorted(text.xy[1] for text in axes[0, 0].texts)
    assert all(b - a >= 0.0999 for a, b in zip(heights, heights[1:], strict=False))


def test_theme_leaves_settings_alone():
    before = plt.rcParams["axes.grid"], plt.rcParams["font.size"]
    with style.theme():
        assert plt.rcParams["axes.grid"]
    assert (plt.rcParams["axes.grid"], plt.rcParams["font.size"]) == before


def test_seaborn_takes_the_helper():
    frame = pl.DataFrame({"x": [1, 2], "y": [3.0, 4.0]})
    with style.theme():
        figure, axes = style.figure()
        sns.lineplot(data=style.to_pandas_free(frame), x="x", y="y", ax=axes[0, 0])
    assert len(axes[0, 0].lines) == 1


def test_colours_are_fixed_and_distinct():
    assert tuple(style.PALETTE) == tuple(style.MARKERS) == SYSTEMS
    assert len(set(style.PALETTE.values())) == len(set(style.MARKERS.values())) == len(SYSTEMS)
    assert style.colour("something else") not in style.PALETTE.values()


def test_partial_runs_still_draw(metrics, memory, timings):
    png(dynamics.gradient_bearing_figure({"frozen": metrics["frozen"].filter(pl.col("seed") == 0)}))
    png(dynamics.optimisation_figure({"frozen": metrics["frozen"]}))  # no Synthesizer columns to draw
    png(dynamics.reward_figure({"synco": metrics["synco"].filter(pl.col("iteration") == 1)}))
    png(curriculum.curriculum_figure({"synco": memory["synco"].head(5)}))
    png(curriculum.share_figure({"synco": memory["synco"].head(5)}, "skill"))
    png(cost.phase_figure({"synco": timings["synco"].head(1)}))


def test_many_skills_are_gathered(memory):
    many = memory["synco"].with_columns((pl.col("slot") % 13).cast(pl.String).alias("skill"))
    labels = [text.get_text() for text in curriculum.share_figure({"synco": many}, "skill").legends[0].get_texts()]
    assert len(labels) == 9
    assert labels[-1] == "all others"


def test_nothing_to_draw_is_an_error_that_says_so(memory, predictions):
    with pytest.raises(ValueError, match="no row of mode 'beam'"):
        accuracy_figures.accuracy_figure(accuracy.accuracy_table(predictions, 10), "beam")
    with pytest.raises(ValueError, match="no variant has an admitted card"):
        curriculum.curriculum_figure({"synco": memory["synco"].filter(~pl.col("admitted"))})
    with pytest.raises(ValueError, match="no timings given"):
        cost.phase_figure({})
