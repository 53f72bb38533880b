"""Random calls for any environment: plausible ones from its state and schemas, and every kind of nonsense.

python tests/environments/fuzz.py tau2/airline 10000
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from selfevolve.environments import Environment, load
from selfevolve.environments.protocol import MAX_SNAPSHOT

PRIVATE = ["__class__", "__init__", "_get_user", "_run", "reset", "restore", "initialize", "db", "update_db", "break_vpn", ""]
LOOP: list = []
LOOP.append(LOOP)
DEEP: Any = 1
for _ in range(5_000):
    DEEP = [DEEP]
JUNK = [
    None, True, 0, -1, -500, 3.0, 2.5, 1e308, float("nan"), float("inf"), 10**400, "", "x", "#W0000000", "\ud800", "é漢\x00",
    "a" * 9_000, "b" * 1_000_000, [], [[]], {}, {"": ""}, {1: 2}, ["x"] * 3_000, LOOP, DEEP, b"bytes", object(), {"a", "b"}, (1, 2),
    {"__class__": "x"}, [{"first_name": 1}], [{"payment_id": "x", "amount": -5}], "'; DROP", "9**9**9", "1/0", "((((1))))",
]  # fmt: skip


def children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, BaseModel):
        yield from value.__dict__.items()
    elif isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, (list, tuple)):
        yield from (("", item) for item in value)


def collect(value: Any, found: dict[str, list[Any]], name: str = "") -> dict[str, list[Any]]:
    """field name -> values it has in the state; the keys of dictionaries are under "keys"."""
    if isinstance(value, (str, int, float, bool)):
        found.setdefault(name, []).append(value)
        return found
    for key, item in children(value):
        if isinstance(value, Mapping):
            found.setdefault("keys", []).append(str(key))
        collect(item, found, str(key) or name)
    return found


class Caller:
    """A source of random calls.

    Args:
        env: its tools and the entities of its state are the vocabulary.
        seed: of the calls.
        corpus: known calls (name, arguments, requestor), mixed in as they are and slightly changed.
    """

    def __init__(self, env: Environment, seed: int, corpus: list[tuple] = ()):
        self.random = random.Random(seed)
        self.tools = [("assistant", tool["function"]) for tool in env.tools]
        self.tools += [("user", tool["function"]) for tool in env.user_tools]
        self.entities = [entity for value in env.state.values() for _, entity in children(value)]
        self.all = collect(dict(env.state), {})
        self.corpus = list(corpus)

    def call(self) -> tuple[Any, Any, Any]:
        """(name, arguments, requestor)."""
        rng = self.random
        requestor, function = rng.choice(self.tools)
        if self.corpus and rng.random() < 0.3:
            name, arguments, requestor = rng.choice(self.corpus)
            function = next(f for _, f in self.tools if f["name"] == name)
            arguments = dict(arguments)
        else:
            name, arguments = function["name"], self.plausible(function["parameters"])
        if rng.random() < 0.7:
            return name, arguments, requestor
        fault = rng.randrange(7)
        keys = list(arguments)
        if fault == 0:
            name = rng.choice([*PRIVATE, name + "_", name.upper(), None, 3, ["x"]])
        elif fault == 1 and keys:
            del arguments[rng.choice(keys)]
        elif fault == 2:
            arguments[rng.choice(["extra", "self", "db", "", 5])] = rng.choice(JUNK)
        elif fault == 3:
            arguments = rng.choice(JUNK)
        elif fault == 4:
            requestor = rng.choice(["user", "assistant", "system", None, ["user"], ""])
        elif keys:
            arguments[rng.choice(keys)] = rng.choice(JUNK)
        return name, arguments, requestor

    def plausible(self, schema: dict) -> dict[str, Any]:
        local = collect(self.random.choice(self.entities), {}) if self.entities else {}
        return {name: self.value(name, property_, local) for name, property_ in schema["properties"].items()}

    def value(self, name: str, schema: dict, local: dict[str, list[Any]]) -> Any:
        rng = self.random
        schema = rng.choice(schema["anyOf"]) if "anyOf" in schema else schema
        kind = schema.get("type")
        if "enum" in schema:
            return rng.choice(schema["enum"])
        if kind == "object":
            chosen = {
                key: item for key, item in schema["properties"].items() if key in schema.get("required", ()) or rng.random() < 0.5
            }
            return {key: self.value(key, item, local) for key, item in chosen.items()}
        if kind == "array":
            return [self.value(name.removesuffix("s"), schema["items"], local) for _ in range(rng.choice([1, 1, 1, 2, 3, 0]))]
        if kind == "boolean":
            return rng.random() < 0.5
        if kind in ("integer", "number"):
            value = rng.choice([0, 1, 2, 3, 5, 50, 100, *map(int, rng.sample(self.numbers(), 3))])
            return max(schema.get("minimum", value), min(schema.get("maximum", value), value))
        if kind == "null":
            return None
        short = name.removeprefix("new_")
        names = (short, short.replace("_method", ""), short.replace("payment_id", "payment_method_id"), "id", "keys")
        for pool in (local, self.all) if rng.random() < 0.8 else (self.all, local):
            for key in names:
                if strings := [value for value in pool.get(key, ()) if isinstance(value, str)]:
                    return rng.choice(strings)
        return rng.choice(["x", "a b", "1 + 2"])

    def numbers(self) -> list[float]:
        found = [v for key in ("amount", "price", "balance", "total_due", "due") for v in self.all.get(key, ())[:200]]
        return [v for v in found if isinstance(v, (int, float))] + [1, 2, 3]


def fuzz(name: str, calls: int, seed: int, corpus: list[tuple] = (), starts: list[list] = ()) -> Counter:
    """Run random calls, then the same again; returns how many had each outcome.

    Asserted throughout: no exception escapes; errors are typed and texts; a failed call leaves the hash as it was;
    snapshots are small and restore exactly into a fresh environment, in which the episode goes on; the second run,
    without snapshots, sees the same observations and hashes.

    Args:
        starts: lists of init actions to reset to, besides none.
    """
    env = load(name)
    caller = Caller(env, seed, corpus)
    rng = random.Random(-seed)
    script, seen, outcomes = [], [], Counter()
    before = env.state_hash()
    for index in range(calls):
        if index and rng.random() < 0.01:
            script.append((None, rng.choice([[], *starts])))
            env.reset(script[-1][1])
            assert dict(env.initial) == dict(env.state)
            before = env.state_hash()
            seen.append(before)
        if rng.random() < 0.02:
            env = restored(name, env)
        script.append(caller.call())
        observation = env.call(*script[-1])
        after = env.state_hash()
        assert isinstance(observation.text, str) and observation.error in (
            None,
            "unknown_tool",
            "invalid_arguments",
            "tool_error",
        )
        assert observation.ok or after == before, f"{script[-1]!r} failed and changed the state"
        outcomes[observation.error] += 1
        outcomes["changed"] += after != before
        before = after
        seen.append((observation, after))
    env, again = load(name), []
    for step in script:
        if step[0] is None and len(step) == 2:
            env.reset(step[1])
            again.append(env.state_hash())
        else:
            again.append((env.call(*step), env.state_hash()))
    assert again == seen
    return outcomes


def restored(name: str, env: Environment) -> Environment:
    """A fresh environment with the state of `env`, brought over by a snapshot."""
    blob, fresh = env.snapshot(), load(name)
    assert len(blob) <= MAX_SNAPSHOT
    fresh.restore(blob)
    assert fresh.state_hash() == env.state_hash()
    assert fresh.snapshot() == blob
    assert dict(fresh.state) == dict(env.state) and dict(fresh.initial) == dict(env.initial)
    if hasattr(env, "official_hash"):
        assert fresh.official_hash() == env.official_hash()
    return fresh


def corpus_of(name: str) -> tuple[list[tuple], list[list]]:
    """(reference calls, lists of init actions) of a domain's tasks, if they are there."""
    if name == "desk":
        return [], []
    import official

    tasks = official.tasks(name)[:150] if name == "tau2/telecom" else official.older_tasks(name)
    return [call for task in tasks for call in official.reference(task)], [official.init_actions(task) for task in tasks]


if __name__ == "__main__":
    start = time.process_time()
    result = fuzz(sys.argv[1], int(sys.argv[2]), 1, *corpus_of(sys.argv[1]))
    print(sys.argv[1], dict(result), f"{time.process_time() - start:.1f} CPU s")
