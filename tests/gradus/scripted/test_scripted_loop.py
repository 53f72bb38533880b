"""The whole method with scripted roles: without slips what can be initialized is accepted at once, with slips the loop recovers."""

import pytest

from selfevolve import params
from selfevolve.environments import load
from selfevolve.gradus import graph, kernels, operators
from selfevolve.gradus.journal import Journal
from selfevolve.gradus.pool import Pool
from selfevolve.gradus.recovery import recover_all
from selfevolve.gradus.scripted.roles import ScriptedRoles
from selfevolve.gradus.scripted.settings import AgentSlips, GroundingSlips
from selfevolve.gradus.search import evolve
from selfevolve.gradus.settings import Arm

GRADUS = params.load("tiny").gradus
NEVER = {
    "grounding": GroundingSlips(base=0, per_depth=0, learning=0),
    "agent": AgentSlips(base=0, per_depth=0, per_interaction=0, learning=0),
    "misroute": 0.0,
}
OFTEN = {"grounding": GroundingSlips(base=0.5, per_depth=0.1, learning=0.3)}
COUNTS = {"desk": 30, "tau2/airline": 14, "tau2/retail": 12, "tau2/telecom": 12}


@pytest.fixture(scope="module")
def edges():
    found = {}
    return lambda domain: found.setdefault(domain, graph.edges(operators.load(domain), load(domain), executed=2, judged=3))


def run(domain: str, edges, count: int, **rates):
    library, pool = operators.load(domain), Pool(domain)
    roles = ScriptedRoles(library, lambda: load(domain), edges(domain), GRADUS.scripted.model_copy(update=rates))
    arm = Arm(blueprints=count)
    blueprints, _ = evolve(roles, library, kernels.load(), GRADUS.search, arm, 1, Journal(None))
    outcomes = recover_all(blueprints, roles, pool.lend, library, GRADUS.recovery, "full", 1, Journal(None))
    return blueprints, outcomes


@pytest.mark.parametrize("domain", COUNTS)
def test_without_slips_what_can_be_initialized_is_accepted_at_once(domain, edges):
    blueprints, outcomes = run(domain, edges, COUNTS[domain], **NEVER)
    assert len(blueprints) == COUNTS[domain]
    initialized = [outcome for outcome in outcomes if outcome.task is not None]
    assert len(initialized) >= 0.7 * len(blueprints)
    at_once = [outcome for outcome in initialized if outcome.accepted and sum(bool(each.attempts) for each in outcome.trace) == 1]
    assert len(at_once) >= 0.9 * len(initialized), [outcome.reason for outcome in initialized if not outcome.accepted]
    for blueprint, outcome in zip(blueprints, outcomes, strict=True):
        assert outcome.accepted or outcome.reason
        assert not outcome.accepted or blueprint.branches <= set(outcome.realised)


def test_slips_of_initialization_are_recovered_in_later_rounds(edges):
    _, faultless = run("desk", edges, 30, **NEVER)
    _, outcomes = run("desk", edges, 30, **(NEVER | OFTEN))
    assert run("desk", edges, 30, **(NEVER | OFTEN))[1] == outcomes
    recovered = [outcome for outcome in outcomes if outcome.accepted and outcome.round > 0]
    assert len(recovered) >= 3 and not any(outcome.round for outcome in faultless if outcome.accepted)
    for outcome in recovered:
        assert outcome.trace[0].route == "task" and outcome.trace[0].feedback
    accepted = sum(outcome.accepted for outcome in outcomes)
    assert accepted >= 0.8 * sum(outcome.accepted for outcome in faultless)
