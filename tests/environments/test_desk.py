import json
import random
import subprocess
import sys

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfevolve.environments import Environment, load
from selfevolve.environments.arguments import Arguments
from selfevolve.environments.desk import Desk
from selfevolve.environments.desk_page import IDS, PLANS, REASONS, STATUSES, TIERS, TOOLS
from selfevolve.environments.protocol import MAX_SNAPSHOT

NAMES = ("look", "free", "pay", "up", "cancel", "extend", "swap", "refuse", "done")


def member(tier: str) -> dict:
    return {"env_type": "assistant", "func_name": "set_member", "arguments": {"tier": tier}}


def booking(id: str, plan: str, status: str, due: int, age: int) -> dict:
    arguments = {"id": id, "plan": plan, "status": status, "due": due, "age": age}
    return {"env_type": "assistant", "func_name": "set_booking", "arguments": arguments}


def desk(*init_actions: dict) -> Desk:
    env = load("desk")
    env.reset(init_actions)
    return env


def run(env: Desk, *calls: str) -> list[str]:
    """Texts of calls written as on the wire: "pay b10 3"."""
    return [env.call(*split(env, call)).text for call in calls]


def split(env: Desk, call: str) -> tuple[str, dict]:
    name, *values = call.split()
    schema = next(tool["function"]["parameters"] for tool in env.tools if tool["function"]["name"] == name)
    return name, dict(zip(schema["properties"], (int(v) if v.isdigit() else v for v in values), strict=True))


INIT = st.builds(
    lambda tier, rows: [member(tier), *(booking(*row) for row in rows)],
    st.sampled_from(TIERS),
    st.lists(
        st.tuples(
            st.sampled_from(IDS[:4]), st.sampled_from(PLANS), st.sampled_from(STATUSES), st.integers(0, 8), st.integers(0, 9)
        ),
        max_size=5,
    ),
)
ID = st.sampled_from([*IDS[:4], "b40", ""])
GOOD = {"id": ID, "amount": st.integers(1, 9), "days": st.integers(1, 9), "reason": st.sampled_from(REASONS)}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 11) | st.floats() | st.text(max_size=4) | st.sampled_from([*IDS[:3], *REASONS]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*GOOD, "x"]), inner, max_size=3),
    max_leaves=5,
)


def arguments_of(name: str):
    properties = next(tool for tool in TOOLS if tool["function"]["name"] == name)["function"]["parameters"]["properties"]
    return st.fixed_dictionaries({key: GOOD[key] for key in properties})


VALID = st.sampled_from(NAMES).flatmap(lambda name: st.tuples(st.just(name), arguments_of(name)))
CALL = VALID | st.tuples(st.sampled_from(NAMES), JSON) | st.tuples(JSON, JSON)
CALLS = st.lists(CALL, max_size=25)


def full(env: Desk) -> str:
    return json.dumps([dict(env.state), dict(env.initial)])


def test_it_is_an_environment_with_nine_tools():
    env = desk()
    assert isinstance(env, Environment)
    assert (env.name, env.now, env.user_tools) == ("desk", None, [])
    assert tuple(tool["function"]["name"] for tool in env.tools) == NAMES
    for tool in env.tools:
        assert tool["function"]["parameters"]["additionalProperties"] is False
        Arguments(tool["function"]["parameters"])


def test_the_base_database_is_fixed():
    env = desk()
    assert tuple(env.state["bookings"]) == IDS == tuple(f"b{n}" for n in range(10, 40))
    assert env.state["member"] == {"tier": "reg"}
    rows = list(env.state["bookings"].values())
    assert {(row["plan"], row["status"]) for row in rows} == {(plan, status) for plan in PLANS for status in STATUSES}
    assert {row["age"] for row in rows} == set(range(10))
    assert env.state_hash() == "6a39c580f000dc6fce2bb41c648e8a22"


def test_the_policy_has_sentences_p0_to_p8():
    lines = [line[:2] for line in Desk().policy.splitlines() if line.startswith("P")]
    assert lines == [f"P{n}" for n in range(9)]


def test_one_action_enables_another_up_to_cancel():
    env = desk(member("reg"), booking("b12", "basic", "held", 3, 4))
    calls = ("look b12", "free b12", "pay b12 3", "up b12", "pay b12 2", "cancel b12", "look b12", "done")
    assert run(env, *calls) == ["basic held due 3 age 4", "ok", "ok", "plus due 2", "ok", "gone", "plus gone due 0 age 4", "ok"]
    assert env.state["bookings"]["b12"] == {
        "plan": "plus", "status": "gone", "due": 0, "age": 4, "paid": 5, "extended": 0, "swapped": 0
    }  # fmt: skip
    assert env.initial["bookings"]["b12"]["status"] == "held"
    assert (env.state["looked"], env.state["turns"], env.initial["turns"]) == (["b12"], 1, 0)


def test_extensions_swaps_and_refusals_are_recorded():
    env = desk(booking("b10", "gold", "open", 0, 0))
    assert run(env, "extend b10 4", "extend b10 5", "swap b10", "swap b10") == ["ok"] * 4
    assert run(env, "refuse b10 none", "refuse b10 none", "refuse b10 gone") == ["ok"] * 3
    assert (env.state["bookings"]["b10"]["extended"], env.state["bookings"]["b10"]["swapped"]) == (9, 2)
    assert env.state["refusals"] == [["b10", "gone"], ["b10", "none"], ["b10", "none"]]


def test_breaches_execute():
    env = desk(member("new"), booking("b10", "plus", "held", 5, 9))
    assert run(env, "pay b10 1", "up b10", "swap b10", "extend b10 9", "free b10", "cancel b10") == [
        "ok", "gold due 3", "ok", "ok", "ok", "gone"
    ]  # fmt: skip


def test_what_is_due_stays_payable_with_one_digit():
    env = desk(booking("b10", "basic", "open", 8, 9))
    assert run(env, "up b10", "up b10") == ["plus due 8", "gold due 8"]
    assert run(env, "pay b10 9") == ["ok"]


@pytest.mark.parametrize(
    "call",
    ["look b40", "free b40", "pay b40 1", "up b40", "cancel b40", "extend b40 1", "swap b40", "refuse b40 gone"]
    + ["free b11", "pay b11 1", "up b11", "cancel b11", "extend b11 1", "swap b11"]  # gone
    + ["free b12", "pay b12 1", "up b12", "free b13"],
)
def test_the_impossible_answers_no(call):
    env = desk(booking("b11", "plus", "gone", 1, 0), booking("b12", "gold", "open", 0, 0), booking("b13", "gold", "live", 0, 0))
    before = full(env)
    observation = env.call(*split(env, call))
    assert (observation.text, observation.error) == ("no", "tool_error")
    assert full(env) == before


@pytest.mark.parametrize(
    ("name", "arguments", "requestor", "error"),
    [
        ("read", {"id": "b10"}, "assistant", "unknown_tool"),
        ("_look", {"id": "b10"}, "assistant", "unknown_tool"),
        ("set_member", {"tier": "vip"}, "assistant", "unknown_tool"),
        (["look"], {"id": "b10"}, "assistant", "unknown_tool"),
        ("look", {"id": "b10"}, "user", "unknown_tool"),
        ("look", None, "assistant", "invalid_arguments"),
        ("look", {}, "assistant", "invalid_arguments"),
        ("look", {"id": 10}, "assistant", "invalid_arguments"),
        ("look", {"id": "b10", "more": 1}, "assistant", "invalid_arguments"),
        ("pay", {"id": "b10", "amount": 0}, "assistant", "invalid_arguments"),
        ("pay", {"id": "b10", "amount": 10}, "assistant", "invalid_arguments"),
        ("pay", {"id": "b10", "amount": True}, "assistant", "invalid_arguments"),
        ("pay", {"id": "b10", "amount": "3"}, "assistant", "invalid_arguments"),
        ("refuse", {"id": "b10", "reason": "dear"}, "assistant", "invalid_arguments"),
        ("done", {"id": "b10"}, "assistant", "invalid_arguments"),
    ],
)
def test_errors_are_typed(name, arguments, requestor, error):
    env = desk()
    observation = env.call(name, arguments, requestor)
    assert (observation.text, observation.error, observation.ok) == ("no", error, False)


@settings(deadline=None)
@given(st.sampled_from(NAMES), JSON | st.dictionaries(st.sampled_from([*GOOD, "x"]), JSON, max_size=3))
def test_arguments_are_judged_as_their_schema_does(name, arguments):
    schema = next(tool["function"]["parameters"] for tool in TOOLS if tool["function"]["name"] == name)
    observation = desk().call(name, arguments)
    assert (observation.error == "invalid_arguments") == (Arguments(schema).fault(arguments) is not None)


def test_the_user_may_speak_again_after_done():
    env = desk(booking("b10", "plus", "open", 0, 0))
    assert run(env, "done", "look b10", "cancel b10", "done") == ["ok", "plus open due 0 age 0", "gone", "ok"]
    assert env.state["turns"] == 2


def test_the_hash_covers_what_was_done_not_what_was_read_nor_its_order():
    one, two = desk(), desk()
    run(one, "look b10", "look b11", "refuse b12 top", "extend b10 1", "refuse b11 gone", "done")
    run(two, "refuse b11 gone", "extend b10 1", "refuse b12 top", "done")
    assert one.state_hash() == two.state_hash()
    assert (
        len({one.state_hash(), *(desk_after(two, call) for call in ("refuse b11 gone", "done", "extend b10 1", "up b10"))}) == 5
    )


def desk_after(env: Desk, call: str) -> str:
    before = env.snapshot()
    run(env, call)
    after = env.state_hash()
    env.restore(before)
    return after


def test_a_booking_set_to_its_base_values_hashes_as_the_base():
    row = desk().state["bookings"]["b17"]
    same = booking("b17", row["plan"], row["status"], row["due"], row["age"])
    assert desk(same).state_hash() == desk().state_hash() != desk(member("vip")).state_hash()


def test_hashes_agree_across_processes():
    code = (
        "from selfevolve.environments import load; env = load('desk'); env.call('up', {'id': 'b10'});"
        "env.call('refuse', {'id': 'b11', 'reason': 'held'}); print(env.state_hash())"
    )
    env = desk()
    run(env, "up b10", "refuse b11 held")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == env.state_hash()


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (member("gold"), "init action 1, set_member: tier must be one of new, reg, vip, not 'gold'"),
        (booking("b9", "plus", "open", 0, 0), "init action 1, set_booking: id must be one of b10 to b39, not 'b9'"),
        (booking("b10", "best", "open", 0, 0), "plan must be one of"),
        (booking("b10", "plus", "shut", 0, 0), "status must be one of"),
        (booking("b10", "plus", "open", 9, 0), "due must be a whole number from 0 to 8, not 9"),
        (booking("b10", "plus", "open", 0, True), "age must be a whole number from 0 to 9, not True"),
        (booking(["b10"], "plus", "open", 0, 0), "init action 1, set_booking"),
        (member("vip") | {"env_type": "user"}, "env_type must be 'assistant'"),
        (member("vip") | {"func_name": "look"}, "init action 1, look: no such init function"),
        (member("vip") | {"arguments": {}}, "init action 1, set_member: .*tier"),
        (member("vip") | {"arguments": {"tier": "vip", "x": 1}}, "init action 1, set_member: .*x"),
        ({"func_name": "set_member"}, "init action 1, set_member: 'env_type' is missing"),
        (3, "init action 1, None"),
    ],
)
def test_a_bad_init_action_leaves_the_desk_as_it_was(action, message):
    env = desk(member("vip"))
    run(env, "look b10", "up b10")
    before = full(env)
    with pytest.raises(ValueError, match=message):
        env.reset([booking("b10", "gold", "open", 0, 0), action])
    assert full(env) == before


@settings(deadline=None)
@given(INIT, CALLS)
def test_no_call_raises_and_a_failed_one_changes_nothing(init, calls):
    env = desk(*init)
    first = json.dumps(dict(env.initial))
    for name, arguments in calls:
        before, digest = full(env), env.state_hash()
        observation = env.call(name, arguments)
        assert observation.ok == (observation.text != "no")
        if not observation.ok:
            assert (full(env), env.state_hash()) == (before, digest)
        elif name != "look":
            assert env.state_hash() != digest
    jsonschema.validate(dict(env.state), env.state_schema)
    jsonschema.validate(dict(env.initial), env.state_schema)
    assert json.dumps(dict(env.initial)) == first


@settings(deadline=None)
@given(INIT, CALLS)
def test_invariants(init, calls):
    env = desk(*init)
    for name, arguments in calls:
        before = {id: dict(row) for id, row in env.state["bookings"].items()}
        ok = env.call(name, arguments).ok
        after = env.state["bookings"]
        changed = [id for id in IDS if after[id] != before[id]]
        assert len(changed) <= 1
        for id in changed:
            old, new = before[id], after[id]
            assert ok and id == arguments["id"] and old["status"] != "gone"
            assert new["age"] == old["age"] and PLANS.index(new["plan"]) - PLANS.index(old["plan"]) in (0, 1)
            assert all(new[key] >= old[key] for key in ("paid", "extended", "swapped"))
            assert 0 <= new["due"] <= 8
        assert env.state["refusals"] == sorted(env.state["refusals"])
        assert len(env.state["looked"]) == len(set(env.state["looked"]))
    assert env.state["member"]["tier"] == init[0]["arguments"]["tier"]


@settings(deadline=None)
@given(INIT, CALLS)
def test_replays_agree_whatever_the_desk_did_before(init, calls):
    one, two = desk(*init), desk(member("new"), booking("b10", "gold", "held", 8, 9))
    texts = [one.call(*call) for call in calls]
    run(two, "free b10", "refuse b11 tier", "done", "look b11")
    two.reset(init)
    assert [two.call(*call) for call in calls] == texts
    assert (full(two), two.state_hash(), two.snapshot()) == (full(one), one.state_hash(), one.snapshot())


@settings(deadline=None)
@given(INIT, CALLS, CALLS)
def test_a_snapshot_brings_everything_back(init, calls, later):
    env, other = desk(*init), desk()
    for call in calls:
        env.call(*call)
    blob, before, digest = env.snapshot(), full(env), env.state_hash()
    assert len(blob) <= 2_000
    for call in later:
        env.call(*call)
    for one in (env, other):
        one.restore(blob)
        assert (full(one), one.state_hash(), one.snapshot()) == (before, digest, blob)
    texts = [env.call(*call) for call in later]
    assert [other.call(*call) for call in later] == texts


def test_snapshots_stay_small_in_long_episodes():
    env, draw = desk(*(booking(id, "basic", "held", 7, 9) for id in IDS)), random.Random(0)
    for _ in range(20_000):
        name = draw.choice(["look", "free", "pay", "up", "extend", "swap", "refuse", "done"])
        values = {"id": draw.choice(IDS), "amount": 9, "days": 9, "reason": draw.choice(REASONS)}
        schema = next(tool["function"]["parameters"] for tool in env.tools if tool["function"]["name"] == name)
        env.call(name, {key: values[key] for key in schema["properties"]})
    assert len(env.snapshot()) <= 6_000 <= MAX_SNAPSHOT
    other = desk()
    other.restore(env.snapshot())
    assert full(other) == full(env)


@pytest.mark.parametrize(
    "blob",
    [b"", b"{", b"[]", b"null", b"{}", b'{"desk":{},"initial":{}}', b"\xff", b"[" * 100_000]
    + [
        json.dumps({"desk": {"member": {"tier": "reg"}, "bookings": {}, "looked": [], "refusals": [], "turns": 0} | change,
                    "initial": {"member": {"tier": "reg"}, "bookings": {}}}).encode()
        for change in (
            {"turns": -1}, {"looked": ["b9"]}, {"refusals": [["b10 dear", 1]]}, {"refusals": [["b10", 1]]},
            {"member": {"tier": "gold"}}, {"bookings": {"b9": ["plus", "open", 0, 0, 0, 0, 0]}},
            {"bookings": {"b10": ["plus", "open", 0, 0, 0, -1, 0]}}, {"bookings": {"b10": 3}},
        )
    ],
)  # fmt: skip
def test_what_is_no_snapshot_is_refused(blob):
    env = desk(member("vip"))
    run(env, "look b10", "up b10")
    before = full(env)
    with pytest.raises(ValueError, match="not a snapshot of desk"):
        env.restore(blob)
    assert full(env) == before


def test_desks_share_no_state():
    one, two = desk(), desk()
    run(one, "look b10", "up b10", "refuse b10 top", "done")
    assert full(two) == full(desk())


def test_the_policy_tells_the_tier_of_the_member():
    assert desk().policy.endswith("The member is reg.\n")
    assert desk({"env_type": "assistant", "func_name": "set_member", "arguments": {"tier": "vip"}}).policy.endswith("is vip.\n")
