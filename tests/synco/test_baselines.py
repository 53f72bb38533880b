"""Every baseline of the paper as a short run on the fixture agents: what it leaves, and that a kill does not change it."""

import json
import multiprocessing
import random
import signal
import time
from pathlib import Path

import polars as pl
import pytest
import torch
from test_cotraining import FIXTURES, PROBLEMS, agents, digests, small  # noqa: F401

from selfevolve import families
from selfevolve.models.policy import load
from selfevolve.params import Params
from selfevolve.synco import cotraining, runs
from selfevolve.synco.corpus_files import CorpusError

VARIANTS = ("rewriting", "metamathqa", "static_pool_sft", "r_zero")


def brief(corpus: Path | None = None) -> Params:
    """Four iterations of eight tasks; two rounds of R-Zero and of fine-tuning."""
    settings = small(iterations=4, checkpoint_every=1)
    loop = settings.cotraining.model_dump()
    loop["sources"]["rewriting"]["size"] = 16
    loop["sources"]["r_zero"] |= {"challenger_steps": 1, "solver_steps": 2, "candidates": 16, "answers": 4}
    loop["sources"]["corpora"]["metamathqa"] |= {"layout": "plain", "path": corpus and str(corpus), "problems": 12}
    sft = {"steps": 4, "batch_size": 8, "micro_batch_size": 8, "checkpoint_every": 2}
    loop["rejection_sft"]["rounds"] = 2
    loop["rejection_sft"]["sft"] |= sft
    return settings.model_copy(update={"cotraining": type(settings.cotraining)(**loop)})


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> Params:
    path = tmp_path_factory.mktemp("corpus") / "problems.jsonl"
    rng = random.Random(5)
    problems = [families.generate(rng, skill, 2) for skill in families.SKILLS for _ in range(4)]
    path.write_text("\n".join(json.dumps({"problem": p.text, "answer": p.answer}) for p in problems))
    return brief(path)


@pytest.fixture(scope="module")
def undisturbed(agents, settings, tmp_path_factory):  # noqa: F811
    """A function: the folder of a variant's undisturbed run, made on first use."""
    folders = {}

    def run(variant: str) -> Path:
        if variant not in folders:
            folders[variant] = tmp_path_factory.mktemp(variant)
            cotraining.train(variant, settings, agents, PROBLEMS, 0, folders[variant])
        return folders[variant]

    return run


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_run_leaves_what_every_run_leaves(undisturbed, variant):
    memory, metrics, timings = runs.collect((0,), undisturbed(variant))
    assert memory["iteration"].unique().to_list() == [1, 2, 3, 4] and metrics.height == timings.height == 4
    admitted = memory.filter("admitted")
    assert admitted.height > 0 and admitted["rollouts"].list.len().unique().to_list() == [4]
    assert metrics["admitted"].sum() == admitted.height
    phases = timings.select(pl.sum_horizontal(f"{phase}_s" for phase in cotraining.PHASES) + pl.col("other_s"))
    assert phases.to_series().to_list() == pytest.approx(timings["total_s"].to_list(), abs=2e-3)
    folder = runs.seed_folder(undisturbed(variant), 0)
    assert not list(folder.glob("checkpoint-*")) and not list(folder.glob("sft-*"))
    before, after = (load(place / "reasoner", "float32", 1).model.state_dict() for place in (FIXTURES, folder))
    assert any(not torch.equal(before[key], after[key]) for key in before)
    assert (folder / "synthesizer").is_dir() == (variant == "r_zero")


def test_rewritten_problems_are_the_pool(undisturbed):
    memory, _, _ = runs.collect((0,), undisturbed("rewriting"))
    pool = runs.collect_source((0,), undisturbed("rewriting"))
    assert pool["admitted"].sum() == 16 and memory["admitted"].all()
    assert set(memory["problem"]) == set(pool.filter("admitted")["problem"])  # 4 x 8 tasks are two passes
    assert set(memory["origin"]) == {"rephrase", "self_verification", "backward"}
    assert memory["true_key"].null_count() == 0


def test_a_corpus_is_the_pool(undisturbed):
    memory, _, _ = runs.collect((0,), undisturbed("metamathqa"))
    pool = runs.collect_source((0,), undisturbed("metamathqa"))
    assert pool["admitted"].sum() == 12 == memory["problem"].n_unique()
    assert memory["true_key"].all() and memory["synthesizer_reward"].null_count() == memory.height


def test_r_zero_trains_the_solver_on_its_own_labels(undisturbed):
    memory, metrics, _ = runs.collect((0,), undisturbed("r_zero"))
    rounds = runs.collect_source((0,), undisturbed("r_zero"))
    assert rounds.group_by("round", "stage").len().sort("round", "stage")["len"].to_list() == [16, 8, 16, 8]
    assert metrics["synthesizer_loss"].is_not_null().to_list() == [True, False, True, False]
    labels = dict(rounds.drop_nulls("card").select("problem", "label").iter_rows())
    assert all(labels[problem] == answer for problem, answer in memory.select("problem", "final_answer").iter_rows())
    assert memory["agreement"].is_between(0.25, 0.75).all()
    before, after = (
        load(f / "synthesizer", "float32", 1).model.state_dict() for f in (FIXTURES, runs.seed_folder(undisturbed("r_zero"), 0))
    )
    assert any(not torch.equal(before[key], after[key]) for key in before)


def test_rejection_sampling_learns_twice_and_never_in_between(undisturbed):
    _, metrics, _ = runs.collect((0,), undisturbed("static_pool_sft"))
    assert metrics["reasoner_loss"].is_not_null().to_list() == [False, True, False, True]
    assert metrics["reasoner_grad_norm"].null_count() == 4


@pytest.fixture(scope="module")
def processes():
    """Processes that share one import of torch: each is forked from a server that has done nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["selfevolve.synco.cotraining"])
    return context


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_run_killed_with_sigkill_resumes_to_the_same_bytes(processes, agents, settings, undisturbed, tmp_path, variant):  # noqa: F811
    job = (variant, settings, agents, PROBLEMS, 0, tmp_path)
    folder = runs.seed_folder(tmp_path, 0)
    child = processes.Process(target=cotraining.train, args=job)
    child.start()
    deadline = time.monotonic() + 240
    while cotraining.completed(folder) < 2 and child.is_alive() and time.monotonic() < deadline:
        time.sleep(0.005)
    child.kill()
    child.join()
    assert child.exitcode == -signal.SIGKILL and 2 <= cotraining.completed(folder) < 4, "the run ended before it could be killed"
    again = processes.Process(target=cotraining.train, args=job)
    again.start()
    again.join()
    assert again.exitcode == 0
    assert digests(tmp_path) == digests(undisturbed(variant))


def test_a_corpus_that_is_nowhere_stops_before_any_work(agents, tmp_path):  # noqa: F811
    with pytest.raises(CorpusError, match=r"corpora\.metamathqa has neither path nor hub"):
        cotraining.train("metamathqa", brief(), agents, PROBLEMS, 0, tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_iteration_without_tasks_is_survived(agents, tmp_path):  # noqa: F811
    """A band so narrow that no vote of four falls into it... but one half: with three answers there is none."""
    settings = brief()
    narrow = settings.cotraining.sources.r_zero.model_copy(update={"answers": 3, "band": 0.01})
    sources = settings.cotraining.sources.model_copy(update={"r_zero": narrow})
    settings = settings.model_copy(
        update={"cotraining": settings.cotraining.model_copy(update={"sources": sources, "iterations": 2})}
    )
    cotraining.train("r_zero", settings, agents, PROBLEMS, 0, tmp_path)
    memory, metrics, _ = runs.collect((0,), tmp_path)
    assert memory.is_empty() and metrics["proposed"].to_list() == [0, 0]
    assert metrics["acceptance_rate"].null_count() == metrics["success_rate"].null_count() == 2
