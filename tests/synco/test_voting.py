"""Independent answers: how many agree with a reference, and what most of them say."""

import pytest

from selfevolve.models.generation import Completion, Sampling
from selfevolve.synco.voting import Vote, agreement, solve, vote


def box(*answers: str) -> list[str]:
    return [f"so \\boxed{{{answer}}}" for answer in answers]


def test_the_majority_is_the_label():
    assert vote(box("5", "7", "7", "5", "7")) == Vote("7", 0.6, 1)


def test_equal_answers_written_differently_are_one():
    assert vote(box("1/2", "0.5", "\\frac{1}{2}", "2")) == Vote("1/2", 0.75, 0)


def test_who_gives_no_answer_votes_for_nothing():
    assert vote([*box("5"), "", "no idea", ""]) == Vote("5", 0.25, 0)
    assert vote(["", "nothing", "12+5=17"]) == Vote(None, 0.0, None)  # a last number is a step, not a statement
    assert vote(["12+5=17. The answer is 17.", ""]) == Vote("17", 0.5, 0)


def test_of_equally_many_votes_the_first_counts():
    assert vote(box("3", "4", "4", "3")) == Vote("3", 0.5, 0)


def test_agreement_is_the_share_that_equals_the_reference():
    assert agreement([box("4", "4", "5", "04"), box("1", "2", "3", "4")], ["4", "9"]) == [0.75, 0.0]
    assert agreement([], []) == []


def test_every_problem_gets_its_own_answers_and_the_solver_sees_the_problem_alone():
    class Solver:
        def encode(self, chats):
            self.seen = [chat[-1]["content"] for chat in chats]
            return [[i] for i in range(len(chats))]

        def generate(self, prompts, sampling, seed):
            return [Completion([1], f"{prompt[0]}/{at}") for at, prompt in enumerate(prompts)]

    solver = Solver()
    texts = solve(solver, ["one", "two"], "compact", 3, Sampling(temperature=1.0, top_p=1.0, max_new_tokens=4), 0)
    assert texts == [["0/0", "0/1", "0/2"], ["1/3", "1/4", "1/5"]]
    assert solver.seen == ["one", "two"]


@pytest.mark.parametrize(("answers", "share"), [(4, 0.25), (2, 0.5)])
def test_the_share_counts_all_answers_asked_for(answers, share):
    assert vote([*box("5"), *[""] * (answers - 1)]).share == share
