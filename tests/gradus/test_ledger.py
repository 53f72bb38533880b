"""The coverage ledger counts what blueprints require, and says what is missing."""

import math

import pytest

from selfevolve.gradus import operators
from selfevolve.gradus.askable import askable
from selfevolve.gradus.blueprints import Blueprint, Step
from selfevolve.gradus.judgement import Branch, Unit
from selfevolve.gradus.ledger import Ledger


@pytest.fixture
def ledger():
    return Ledger(operators.load("desk"))


def blueprint(*steps: tuple[str, str, str, str]) -> Blueprint:
    made = [Step(action=a, entity="A", decision=d, units=(Unit(p, o),)) for a, d, p, o in steps]
    return Blueprint(domain="desk", parent=None, depth=1, kernels=(), interactions=(), goal="g", steps=tuple(made))


PERFORMED = {branch for branch, guard in askable(operators.load("desk")).items() if guard.verdict == "allow"}
CANCEL = ("cancel", "perform", "cancel.status", "open")
SWAP = ("swap", "refuse", "swap.status", "live")


def test_it_counts_branches_and_sets_of_performed_writes(ledger):
    ledger.add(blueprint(CANCEL, SWAP))
    ledger.add(blueprint(CANCEL, ("look", "perform", "look.booking", "first")))
    assert ledger.branches[Branch("cancel", "cancel.status", "open")] == 2
    assert ledger.branches[Branch("swap", "swap.status", "live")] == 1
    assert dict(ledger.action_sets) == {frozenset({"cancel"}): 2}  # what is refused or only read changes nothing


def test_the_value_is_concave(ledger):
    ledger.add(blueprint(CANCEL))
    first = ledger.value
    ledger.add(blueprint(CANCEL))
    assert first == pytest.approx(2 * math.log(2)) and 0 < ledger.value - first < first
    ledger.add(blueprint(SWAP))
    assert ledger.value == pytest.approx(2 * math.log(3) + 2 * math.log(2))  # a new branch, and the empty set of writes


def test_the_least_covered_come_first_and_ties_are_seeded(ledger):
    for _ in range(3):
        ledger.add(blueprint(CANCEL))
    order = ledger.least_covered(1000, seed=1)
    assert order[-1] == Branch("cancel", "cancel.status", "open") and len(order) == len(ledger.universe)
    assert order == ledger.least_covered(1000, seed=1) != ledger.least_covered(1000, seed=2)
    assert {branch.action for branch in ledger.least_covered(5, 1, ("swap",))} == {"swap"}


def test_of_equally_covered_branches_those_that_make_a_rarer_set_of_actions_come_first(ledger):
    for _ in range(2):
        ledger.add(blueprint(CANCEL, ("swap", "perform", "swap.plan", "gold")))
    beside = ledger.least_covered(1000, 1, ("swap", "extend"), beside=("cancel",))
    new = [branch for branch in beside if branch in PERFORMED and ledger.branches[branch] == 0]
    actions = [branch.action for branch in new]
    assert actions == sorted(actions)  # cancel and extend are new together, cancel and swap are not


def test_the_universe_is_what_can_be_asked_for(ledger):
    assert ledger.universe == tuple(askable(operators.load("desk")))
