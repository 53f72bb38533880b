"""The schedule of the search, with a role that writes down what it is asked."""

import threading
from collections import Counter

import pytest

from selfevolve.gradus import kernels, operators
from selfevolve.gradus.blueprints import Blueprint, Step
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.journal import Journal
from selfevolve.gradus.judgement import Unit
from selfevolve.gradus.roles import Declined
from selfevolve.gradus.search import evolve
from selfevolve.gradus.settings import Arm, Search

LIBRARY = operators.load("desk")
SETTINGS = Search(per_operator=2, children=3, depths=(0.5, 0.3, 0.2), wave=4, gaps=3, interaction=0.5)


def step(action: str, number: int) -> Step:
    guards = [guard for guard in LIBRARY.operators[action].guards if guard.expression]
    guard = guards[number % len(guards)]
    return Step(action=action, entity=f"E{number}", decision="perform", units=(Unit(*guard.unit),))


class Scribe:
    """Writes blueprints that differ by seed, and notes every request."""

    def __init__(self, spoil=None):
        self.asked: list[tuple] = []
        self._spoil = spoil or (lambda parent, child: child)

    def _made(self, steps, goal, parent=None, kernels=(), interactions=()) -> Blueprint:
        depth = parent.depth + 1 if parent else 1
        return Blueprint(
            domain="desk", parent=parent and parent.id, depth=depth, kernels=kernels, interactions=interactions, goal=goal, steps=tuple(steps)
        )  # fmt: skip

    def write(self, actions, least_covered, count, seed):
        self.asked.append(("write", tuple(actions), tuple(least_covered)))
        action = actions[0] if actions else "cancel"
        return [self._made([step(action, seed % 97 + k)], f"{action} {seed} {k}") for k in range(count)]

    def evolve(self, parent, kernel, least_covered, seed):
        self.asked.append(("evolve", kernel.name, tuple(least_covered)))
        if seed % 5 == 0:
            return Declined(reason="not today")
        if seed % 7 == 0:
            raise RoleFailed("nothing usable")
        new = step("swap", seed % 97)
        child = self._made([*parent.steps, new], f"{parent.goal} and {seed}", parent, (*parent.kernels, kernel.name))
        return self._spoil(parent, child)

    def vary(self, blueprint, kernel, seed):
        self.asked.append(("vary", kernel.name, ()))
        return blueprint.model_copy(update={"parent": blueprint.id, "interactions": (kernel.name,), "goal": f"{blueprint.goal}!"})


def run(roles, workers=1, journal=None, **arm):
    return evolve(
        roles,
        LIBRARY,
        kernels.load(),
        SETTINGS,
        Arm(**{"blueprints": 60, **arm}),
        0,
        Journal(None) if journal is None else journal,
        workers,
    )


def test_every_depth_has_its_quota_and_children_descend_from_the_level_above():
    found, _ = run(Scribe(), interaction=False)
    assert Counter(each.depth for each in found) == {1: 30, 2: 18, 3: 12}
    by_id = {each.id: each for each in found}
    for each in found:
        if each.depth > 1:
            parent = by_id[each.parent]
            assert parent.depth == each.depth - 1 and each.steps[: len(parent.steps)] == parent.steps
            assert each.kernels[:-1] == parent.kernels
    children = Counter(each.parent for each in found if each.parent)
    assert max(children.values()) <= SETTINGS.children


def test_atomic_requests_go_round_the_operators_and_show_their_own_gaps():
    roles = Scribe()
    run(roles, interaction=False)
    writes = [each for each in roles.asked if each[0] == "write"]
    actions = [each[1][0] for each in writes]
    assert set(actions[:8]) == set(LIBRARY.operators) - LIBRARY.conduct.actions and len(set(actions[:8])) == len(set(actions))
    assert all(len(gaps) <= SETTINGS.gaps and {gap.action for gap in gaps} == {action} for _, (action,), gaps in writes)
    kinds = Counter(name for kind, name, _ in roles.asked if kind == "evolve")
    assert set(kinds) == {"causal", "parallel", "repetition"}


def test_without_a_ledger_no_gaps_are_shown_and_without_structure_nothing_evolves():
    roles = Scribe()
    run(roles, ledger=False)
    assert all(gaps == () for _, _, gaps in roles.asked)
    roles = Scribe()
    found, _ = run(roles, structural=False)
    assert len(found) == 60 and {kind for kind, _, _ in roles.asked} == {"write", "vary"}
    assert {each[1] for each in roles.asked if each[0] == "write"} == {()}


def test_variation_keeps_the_steps_and_touches_about_its_share():
    plain, _ = run(Scribe(), interaction=False)
    found, _ = run(Scribe())
    assert [each.steps for each in found] == [each.steps for each in plain]
    share = sum(bool(each.interactions) for each in found) / len(found)
    assert 0.3 < share < 0.7


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda parent, child: child.model_copy(update={"steps": child.steps[1:]}), "lost: a child adds a step"),
        (lambda parent, child: child.model_copy(update={"steps": child.steps[::-1]}), "lost: step 0 of its parent"),
        (lambda parent, child: child.model_copy(update={"depth": 1}), "lost: its lineage"),
        (lambda parent, child: child.model_copy(update={"kernels": ()}), "lost: its lineage"),
        (lambda parent, child: parent.model_copy(update={"parent": parent.id}), "lost: its lineage"),
    ],
)
def test_a_child_that_loses_its_parents_requirements_is_refused_with_the_reason(spoil, said):
    found, refused = run(Scribe(spoil), interaction=False)
    assert {each.depth for each in found} == {1}
    assert any(each.reason.startswith(said) and each.parent and each.kernel for each in refused)


def test_a_variation_that_changes_the_steps_is_refused_and_the_plain_one_kept():
    class Careless(Scribe):
        def vary(self, blueprint, kernel, seed):
            return blueprint.model_copy(update={"steps": (*blueprint.steps, step("up", 0))})

    found, refused = run(Careless())
    assert not any(each.interactions for each in found)
    assert any(each.reason.startswith("lost: a variation must keep") for each in refused)


def test_every_refusal_is_recorded():
    roles = Scribe()
    found, refused = run(roles, interaction=False)
    reasons = Counter(each.reason.split(":")[0] for each in refused)
    asked = sum(kind == "evolve" for kind, _, _ in roles.asked)
    taken = sum(each.depth > 1 for each in found)
    cut = asked - taken - reasons["declined"] - reasons["failed"] - reasons["duplicate"]
    assert reasons["declined"] and reasons["failed"] and 0 <= cut < 2 * SETTINGS.wave  # those a full quota left over


def test_the_same_proposal_twice_is_taken_once():
    class Repeating(Scribe):
        def write(self, actions, least_covered, count, seed):
            return super().write(actions, least_covered, 1, 3)

    found, refused = run(Repeating(), interaction=False)
    assert sum(each.depth == 1 for each in found) == len(set(LIBRARY.operators) - LIBRARY.conduct.actions)
    assert any(each.reason.startswith("duplicate") for each in refused)


def test_threads_do_not_change_the_result_and_a_resumed_search_asks_nothing_twice(tmp_path):
    alone = run(Scribe())
    with Journal(tmp_path / "journal.jsonl") as journal:
        assert run(Scribe(), workers=8, journal=journal) == alone
    lines = (tmp_path / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]) + lines[-1][:10])
    again = Scribe()
    with Journal(tmp_path / "journal.jsonl") as journal:
        assert run(again, journal=journal) == alone
    assert 0 < len(again.asked) < len(lines)


def test_operators_share_the_first_quota_and_nothing_is_asked_for_that_is_not_missing():
    roles = Scribe()
    found, refused = run(roles, interaction=False, blueprints=12)
    writes = [each[1] for each in roles.asked if each[0] == "write"]
    assert len(set(writes)) == len(writes) == SETTINGS.quotas(12)[0] == 7  # one of each, though two were to be had
    assert sum(kind == "evolve" for kind, _, _ in roles.asked) - len(refused) == sum(each.depth > 1 for each in found)


def test_a_variation_takes_the_place_of_what_it_varies_in_the_lineage():
    found, refused = run(Scribe())
    ids = {each.id: each for each in found}
    children = [each for each in found if each.depth > 1]
    assert all(ids[each.parent].depth == each.depth - 1 for each in children)
    assert all(each.parent is None for each in found if each.depth == 1)
    assert any(ids[each.parent].interactions for each in children)
    assert all(each.parent in ids for each in refused if each.parent)


def test_scenarios_in_one_shot_are_asked_for_a_wave_at_a_time():
    together = threading.Barrier(SETTINGS.wave, timeout=10)

    class Waiting(Scribe):
        def write(self, actions, least_covered, count, seed):
            together.wait()  # breaks unless a whole wave is under way
            return super().write(actions, least_covered, count, seed)

    found, _ = run(Waiting(), workers=SETTINGS.wave, structural=False, interaction=False, blueprints=16)
    assert len(found) == 16
