import io

import polars as pl
import pytest

from selfevolve.curves import loss_figure, training_figure


def lines(ax) -> dict[str, tuple[list, list]]:
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in ax.get_lines()}


def draw(figure) -> None:
    figure.savefig(io.BytesIO(), format="png", dpi=40)


def test_a_loss_line_per_agent_over_the_share_of_steps():
    figure = loss_figure({"synthesizer": [4.0, 2.0, 1.0, 0.5], "reasoner": [3.0, 1.0]})
    (ax,) = figure.axes
    assert lines(ax) == {
        "synthesizer": ([0.25, 0.5, 0.75, 1.0], [4.0, 2.0, 1.0, 0.5]),
        "reasoner": ([0.5, 1.0], [3.0, 1.0]),
    }
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["synthesizer", "reasoner"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("share of steps done", "loss, nats per learned token")
    assert ax.get_ylim()[0] == 0
    draw(figure)


@pytest.mark.parametrize("losses", [{}, {"synthesizer": [], "reasoner": []}])
def test_agents_that_were_not_trained_have_no_losses_to_draw(losses):
    draw(loss_figure(losses))


@pytest.fixture
def metrics():
    return pl.DataFrame(
        {
            "seed": [1, 0, 0, 1, 0, 1],
            "iteration": [2, 1, 3, 1, 2, 3],
            "success_rate": [0.4, 0.1, 0.6, 0.2, None, 0.9],
            "reasoner_entropy": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            "synthesizer_loss": pl.Series([None] * 6, dtype=pl.String),  # as an empty column of a CSV is read
        }
    )


def test_a_panel_per_column_and_a_moving_average_per_seed(metrics):
    figure = training_figure(metrics, {"success_rate": "success", "reasoner_entropy": "entropy, nats"}, window=2)
    left, right = figure.axes
    assert [ax.get_title() for ax in (left, right)] == ["success", "entropy, nats"]
    assert list(lines(left)) == ["seed 0", "seed 1"]
    assert lines(left)["seed 0"] == ([1, 2, 3], pytest.approx([0.1, 0.1, 0.6]))  # a gap is left out of the average
    assert lines(left)["seed 1"] == ([1, 2, 3], pytest.approx([0.2, 0.3, 0.65]))
    assert lines(right)["seed 0"] == ([1, 2, 3], pytest.approx([2.0, 3.5, 4.0]))
    assert left.get_legend() is not None and left.get_xlabel() == "iteration"
    draw(figure)


def test_a_column_without_values_leaves_its_panel_empty(metrics):
    figure = training_figure(metrics, {"synthesizer_loss": "loss"})
    assert all(all(y != y for y in ys) for _, ys in lines(figure.axes[0]).values())  # nothing but NaN
    draw(figure)


def test_a_column_that_joined_as_text_is_drawn_as_numbers(metrics):
    text = metrics.with_columns(pl.Series("synthesizer_loss", ["0.5", "1", "2", "", "4", "0.5"]))
    drawn = lines(training_figure(text, {"synthesizer_loss": "loss"}, window=1).axes[0])
    assert drawn["seed 0"][1] == [1.0, 4.0, 2.0]


def test_figures_are_not_left_open_for_the_notebook_to_show_twice(metrics):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    loss_figure({"a": [1.0]})
    training_figure(metrics, {"success_rate": "success"})
    assert plt.get_fignums() == before
