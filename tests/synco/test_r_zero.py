"""R-Zero: what the Challenger is paid, what the Solver is given, and how rounds are resumed."""

import json

import polars as pl
import pytest

from selfevolve import params
from selfevolve.cards import FIELDS, parse_card
from selfevolve.models.generation import Completion
from selfevolve.models.grpo import StepMetrics
from selfevolve.synco import r_zero
from selfevolve.synco.memory import SCHEMA
from selfevolve.synco.verifier import Verifier

EMPTY = pl.DataFrame(schema=SCHEMA)
FULL = params.load("tiny")


def settings(**changes):
    """Rounds of two Solver steps after one Challenger step, four tasks a step, four votes."""
    r = FULL.cotraining.sources.r_zero.model_copy(
        update={"challenger_steps": 1, "solver_steps": 2, "candidates": 6, "answers": 4, **changes}
    )
    sources = FULL.cotraining.sources.model_copy(update={"r_zero": r})
    return FULL.model_copy(update={"cotraining": FULL.cotraining.model_copy(update={"tasks": 4, "sources": sources})})


def card(problem: str) -> str:
    values = dict.fromkeys(FIELDS, "some text")
    return json.dumps(values | {"problem": problem, "solution": "1+1=2", "final_answer": "2"})


class Challenger:
    """Writes the texts it is given, in turn."""

    def __init__(self, texts):
        self.texts, self.calls = texts, []

    def encode(self, chats):
        return [[7]] * len(chats)

    def generate(self, prompts, sampling, seed):
        self.calls.append(seed)
        return [Completion([10 + i], self.texts[i % len(self.texts)]) for i in range(len(prompts))]


class Solver:
    """Answers `problem 2` with 5 in two of four solutions and otherwise with its own index: the digit says how many agree."""

    def encode(self, chats):
        return [[int(chat[-1]["content"].split()[1])] for chat in chats]

    def generate(self, prompts, sampling, seed):
        return [Completion([1], f"\\boxed{{{5 if at % 4 < prompt[0] else 50 + at % 4}}}") for at, prompt in enumerate(prompts)]


class Trainer:
    def __init__(self):
        self.steps = []

    def step(self, rows):
        self.steps.append(rows)
        return StepMetrics(loss=0.5, grad_norm=1.0, learning_rate=0.1, entropy=2.0, rows=len(rows), tokens=len(rows))

    def save(self, folder):
        folder.mkdir()


PROBLEMS = [card(f"Problem {n} of this kind, what is it?") for n in (1, 2, 3, 4)]


def source(folder, texts=PROBLEMS, done=0, held_out=(), **changes):
    verifier = Verifier(FULL.verifier, held_out)
    return r_zero.RZeroSource(Challenger(texts), Solver(), Trainer(), settings(**changes), verifier, 0, folder, done)


@pytest.mark.parametrize(("p", "value"), [(0.0, 0.0), (0.25, 0.5), (0.5, 1.0), (0.7, 0.6), (1.0, 0.0)])
def test_uncertainty_is_highest_where_half_agree(p, value):
    assert r_zero.uncertainty(p) == pytest.approx(value)


def test_the_penalty_is_taken_off_and_never_makes_it_negative():
    assert r_zero.challenger_reward(0.5, 0.25, 1.0) == 0.75
    assert r_zero.challenger_reward(0.5, 0.25, 0.5) == 0.875
    assert r_zero.challenger_reward(0.9, 0.5, 1.0) == 0.0


def test_the_challenger_is_paid_for_disagreement_less_repetition(tmp_path):
    """Four problems that differ in a digit are one cluster; a malformed output is none of them and earns nothing."""
    own = source(tmp_path, [*PROBLEMS[:3], "no card"])
    own.propose(1, EMPTY)
    rows = pl.read_parquet(tmp_path / "000001.parquet").filter(stage="challenger")
    assert rows["agreement"].to_list() == [0.25, 0.5, 0.75, None]
    assert rows["label"].to_list() == ["5", "5", "5", None]
    assert rows["reward"].to_list() == pytest.approx([max(0, 0.5 - 0.75), 1 - 0.75, max(0, 0.5 - 0.75), 0.0])
    assert rows["reason"].to_list() == ["paid", "paid", "paid", "schema:prose"]
    (update,) = own.trainer.steps
    assert [row.completion_ids for row in update] == [(10,), (11,), (12,), (13,)]
    assert update[1].advantage > 0 > update[0].advantage == update[2].advantage == update[3].advantage


def test_the_solver_gets_labelled_problems_within_the_band(tmp_path):
    own = source(tmp_path, band=0.25)
    tasks = own.propose(1, EMPTY)
    rows = pl.read_parquet(tmp_path / "000001.parquet").filter(stage="candidate")
    assert rows["agreement"].to_list() == [0.25, 0.5, 0.75, 1.0, 0.25, 0.5]
    assert rows["reason"].to_list() == ["", "", "", "outside_band", "", ""]
    assert len(tasks) == 4 and {task.agreement for task in tasks} <= {0.25, 0.5, 0.75}
    labelled = parse_card(tasks[0].text)
    assert labelled.final_answer == "5" and labelled.solution == "\\boxed{5}"  # not the Challenger's own
    assert tasks[0].origin == "challenger" and not tasks[0].completion_ids
    narrow = source(tmp_path / "narrow", band=0.1)
    assert {task.agreement for task in narrow.propose(1, EMPTY)} == {0.5}


def test_a_round_lasts_its_solver_steps(tmp_path):
    own = source(tmp_path)
    first, second = own.propose(1, EMPTY), own.propose(2, EMPTY)
    assert len(own.trainer.steps) == 1 and len(own.challenger.calls) == 2
    walk = [task.text for task in first + second]
    assert len(set(walk[:5])) == 3  # five kept candidates of three problems, each passed before one comes again
    own.propose(3, EMPTY)
    assert len(own.trainer.steps) == 2 and sorted(path.name for path in tmp_path.glob("*")) == [
        "000001.parquet",
        "000002.parquet",
    ]
    assert len(set(own.challenger.calls)) == 4  # every stage draws with a seed of its own


def test_the_challengers_update_is_reported_once(tmp_path):
    own = source(tmp_path)
    own.propose(1, EMPTY)
    assert own.learn([]).loss == 0.5 and own.learn([]) is None
    own.propose(2, EMPTY)
    assert own.learn([]) is None


def test_no_problem_in_the_band_is_no_task(tmp_path):
    own = source(tmp_path, [PROBLEMS[3]])
    assert own.propose(1, EMPTY) == []


def test_benchmark_problems_are_refused(tmp_path):
    own = source(tmp_path, held_out=["Problem 2 of this kind, what is it?"])
    tasks = own.propose(1, EMPTY)
    rows = pl.read_parquet(tmp_path / "000001.parquet")
    assert set(rows.filter(reason="contaminated")["problem"]) == {"Problem 2 of this kind, what is it?"}
    assert all("Problem 2" not in task.text for task in tasks)


@pytest.mark.parametrize(("done", "kept"), [(0, []), (1, [1]), (2, [1]), (3, [1, 2]), (4, [1, 2])])
def test_a_resumed_run_forgets_rounds_that_opened_later(tmp_path, done, kept):
    own = source(tmp_path)
    for iteration in (1, 2, 3, 4, 5):
        own.propose(iteration, EMPTY)
    resumed = source(tmp_path, done=done)
    assert sorted(int(path.stem) for path in tmp_path.glob("*.parquet")) == kept
    again = resumed.propose(done + 1, EMPTY)
    assert [task.text for task in again] == [task.text for task in own.propose(done + 1, EMPTY)]
