"""The controlled baselines: what they propose, that they repeat themselves, and that they resume."""

import random
from collections import Counter

import pytest

from selfevolve.environments import load
from selfevolve.gradus import baselines, operators
from selfevolve.gradus.baselines import LONGEST, propose
from selfevolve.gradus.blueprints import Blueprint, Call, Step
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.journal import Journal
from selfevolve.gradus.judgement import Unit
from selfevolve.gradus.replay import replay
from selfevolve.gradus.settings import Arm, Search
from selfevolve.gradus.tasks import Task

SETTINGS = Search(per_operator=2, children=3, depths=(1,), wave=4, gaps=3, interaction=0.5)


@pytest.fixture(scope="module")
def library():
    return operators.load("desk")


class Scribe:
    """Writes one of three blueprints for a list of actions, and tells tasks."""

    def __init__(self, fails=lambda number: False):
        self.asked, self.told, self._fails = [], [], fails

    def write(self, actions, least_covered, count, seed):
        self.asked.append((tuple(actions), tuple(least_covered), count))
        return [self._plan(actions or ("cancel",), (seed + number) % 3) for number in range(count)]

    def _plan(self, actions, number):
        steps = [Step(action=action, entity="A", decision="perform", units=(Unit(action, "any"),)) for action in actions]
        return Blueprint(
            domain="desk", parent=None, depth=len(steps), kernels=(), interactions=(), goal=f"goal {number}", steps=tuple(steps)
        )

    def tell(self, blueprint, told, calls, env, seed):
        self.told.append((blueprint, tuple(calls)))
        if self._fails(len(self.told)):
            raise RoleFailed("tell: no words")
        return Task(blueprint=blueprint.id, round=0, scenario="a user", facts=told, reference=tuple(calls))


def run(method, library, roles, journal=None, blueprints=20, seed=0):
    off = dict.fromkeys(("operators", "ledger", "structural", "interaction"), False)
    arm = Arm(method=method, validity="reject", blueprints=blueprints, **off)
    return propose(arm, roles, library, load("desk"), SETTINGS, seed, Journal(None) if journal is None else journal)


def test_the_models_prior_is_asked_for_anything_and_repeats_itself_under_numbers_of_their_own(library):
    roles = Scribe()
    found, refused, tasks = run("model_prior", library, roles)
    assert len(found) == 20 and not refused and not tasks
    assert set(roles.asked) == {((), (), 2)} and len(roles.asked) == 10
    assert len({each.steps + (each.goal,) for each in found}) == 3 and len({each.id for each in found}) == 20
    assert Counter(each.serial for each in found)[0] == 3


def test_the_tool_graph_gives_paths_each_of_which_yields_several(library):
    roles = Scribe()
    found, _, _ = run("graph_based", library, roles, blueprints=60)
    paths = [actions for actions, gaps, _ in roles.asked if gaps == ()]
    assert len(found) == 60 and {1, LONGEST} <= {len(path) for path in paths} and max(map(len, paths)) == LONGEST
    asked_for = {action for path in paths for action in path}
    assert asked_for == {action for action, each in library.operators.items() if each.kind == "write"} - library.conduct.actions
    assert all(a != b for path in paths for a, b in zip(path, path[1:], strict=False))


def test_tools_are_connected_by_a_field_of_a_record_that_one_names():
    airline, roles = operators.load("tau2/airline"), Scribe()
    off = dict.fromkeys(("operators", "ledger", "structural", "interaction"), False)
    arm = Arm(method="graph_based", validity="reject", blueprints=400, **off)
    propose(arm, roles, airline, load("tau2/airline"), SETTINGS, 0, Journal(None))
    pairs = {pair for path, _, _ in roles.asked for pair in zip(path, path[1:], strict=False)}
    assert ("update_reservation_flights", "cancel_reservation") in pairs  # both take a reservation_id
    assert ("cancel_reservation", "send_certificate") in pairs  # a reservation has a user_id


def test_trajectories_execute_break_no_policy_and_are_the_reference(library):
    found, refused, tasks = run("trajectory_first", library, Scribe())
    env = load("desk")
    assert len(found) == len(tasks) == 20 and not refused
    for blueprint in found:
        task = tasks[blueprint.id]
        env.reset(task.init_actions)
        looks = [Call(name="look", arguments={"id": call.arguments["id"]}) for call in task.reference]
        replayed = replay(env, library, task, (*looks, *task.reference))
        assert not replayed.errors and not replayed.violations
        assert blueprint.actions == tuple(call.name for call in task.reference) and blueprint.branches <= frozenset().union(
            *replayed.executed
        )
        assert all(step.decision == "perform" for step in blueprint.steps)


def test_the_tracker_discourages_sequences_that_have_been_seen(library):
    env, seen = load("desk"), Counter({("cancel",): 10_000, ("up",): 10_000})
    first = Counter(baselines._walk(library, env, seen, random.Random(number))[0][0].name for number in range(30))
    assert not {"cancel", "up"} & set(first) and len(first) >= 3


def test_what_cannot_be_told_is_refused_with_the_reason_and_made_up_for(library):
    roles = Scribe(fails=lambda number: number % 3 == 0)
    found, refused, tasks = run("trajectory_first", library, roles)
    assert len(found) == len(tasks) == 20
    assert refused and all(each.reason == "failed: tell: no words" for each in refused)


@pytest.mark.parametrize("method", ["model_prior", "graph_based", "trajectory_first"])
def test_a_resumed_run_asks_nothing_twice(method, library, tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        alone = run(method, library, Scribe(), journal)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))
    again = Scribe()
    with Journal(path) as journal:
        assert run(method, library, again, journal) == alone
    assert len(again.asked) + len(again.told) == len(lines) - len(lines) // 2
    assert run(method, library, Scribe(), seed=1) != alone
