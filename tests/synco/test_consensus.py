"""The consensus check: independent solutions against the reference."""

import json

import pytest

from selfevolve import params
from selfevolve.cards import FIELDS
from selfevolve.models.generation import Completion
from selfevolve.synco.consensus import REASON, Consensus
from selfevolve.synco.settings import ConsensusParams
from selfevolve.synco.verifier import Verifier

SETTINGS = params.load("tiny")


def card(start: int) -> str:
    values = dict.fromkeys(FIELDS, "some text") | {"problem": f"A box has {start} nuts. Add 5. How many?"}
    return json.dumps(values | {"solution": f"{start}+5={start + 5}", "final_answer": str(start + 5)})


class Solver:
    """Answers the problem with start value n right in n of its four solutions."""

    def encode(self, chats):
        return [[int(chat[-1]["content"].split()[3])] for chat in chats]

    def generate(self, prompts, sampling, seed):
        self.calls = len(prompts)
        right = [at % 4 < prompt[0] for at, prompt in enumerate(prompts)]
        return [Completion([1], f"\\boxed{{{p[0] + 5 if ok else 99}}}") for p, ok in zip(prompts, right, strict=True)]


@pytest.mark.parametrize(("threshold", "kept"), [(0.25, [1, 2, 3]), (0.5, [2, 3]), (1.0, [])])
def test_a_card_needs_enough_agreement(threshold, kept):
    verifier = Verifier(SETTINGS.verifier, [])
    reports = [verifier.verify(text) for text in (card(1), "no card", card(2), card(3))]
    solver = Solver()
    sampling = SETTINGS.cotraining.reasoner_sampling
    check = Consensus(solver, "compact", sampling, ConsensusParams(solutions=4, min_agreement=threshold))
    judged = check.confirm(reports, seed=0)
    assert solver.calls == 12  # what the rules rejected is not solved
    assert [report.agreement for report in judged] == [0.25, None, 0.5, 0.75]
    assert judged[1] == reports[1]
    passed = [report.admitted for report in judged if report.card]
    assert passed == [number in kept for number in (1, 2, 3)]
    assert all(report.reason == ("" if report.admitted else REASON) for report in judged if report.card)
