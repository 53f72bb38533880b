"""Rejection sampling: what is kept of the rollouts, when it is learned, and from which weights."""

from pathlib import Path

import polars as pl
import pytest
import torch

from selfevolve import params
from selfevolve.models.policy import load
from selfevolve.models.sft import IGNORED
from selfevolve.synco import learners
from selfevolve.synco.learners import RejectionSft, sft_examples, solutions
from selfevolve.synco.memory import SCHEMA, Memory

REASONER = Path(__file__).parents[1] / "fixtures" / "reasoner"
BOX, TRIP = "A box has 12 nuts. Add 5. How many?", "Go 2 h at 9 km. How far?"


def row(iteration: int, problem: str, rollouts: list[str], correct: list[bool], admitted: bool = True) -> dict:
    lists = {"rollouts": rollouts, "correct": correct, "answers": [None] * len(rollouts), "rewards": [0.0] * len(rollouts)}
    return dict.fromkeys(SCHEMA) | {
        "seed": 0,
        "iteration": iteration,
        "slot": 0,
        "problem": problem,
        "admitted": admitted,
        **lists,
    }


def frame(*rows: dict) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=SCHEMA, orient="row")


def test_only_correct_rollouts_of_admitted_cards_are_kept_and_each_once():
    rows = frame(
        row(1, BOX, ["a", "b", "a", ""], [True, False, True, True]),
        row(1, TRIP, ["c"], [True], admitted=False),
        row(2, BOX, ["a", "d", "e"], [True, True, None]),
        row(2, TRIP, ["f", "g"], [False, False]),
    )
    assert solutions(rows, 10) == [(BOX, "a"), (BOX, "d")]
    assert solutions(rows, 1) == [(BOX, "a")]


@pytest.fixture(scope="module")
def reasoner():
    return load(REASONER, "float32", 8)


def test_loss_is_taken_on_the_solution_and_its_end(reasoner):
    (example,) = sft_examples(reasoner, [(BOX, "12+5=17 \\boxed{17}")], "compact")
    learned = [i for i, label in zip(example.input_ids, example.labels, strict=True) if label != IGNORED]
    assert reasoner.tokenizer.decode(learned) == "12+5=17 \\boxed{17}<eos>"
    assert BOX in reasoner.tokenizer.decode(example.input_ids[: -len(learned)])
    assert sft_examples(reasoner, [], "compact") == []


def profile(rounds: int, **sft):
    full = params.load("tiny")
    update = {"steps": 3, "batch_size": 4, "micro_batch_size": 4, **sft}
    own = full.cotraining.rejection_sft
    own = own.model_copy(update={"rounds": rounds, "sft": own.sft.model_copy(update=update)})
    return full.model_copy(update={"cotraining": full.cotraining.model_copy(update={"iterations": 5, "rejection_sft": own})})


def weights(policy) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in policy.model.parameters()])


def filled(folder: Path) -> Memory:
    memory = Memory(folder)
    for iteration in range(1, 6):
        memory.append(iteration, [row(iteration, BOX, [f"12+5=17 {'so ' * iteration}\\boxed{{17}}", "x"], [True, False])])
    return memory


def test_the_reasoner_learns_at_the_end_of_each_round_alone(tmp_path, monkeypatch):
    """Two rounds in five iterations: 1-2 and 3-5, each on its own rollouts and from the initial weights."""
    policy, seen = load(REASONER, "float32", 8), []
    before = weights(policy)

    def watched(model, tokenizer, examples, *arguments):
        start = torch.cat([p.detach().flatten() for p in model.parameters()])
        seen.append((torch.equal(start, before), len({tuple(example.input_ids) for example in examples})))
        return tune(model, tokenizer, examples, *arguments)

    tune = learners.fine_tune
    monkeypatch.setattr(learners, "fine_tune", watched)
    learner = RejectionSft(policy, REASONER, profile(2), filled(tmp_path / "memory"), 0, tmp_path)
    done = [learner.learn(iteration, []) for iteration in range(1, 6)]
    assert [metrics is not None for metrics in done] == [False, True, False, False, True]
    assert seen == [(True, 2), (True, 3)]
    assert done[4].rows == 3 and done[4].loss > 0 and done[4].grad_norm is None
    assert not torch.equal(weights(policy), before)
    assert [path.name for path in tmp_path.iterdir()] == ["memory"]  # nothing of the fine-tuning is left behind
    learner.save(tmp_path / "saved")
    assert torch.equal(weights(load(tmp_path / "saved", "float32", 8)), weights(policy))


def test_without_a_correct_rollout_nothing_is_learned(tmp_path):
    policy = load(REASONER, "float32", 8)
    before = weights(policy)
    memory = Memory(tmp_path / "memory")
    memory.append(1, [row(1, BOX, ["x"], [False])])
    for iteration in range(2, 6):
        memory.append(iteration, [])
    learner = RejectionSft(policy, REASONER, profile(1), memory, 0, tmp_path)
    assert learner.learn(5, []) is None
    assert torch.equal(weights(policy), before)


def test_an_interrupted_fine_tuning_ends_like_an_undisturbed_one(tmp_path, monkeypatch):
    ends = []
    for stop in (None, 2):
        folder = tmp_path / str(stop)
        policy = load(REASONER, "float32", 8)
        memory = filled(folder / "memory")
        settings = profile(1, checkpoint_every=1)
        if stop:
            with monkeypatch.context() as patch:

                def update(self, done, note="", stop=stop):
                    if done == stop:
                        raise KeyboardInterrupt

                patch.setattr(learners.Progress, "update", update)
                with pytest.raises(KeyboardInterrupt):
                    RejectionSft(policy, REASONER, settings, memory, 0, folder).learn(5, [])
            assert (folder / "sft-1" / "checkpoint-1").is_dir()
        metrics = RejectionSft(policy, REASONER, settings, memory, 0, folder).learn(5, [])
        ends.append((metrics, weights(policy)))
    assert ends[0][0] == ends[1][0] and torch.equal(ends[0][1], ends[1][1])
