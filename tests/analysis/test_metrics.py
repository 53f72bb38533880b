import json

import polars as pl
import pytest

from selfevolve.analysis.metrics import headline

KEYS = {
    "profile",
    "seeds",
    "statement",
    "accuracy",
    "gain",
    "iteration_seconds",
    "acceptance_rate",
    "true_key_rate",
    "gradient_bearing_rate",
}
GAINS = {"synco_minus_vanilla", "synco_minus_frozen", "synco_minus_static_pool"}


def leaves(value):
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    return [value]


def test_full_run(predictions, metrics, memory, timings):
    out = headline(predictions, metrics, memory, timings, "tiny", benchmark="exam", weights=222_000, replicates=200)
    text = json.dumps(out, allow_nan=False)
    assert json.loads(text) == out
    assert set(out) == KEYS
    assert out["seeds"] == [0, 1, 2]
    assert set(out["gain"]) == GAINS
    assert all(set(entry) == {"value", "low", "high", "n"} for entry in out["accuracy"].values())
    numbers = [leaf for leaf in leaves({k: out[k] for k in KEYS - {"statement", "seeds"}}) if isinstance(leaf, float)]
    assert all(round(number, 4) == number for number in numbers)
    assert out["accuracy"]["vanilla"]["n"] == 59  # 60 tasks, one with an unreadable reference
    assert out["gradient_bearing_rate"]["synco"]["last"] > out["gradient_bearing_rate"]["static_pool"]["last"]
    assert "222,000 weights" in out["statement"][0] and "not evidence" in out["statement"][0]
    assert headline(predictions, metrics, memory, timings, "tiny", benchmark="exam", weights=222_000, replicates=200) == out


def test_several_benchmarks_are_averaged(predictions, metrics, memory, timings):
    out = headline(predictions, metrics, memory, timings, "tiny", replicates=50)
    assert out["accuracy"]["synco"]["n"] == 119
    assert any("unweighted average of exam, svamp" in line for line in out["statement"])


def test_missing_variants_are_null(predictions, metrics, memory, timings):
    some = predictions.filter(pl.col("system").is_in(["vanilla", "frozen"]))
    frozen = {"frozen": metrics["frozen"]}
    out = headline(some, frozen, {"frozen": memory["frozen"]}, {}, "tiny", benchmark="exam", replicates=50)
    assert set(out) == KEYS
    assert out["accuracy"]["synco"] == {"value": None, "low": None, "high": None, "n": None}
    assert out["gain"]["synco_minus_frozen"] == {"value": None, "low": None, "high": None}
    assert out["acceptance_rate"] is None and out["true_key_rate"] is None
    assert out["iteration_seconds"] == {"frozen": None, "synco": None, "static_pool": None}
    assert out["gradient_bearing_rate"]["synco"] == {"first": None, "last": None}
    assert any("Not run: static_pool, synco" in line for line in out["statement"])


def test_nothing_at_all(make_predictions):
    out = headline(make_predictions([]), {}, {}, {}, "tiny")
    assert set(out) == KEYS
    assert {leaf for leaf in leaves(out["accuracy"])} == {None}
    json.dumps(out, allow_nan=False)


def test_first_and_last_tenth_by_hand(make_predictions):
    frame = pl.DataFrame(
        {
            "seed": [0] * 20 + [1] * 20,
            "iteration": [*range(1, 21)] * 2,
            "gradient_bearing_rate": [0.4, 0.6] + [0.0] * 16 + [0.1, None] + [0.8, 0.6] + [0.0] * 16 + [0.3, float("nan")],
        }
    )
    out = headline(make_predictions([]), {"synco": frame}, {}, {}, "tiny")
    assert out["gradient_bearing_rate"]["synco"] == {"first": 0.6, "last": 0.2}


def test_unknown_benchmark_is_named(predictions):
    with pytest.raises(ValueError, match="'aime'.*'exam'"):
        headline(predictions, {}, {}, {}, "tiny", benchmark="aime")
