import numpy as np
import polars as pl
import pytest

from selfevolve.analysis.signals import POOL, RANKED, _top_share, enrichment_figure, enrichment_table, signal_table
from selfevolve.analysis.variants import by_variant

WRONG, MIXED, RIGHT = [0.0, 0.0], [1.0, 0.0], [1.0, 1.0]


def test_signals_by_hand(make_cards):
    cards = make_cards(
        [MIXED, RIGHT, WRONG, MIXED],
        quality=[1.0, 0.8, 0.6, 0.6],
        reliability=[1.0, 1.0, 1.0, 1.0],
        novelty=[0.1, 0.2, 0.3, None],
        alignment=[None, None, None, None],
    )
    table = signal_table(cards)
    assert table["signal"].to_list() == ["quality", "reliability", "alignment", "novelty", "teachability"]
    quality, reliability, alignment, novelty, teachability = table.rows(named=True)
    assert quality["mean"] == pytest.approx(0.75) and quality["sd"] == pytest.approx(np.std([1.0, 0.8, 0.6, 0.6], ddof=1))
    assert quality["r"] == pytest.approx(np.corrcoef([1.0, 0.8, 0.6, 0.6], [1, 0, 0, 1])[0, 1])
    assert quality["low"] <= quality["r"] <= quality["high"]
    assert (reliability["r"], reliability["strength"]) == (None, "Undefined")
    assert (alignment["cards"], alignment["mean"]) == (0, None)
    assert novelty["cards"] == 3
    assert (teachability["r"], teachability["strength"]) == (1.0, "Strong positive")


@pytest.mark.parametrize(
    ("scores", "bearing", "share"),
    [
        ([4, 3, 2, 1], [1, 0, 0, 0], 1.0),
        ([1, 2, 3, 4], [1, 0, 0, 0], 0.0),
        ([1, 1, 1, 1], [1, 0, 0, 0], 0.25),  # a tie counts in proportion
        ([2, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0, 0], (1 + 3 / 7) / 2),  # two wanted: the first and one of seven
    ],
)
def test_the_best_quarter_by_hand(scores, bearing, share):
    assert _top_share(np.array(scores, float), np.array(bearing, bool), 0.25).value == pytest.approx(share)


def test_enrichment_by_hand(make_cards):
    """Eight cards, two gradient-bearing: teachability puts both first; the gate takes out the one of poor quality."""
    cards = make_cards(
        [MIXED, MIXED, *[RIGHT] * 6],
        quality=[0.5, 1.0, *[0.9] * 6],
        reliability=[1.0] * 8,
        novelty=[0.0, 0.0, *[1.0] * 6],
    )
    shares = dict(enrichment_table(cards).select("signal", "share").iter_rows())
    assert shares == {
        POOL: 0.25,
        "teachability": 1.0,
        "gated_reward": pytest.approx((1 + 1 / 7) / 2),
        "reliability": 0.25,
        "quality": pytest.approx(0.5),
        "novelty": 0.0,
    }


def test_intervals_hold_the_share_and_the_bonus_plays_no_part(memory):
    table = enrichment_table(memory["synco"])
    assert table["signal"].to_list() == [POOL, *RANKED]
    assert ((table["low"] <= table["share"]) & (table["share"] <= table["high"])).all()
    assert table["enrichment"][0] == 1.0 and table["cards"][1] == round(table["cards"][0] / 4)
    unpaid = memory["synco"].with_columns(pl.lit(None, dtype=pl.Float64).alias("synthesizer_reward"))
    assert enrichment_table(unpaid).equals(table)


def test_no_cards(make_cards):
    assert enrichment_table(make_cards([])).is_empty()
    assert signal_table(make_cards([]))["cards"].to_list() == [0] * 5
    with pytest.raises(ValueError, match="no variant has an admitted card"):
        enrichment_figure(by_variant(enrichment_table, {"synco": make_cards([])}))
