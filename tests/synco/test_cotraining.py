"""The co-training loop on a small real model: shared batches, separate policies, exact resume."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
import torch

from selfevolve import params
from selfevolve.models.policy import load, point_to_base
from selfevolve.params import Params
from selfevolve.synco import AGENTS, cotraining, runs, synthesis
from selfevolve.synco.memory import TIMINGS, Memory
from selfevolve.synco.pool import first_admitted

FIXTURES = Path(__file__).parents[1] / "fixtures"
PROBLEMS = ["A box has 12 nuts. Add 5. How many?"]


def small(**changes) -> Params:
    """The tiny profile with few, small iterations."""
    settings = params.load("tiny")
    loop = settings.cotraining.model_dump() | {
        "seeds": [0],
        "iterations": 6,
        "tasks": 8,
        "checkpoint_every": 2,
        **changes,
    }
    return settings.model_copy(update={"cotraining": type(settings.cotraining)(**loop)})


@pytest.fixture(scope="module")
def agents(tmp_path_factory) -> Path:
    """A synthesis stage's outputs: the two fixture agents and a small pool."""
    folder = tmp_path_factory.mktemp("agents")
    for name in AGENTS:
        point_to_base(folder / name, str(FIXTURES / name))
    settings = small()
    settings = settings.model_copy(
        update={"synthesis": settings.synthesis.model_copy(update={"pool_size": 12, "pool_candidates": 128})}
    )
    candidates = synthesis.propose_cards(settings, folder / "synthesizer", PROBLEMS)
    first_admitted(candidates, 12).write_parquet(folder / "pool.parquet")
    return folder


@pytest.fixture(scope="module")
def synco(agents, tmp_path_factory) -> Path:
    """The folder of one undisturbed co-training run."""
    work = tmp_path_factory.mktemp("synco")
    cotraining.train("synco", small(), agents, PROBLEMS, 0, work)
    return work


def digests(folder: Path) -> dict[str, str]:
    """Contents of everything that must be reproducible."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != TIMINGS]
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_a_run_leaves_memory_metrics_times_and_both_agents(synco):
    memory, metrics, timings = runs.collect((0,), synco)
    assert memory["iteration"].unique().sort().to_list() == [1, 2, 3, 4, 5, 6]
    assert memory.height == 6 * 8 and metrics.height == timings.height == 6
    admitted = memory.filter("admitted")
    assert admitted.height > 0 and admitted["rollouts"].list.len().unique().to_list() == [4]
    assert metrics["admitted"].sum() == admitted.height
    assert metrics["acceptance_rate"].to_list() == pytest.approx((metrics["admitted"] / 8).to_list())
    phases = timings.select(pl.sum_horizontal(f"{phase}_s" for phase in cotraining.PHASES) + pl.col("other_s"))
    assert phases.to_series().to_list() == pytest.approx(timings["total_s"].to_list(), abs=2e-3)
    assert (runs.seed_folder(synco, 0) / "reasoner" / "model.safetensors").is_file()
    assert not list(runs.seed_folder(synco, 0).glob("checkpoint-*"))


def test_both_policies_moved_away_from_where_they_started(synco):
    for name in AGENTS:
        before, after = (
            load(folder / name, "float32", 1).model.state_dict() for folder in (FIXTURES, runs.seed_folder(synco, 0))
        )
        assert any(not torch.equal(before[key], after[key]) for key in before)


def test_contexts_of_later_iterations_come_from_the_memory(synco):
    memory = Memory(runs.seed_folder(synco, 0) / "memory").all()
    first = memory.filter(iteration=1)
    assert first["context"].n_unique() == 1 and "none" in first["context"][0]  # nothing is known yet
    later = memory.filter(pl.col("iteration") > 1)
    assert later.group_by("iteration").agg(pl.col("weakness").n_unique())["weakness"].max() == small().cotraining.contexts


def test_the_same_seed_repeats_a_run_and_another_does_not(agents, synco, tmp_path):
    cotraining.train("synco", small(), agents, PROBLEMS, 0, tmp_path)
    assert digests(tmp_path) == digests(synco)
    cotraining.train("synco", small(), agents, PROBLEMS, 1, tmp_path)
    one, other = (Memory(runs.seed_folder(tmp_path, seed) / "memory").all()["text"].to_list() for seed in (0, 1))
    assert one != other


@pytest.mark.parametrize("stop_at", [1, 2, 3, 5])
def test_an_interrupted_run_ends_like_an_undisturbed_one(agents, synco, tmp_path, stop_at):
    """Interrupted right after the memory of iteration `stop_at` was written: the worst moment, before its updates."""
    append = Memory.append

    def interrupt(self, iteration, rows):
        append(self, iteration, rows)
        if iteration == stop_at:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memory, "append", interrupt)
        with pytest.raises(KeyboardInterrupt):
            cotraining.train("synco", small(), agents, PROBLEMS, 0, tmp_path)
    assert cotraining.completed(runs.seed_folder(tmp_path, 0)) == (stop_at - 1) // 2 * 2
    cotraining.train("synco", small(), agents, PROBLEMS, 0, tmp_path)
    assert digests(tmp_path) == digests(synco)


def test_a_run_killed_with_sigkill_resumes_to_the_same_bytes(agents, synco, tmp_path):
    script = (
        "import sys; sys.path[:0] = [sys.argv[1]]\n"
        "from pathlib import Path; import torch; torch.set_num_threads(1)\n"
        "from test_cotraining import PROBLEMS, small; from selfevolve.synco import cotraining\n"
        "cotraining.train('synco', small(), Path(sys.argv[2]), PROBLEMS, 0, Path(sys.argv[3]))\n"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parent), str(agents), str(tmp_path)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    folder = runs.seed_folder(tmp_path, 0)
    deadline = time.monotonic() + 240
    while cotraining.completed(folder) < 2 and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert 2 <= cotraining.completed(folder) < 6, "the run ended before it could be killed"
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert digests(tmp_path) == digests(synco)


def trajectory(folder: Path) -> list[str]:
    """A digest of each iteration: what was proposed, judged, answered and paid."""
    rows = Memory(runs.seed_folder(folder, 0) / "memory").all()
    shown = rows.select("iteration", "text", "admitted", "reason", "rollouts", "rewards", pl.col("synthesizer_reward").round(6))
    parts = shown.group_by("iteration", maintain_order=True)
    return [hashlib.sha256(json.dumps(part.rows()).encode()).hexdigest()[:16] for _, part in parts]


@pytest.mark.parametrize("variant", ["synco", "frozen", "static_pool"])
def test_runs_follow_the_committed_trajectory(agents, synco, tmp_path, variant):
    """A change of the loop must not change what these variants do: reports are rendered from them.

    The digests hang on the sampled tokens, so they hold for the torch version and the kind of CPU they were made with.
    """
    committed = json.loads((Path(__file__).parent / "trajectory.json").read_text())
    if (committed["torch"], committed["cpu"]) != (torch.__version__, torch.backends.cpu.get_cpu_capability()):
        pytest.skip(f"the digests were made with torch {committed['torch']} on {committed['cpu']}")
    expected = committed["digests"][variant]
    if variant != "synco":
        cotraining.train(variant, small(iterations=len(expected)), agents, PROBLEMS, 0, tmp_path)
    assert trajectory(synco if variant == "synco" else tmp_path) == expected


def test_a_frozen_synthesizer_is_not_written_and_not_updated(agents, tmp_path):
    cotraining.train("frozen", small(iterations=2), agents, PROBLEMS, 0, tmp_path)
    _, metrics, timings = runs.collect((0,), tmp_path)
    assert metrics["synthesizer_grad_norm"].null_count() == 2 and timings["update_synthesizer_s"].sum() == 0
    assert metrics["synthesizer_reward"].null_count() == 0  # still measured
    assert not (runs.seed_folder(tmp_path, 0) / "synthesizer").exists()


def test_a_static_pool_trains_the_reasoner_alone(agents, tmp_path):
    cotraining.train("static_pool", small(iterations=2), agents, PROBLEMS, 0, tmp_path)
    memory, metrics, _ = runs.collect((0,), tmp_path)
    assert memory["admitted"].all() and memory["context"].unique().to_list() == [""]
    assert memory["synthesizer_reward"].null_count() == 16
    assert metrics["reasoner_grad_norm"].null_count() == 0


def test_a_consensus_check_rejects_and_is_resumed(agents, tmp_path):
    settings = small(iterations=2, checkpoint_every=1)
    strict = settings.verifier.model_copy(update={"consensus": settings.verifier.consensus.model_copy(update={"solutions": 2})})
    settings = settings.model_copy(update={"verifier": strict})
    cotraining.train("frozen", settings, agents, PROBLEMS, 0, tmp_path / "whole")
    rows = Memory(runs.seed_folder(tmp_path / "whole", 0) / "memory").all()
    asked = rows.filter(pl.col("agreement").is_not_null())
    assert asked["admitted"].equals(asked["agreement"] >= 0.5)
    assert asked.filter(~pl.col("admitted"))["reason"].unique().to_list() == ["no_consensus"]
    assert rows.filter(pl.col("agreement").is_null())["admitted"].sum() == 0

    def stop(iteration, note):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cotraining.Progress, "update", lambda self, done, note="": stop(done, note))
        with pytest.raises(KeyboardInterrupt):
            cotraining.train("frozen", settings, agents, PROBLEMS, 0, tmp_path / "cut")
    assert cotraining.completed(runs.seed_folder(tmp_path / "cut", 0)) == 1
    cotraining.train("frozen", settings, agents, PROBLEMS, 0, tmp_path / "cut")
    assert digests(tmp_path / "cut") == digests(tmp_path / "whole")


def test_frozen_and_trained_start_from_the_same_proposals(agents, synco, tmp_path):
    """Matched comparison (C.2): until the first update, both variants see the same cards and the same rollouts."""
    cotraining.train("frozen", small(iterations=2), agents, PROBLEMS, 0, tmp_path)
    columns = ["text", "rollouts", "rewards"]
    both = [Memory(runs.seed_folder(folder, 0) / "memory").all().filter(iteration=1) for folder in (tmp_path, synco)]
    assert both[0].select(columns).equals(both[1].select(columns))


def test_contaminated_cards_are_never_admitted(agents, tmp_path):
    """Every problem of a first run is declared held out; a second run with the same seed must reject all of them."""
    cotraining.train("synco", small(iterations=1, tasks=32), agents, [], 0, tmp_path / "a")
    seen = Memory(runs.seed_folder(tmp_path / "a", 0) / "memory").all().filter("admitted")["problem"].to_list()
    cotraining.train("synco", small(iterations=1, tasks=32), agents, seen, 0, tmp_path / "b")
    rows = Memory(runs.seed_folder(tmp_path / "b", 0) / "memory").all()
    assert seen and not rows["admitted"].any() and rows.filter(reason="contaminated").height == len(seen)


def test_the_loop_goes_on_when_nothing_is_admitted(agents, tmp_path):
    """A verifier nothing passes: no rollouts, no Reasoner rows, equal rewards; then contexts from a window without admitted cards."""
    settings = small(iterations=3)
    strict = settings.verifier.model_copy(update={"min_problem_chars": 10_000})
    cotraining.train("synco", settings.model_copy(update={"verifier": strict}), agents, PROBLEMS, 0, tmp_path)
    memory, metrics, _ = runs.collect((0,), tmp_path)
    assert not memory["admitted"].any() and metrics["acceptance_rate"].to_list() == [0.0] * 3
    assert metrics["success_rate"].null_count() == 3 and metrics["reasoner_grad_norm"].null_count() == 3
    assert "accept low" in memory.filter(iteration=3)["context"][0]
