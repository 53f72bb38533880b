"""Replay of the official reference actions, against the library's own code and tau2-bench's recorded hashes."""

import json

import official
import pytest

from selfevolve.environments import load
from selfevolve.environments.protocol import MAX_SNAPSHOT

DOMAINS = ["tau2/airline", "tau2/retail", "tau2/telecom"]


def replay(env, task: dict) -> list:
    env.reset(official.init_actions(task))
    return [env.call(*call) for call in official.reference(task)]


def sample(name: str) -> list[dict]:
    return official.tasks(name)[:: {"tau2/airline": 5, "tau2/retail": 6, "tau2/telecom": 15}[name]]


@pytest.mark.parametrize("name", DOMAINS)
def test_hashes_and_outcomes_equal_the_official_ones(name):
    env = load(name)
    for task in sample(name):
        slow = official.Official(name, official.init_actions(task))
        env.reset(official.init_actions(task))
        if official.init_actions(task):
            assert env.official_hash() == slow.hash(), f"task {task['id']} after init"
        for call in official.reference(task):
            assert env.call(*call).ok == slow.call(*call), f"task {task['id']}: {call}"
        assert env.official_hash() == slow.hash(), f"task {task['id']}"


@pytest.mark.parametrize("name", DOMAINS)
def test_hashes_of_all_tasks_equal_the_recorded_ones(name):
    """Recorded by `official.py`, which runs the library's own code on every task."""
    env, hashes = load(name), []
    for task in official.tasks(name):
        replay(env, task)
        hashes.append(env.official_hash())
    assert official.digest(hashes) == json.loads(official.RECORDED.read_text())[name]
    assert len(hashes) == {"tau2/airline": 50, "tau2/retail": 114, "tau2/telecom": 2285}[name]


def test_airline_hashes_recorded_by_tau2_bench():
    tasks = official.tasks("tau2/airline")
    recorded = json.loads((official.SHARED / "airline" / "state_hashes.json").read_text(encoding="utf-8"))
    env = load("tau2/airline")
    for task in tasks:
        replay(env, task)
        assert env.official_hash() == recorded[task["id"]], task["id"]
    assert len(tasks) == 50


@pytest.mark.parametrize("name", ["tau2/airline", "tau2/retail"])
def test_older_tasks_replay_too(name):
    env = load(name)
    for task in official.older_tasks(name)[::10]:
        slow = official.Official(name)
        env.reset()
        for call in official.reference(task):
            assert env.call(*call).ok == slow.call(*call)
        assert env.official_hash() == slow.hash()


@pytest.mark.parametrize("name", DOMAINS)
def test_all_reference_calls_are_listed_and_valid(name):
    env, failed = load(name), 0
    for task in official.tasks(name):
        observations = replay(env, task)
        assert {observation.error for observation in observations} <= {None, "tool_error"}
        failed += any(not observation.ok for observation in observations)
    assert failed == {"tau2/airline": 0, "tau2/retail": 15, "tau2/telecom": 0}[name]  # deliberate failed look-ups


@pytest.mark.parametrize("name", DOMAINS)
def test_snapshots_are_small_and_exact(name):
    env, other = load(name), load(name)
    for task in sample(name)[::3]:
        replay(env, task)
        blob = env.snapshot()
        assert len(blob) <= 4_000 < MAX_SNAPSHOT
        other.restore(blob)
        assert (other.state_hash(), other.official_hash()) == (env.state_hash(), env.official_hash())
        assert other.snapshot() == blob
        assert other.initial == env.initial or dict(other.initial) == dict(env.initial)
