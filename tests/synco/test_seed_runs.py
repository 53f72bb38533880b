import polars as pl
import pytest

from selfevolve import params
from selfevolve.synco import cotraining, overlap, runs
from selfevolve.synco.memory import SCHEMA, Memory

NO_OVERLAP = pl.DataFrame(schema=overlap.SCHEMA)


def leave_run(work, seed: int, iterations: int, agents=("reasoner", "synthesizer"), loss: str = "0.5") -> None:
    """What a finished run of one seed leaves: two rows of memory per iteration, metrics, timings and trained agents."""
    folder = runs.seed_folder(work, seed)
    memory = Memory(folder / "memory")
    for iteration in range(1, iterations + 1):
        row = dict.fromkeys(SCHEMA) | {"seed": seed, "iteration": iteration, "admitted": False, "reason": "duplicate"}
        row |= {name: [] for name in ("rollouts", "answers", "correct", "rewards")}
        memory.append(iteration, [{**row, "slot": slot, "text": f"{seed}/{iteration}/{slot}"} for slot in (0, 1)])
    lines = [f"{seed},{iteration},{loss}" for iteration in range(1, iterations + 1)]
    (folder / cotraining.METRICS).write_text("\n".join(["seed,iteration,synthesizer_loss", *lines]) + "\n")
    (folder / cotraining.TIMINGS).write_text("\n".join(["seed,iteration,total_s", *lines]) + "\n")
    for agent in agents:
        (folder / agent).mkdir()
        (folder / agent / "model.safetensors").write_text(f"{agent} {seed}")


def test_collected_rows_are_ordered_by_seed_and_iteration(tmp_path):
    for seed in (10, 2):
        leave_run(tmp_path, seed, 11)
    memory, metrics, timings = runs.collect((2, 10), tmp_path)
    expected = [(seed, iteration) for seed in (2, 10) for iteration in range(1, 12)]
    assert metrics.select("seed", "iteration").rows() == timings.select("seed", "iteration").rows() == expected
    assert memory["text"].to_list() == [f"{seed}/{i}/{slot}" for seed, i in expected for slot in (0, 1)]
    assert dict(memory.schema) == SCHEMA
    assert runs.collect((10,), tmp_path)[0]["seed"].unique().to_list() == [10]


def test_seeds_whose_columns_are_read_with_different_types_still_join(tmp_path):
    for seed, loss in enumerate(("0.5", "", "1")):  # a float, an empty column, an integer
        leave_run(tmp_path, seed, 2, loss=loss)
    _, metrics, _ = runs.collect((0, 1, 2), tmp_path)
    losses = metrics["synthesizer_loss"].cast(pl.Float64).to_list()
    assert losses == [0.5, 0.5, None, None, 1.0, 1.0]


def test_a_seed_that_has_not_run_is_an_error(tmp_path):
    leave_run(tmp_path, 0, 1)
    with pytest.raises(FileNotFoundError, match="seed-1"):
        runs.collect((0, 1), tmp_path)


def test_outputs_are_the_tables_and_the_trained_agents(tmp_path):
    work, out = tmp_path / "work", tmp_path / "out" / "frozen"
    leave_run(work, 0, 2)
    leave_run(work, 1, 2, agents=("reasoner",))
    (runs.seed_folder(work, 0) / "checkpoint-000002").mkdir()
    memory, metrics, _ = runs.collect((0, 1), work)
    runs.write(out, memory, metrics, NO_OVERLAP, (0, 1), work)
    written = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert written == {
        "contamination.parquet",
        "memory.parquet",
        "metrics.csv",
        "seed-0/reasoner/model.safetensors",
        "seed-0/synthesizer/model.safetensors",
        "seed-1/reasoner/model.safetensors",
    }
    assert (out / "seed-1" / "reasoner" / "model.safetensors").read_text() == "reasoner 1"
    assert pl.read_parquet(out / "memory.parquet").equals(memory)
    assert pl.read_csv(out / "metrics.csv").equals(metrics)
    assert not any("total_s" in path.read_text() for path in out.rglob("*.csv"))  # wall times are not reproducible
    runs.write(out, memory, metrics, NO_OVERLAP, (0, 1), work)  # once more, over what is there


def test_what_a_source_made_is_collected(tmp_path):
    """A pool is the same for all seeds and comes once; R-Zero's rounds differ and come all."""
    assert runs.collect_source((0, 1), tmp_path) is None and runs.source_summary((0, 1), tmp_path) is None
    for seed in (0, 1):
        folder = runs.seed_folder(tmp_path, seed) / runs.SOURCE
        folder.mkdir(parents=True)
        pl.DataFrame({"origin": ["backward", "rephrase", "rephrase"], "reason": ["", "", "duplicate"]}).write_parquet(
            folder / "pool.parquet"
        )
    assert runs.collect_source((0, 1), tmp_path).height == 3
    assert runs.source_summary((0, 1), tmp_path)["len"].sum() == 3
    for seed in (0, 1):
        folder = runs.seed_folder(tmp_path / "r_zero", seed) / runs.SOURCE
        folder.mkdir(parents=True)
        for number in (1, 2):
            pl.DataFrame({"seed": [seed], "round": [number]}).write_parquet(folder / f"{number:06d}.parquet")
    rounds = runs.collect_source((0, 1), tmp_path / "r_zero")
    assert rounds.select("seed", "round").rows() == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_timings_go_where_the_pipeline_expects_them(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "ARTIFACTS", tmp_path / "artifacts")
    path = runs.timings_path("synco", tmp_path / "artifacts" / "cotraining" / "synco")
    assert path == tmp_path / "artifacts" / "timings" / "cotraining-synco.csv"
    assert path.parent.is_dir()


def test_timings_of_an_interactive_run_stay_outside_its_output(tmp_path):
    out = tmp_path / "scratch" / "cotraining"
    path = runs.timings_path("frozen", out)
    assert path.parent.is_dir() and path.name == "cotraining-frozen.csv"
    assert path.is_relative_to(tmp_path) and not path.is_relative_to(out)


def test_training_starts_from_the_synthesis_stage(tmp_path, monkeypatch):
    settings, calls = params.load("tiny"), []
    pl.DataFrame({"text": ["card 1", "card 2"]}).write_parquet(tmp_path / "pool.parquet")
    monkeypatch.setattr(cotraining, "run", lambda *arguments: calls.append(arguments))
    cotraining.train("static_pool", settings, tmp_path, ["held out"], 4, tmp_path / "work")
    (arguments,) = calls
    variant = settings.cotraining.variants["static_pool"]
    seeded = tmp_path / "work" / "seed-4"
    assert arguments[:-1] == (variant, settings, tmp_path, ["card 1", "card 2"], ["held out"], 4, seeded)
