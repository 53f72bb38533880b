import json

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import save_file

from selfevolve import params
from selfevolve.analysis.runs import load_runs
from selfevolve.params import PretrainedModel

VARIANTS = ("static_pool", "frozen", "synco")
BOOTSTRAP = {"candidates": 9, "schema_valid_rate": 0.875, "acceptance_rate": 0.5, "true_key_rate": None, "losses": {}}


@pytest.fixture(scope="module")
def settings():
    return params.load("tiny")


@pytest.fixture
def artifacts(tmp_path, memory, contamination, metrics, timings, predictions, rollouts):
    """The outputs of the three stages before the analysis, in a folder of their own."""
    for name in VARIANTS:
        folder = tmp_path / "cotraining" / name
        folder.mkdir(parents=True)
        memory[name].write_parquet(folder / "memory.parquet")
        contamination[name].write_parquet(folder / "contamination.parquet")
        metrics[name].write_csv(folder / "metrics.csv")
    (tmp_path / "timings").mkdir()
    for name in VARIANTS:
        timings[name].write_csv(tmp_path / "timings" / f"cotraining-{name}.csv")
    (tmp_path / "evaluation").mkdir()
    predictions.write_parquet(tmp_path / "evaluation" / "predictions.parquet")
    rollouts.write_parquet(tmp_path / "evaluation" / "source_rollouts.parquet")
    reasoner = tmp_path / "synthesis" / "reasoner"
    reasoner.mkdir(parents=True)
    save_file({"a": np.zeros((3, 5)), "b": np.zeros(7), "c": np.zeros(())}, reasoner / "model.safetensors")
    (tmp_path / "synthesis" / "bootstrap.json").write_text(json.dumps(BOOTSTRAP))
    return tmp_path


def facts(run) -> dict[str, str]:
    return dict(run.provenance.iter_rows())


def test_every_file_is_read_under_its_variant(settings, artifacts, memory, metrics, timings, predictions, rollouts):
    run = load_runs(settings, artifacts)
    assert list(run.memory) == list(run.metrics) == list(run.timings) == list(VARIANTS)  # order of the tables
    for name in VARIANTS:
        assert run.memory[name].equals(memory[name])
        assert run.metrics[name].select("seed", "iteration").equals(metrics[name].select("seed", "iteration"))
        assert run.timings[name].columns == timings[name].columns and run.timings[name].height == timings[name].height
    assert run.predictions.equals(predictions) and run.rollouts.equals(rollouts)


def test_provenance_states_what_the_run_was(settings, artifacts):
    run = load_runs(settings, artifacts)
    assert run.provenance.columns == ["what", "value"]
    assert facts(run) == {
        "profile": "tiny",
        "variants": "static_pool, frozen, synco",
        "agents": "tiny models trained from scratch on templated arithmetic",
        "weights per agent": "23",
        "seeds": ", ".join(map(str, settings.cotraining.seeds)),
        "iterations": str(settings.cotraining.iterations),
        "cards per iteration": str(settings.cotraining.tasks),
        "rollouts per card": str(settings.cotraining.rollouts),
        "benchmarks": "exam",
        "Synthesizer before co-training: schema-valid outputs": "87.5%",
        "Synthesizer before co-training: admitted": "50.0%",
        "Synthesizer before co-training: admitted cards with a true key": "unknown",
        "scripted roles": "none",
    }


def test_weights_are_counted_in_the_agent_folder(settings, artifacts):
    assert load_runs(settings, artifacts).weights == 3 * 5 + 7 + 1
    path = artifacts / "synthesis" / "reasoner" / "model.safetensors"
    save_file({"a": np.zeros((1000, 1234), np.float16)}, path)
    run = load_runs(settings, artifacts)
    assert (run.weights, facts(run)["weights per agent"]) == (1_234_000, "1,234,000")
    path.unlink()  # a folder that only points to its base
    run = load_runs(settings, artifacts)
    assert (run.weights, facts(run)["weights per agent"]) == (None, "as published")


def test_pretrained_agents_are_called_by_their_path(settings, artifacts):
    base = PretrainedModel(kind="pretrained", path="Qwen/Qwen3-8B")
    changed = settings.model_copy(update={"models": settings.models.model_copy(update={"base": base})})
    run = load_runs(changed, artifacts)
    assert run.models == facts(run)["agents"] == "copies of Qwen/Qwen3-8B (the Synthesizer after 600 bootstrap steps)"


def test_one_benchmark_is_the_headline_and_several_are_averaged(settings, artifacts):
    assert load_runs(settings, artifacts).main_benchmark == "exam"
    benchmarks = settings.benchmarks.model_copy(update={"names": ("exam", "gsm8k")})
    run = load_runs(settings.model_copy(update={"benchmarks": benchmarks}), artifacts)
    assert run.main_benchmark is None
    assert facts(run)["benchmarks"] == "exam, gsm8k"


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("cotraining/synco/memory.parquet", "cotraining"),
        ("cotraining/frozen/contamination.parquet", "cotraining"),
        ("cotraining/frozen/metrics.csv", "cotraining"),
        ("timings/cotraining-static_pool.csv", "cotraining"),
        ("evaluation/predictions.parquet", "evaluation"),
        ("evaluation/source_rollouts.parquet", "evaluation"),
        ("synthesis/bootstrap.json", "synthesis"),
    ],
)
def test_a_missing_file_names_itself_and_the_stage_that_writes_it(settings, artifacts, name, stage):
    (artifacts / name).unlink()
    with pytest.raises(FileNotFoundError) as raised:
        load_runs(settings, artifacts)
    assert str(raised.value).startswith(f"{artifacts / name} is missing: run the stage that writes it ({stage}), ")


def test_gradient_bearing_has_a_column_of_seed_means_per_variant(settings, artifacts, metrics):
    frame = load_runs(settings, artifacts).gradient_bearing()
    assert frame.columns == ["iteration", *VARIANTS]
    assert frame["iteration"].to_list() == sorted(metrics["synco"]["iteration"].unique())
    first = metrics["synco"].filter(pl.col("iteration") == 1)["gradient_bearing_rate"].mean()
    assert frame["synco"][0] == pytest.approx(first)
