"""The retail library against the official references, the older ones, all records of the base, and candidate calls.

Its branches one by one, each with what enforces it, are in `test_retail_branches`.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from retail_world import world

from selfevolve.environments import load
from selfevolve.gradus import operators
from selfevolve.gradus.candidates import calls

pytest.importorskip("inspect_evals", reason="the tau2 domains need inspect-evals")

OFFICIAL = Path(__file__).parents[3] / "shared/tau2/retail/tasks.json"
SEVERAL = {"cancel.refund", "return.refund"}  # policies of which two outcomes can hold at once
REFUSED = {  # the official references hold calls that are meant to fail, and what for
    **dict.fromkeys(["2", "3", "4"], {("product_details.product", "unknown")}),
    **dict.fromkeys(["35", "37", "38", "54", "55"], {("find_by_email.user", "unknown")}),
    **dict.fromkeys(["39", "67", "68"], {("find_by_name_zip.user", "unknown")}),
    **dict.fromkeys(["46", "47"], {("order_details.order", "unknown")}),
    "64": {("exchange.status", "not_delivered")},  # the order is pending, so its items are modified instead
    "105": {("exchange.cover", "gift_card_short")},  # so a PayPal account pays
}


@pytest.fixture(scope="module")
def library():
    return operators.load("tau2/retail")


@pytest.fixture(scope="module")
def shared_env():
    return load("tau2/retail")


@pytest.fixture
def env(shared_env):
    shared_env.reset()
    return shared_env


@pytest.fixture(scope="module")
def official():
    if not OFFICIAL.is_file():
        pytest.skip(f"{OFFICIAL} is absent: the official task files come with the benchmark (tau2-bench, commit a2c0247)")
    return {task["id"]: task for task in json.loads(OFFICIAL.read_text())}


@pytest.fixture(scope="module")
def older():
    from inspect_evals.tau2.utils import TAU2_DATA_DIR

    return {task["id"]: task for task in json.loads((Path(TAU2_DATA_DIR) / "domains/retail/tasks.json").read_text())}


def references(task):
    return [(action["name"], action["arguments"]) for action in task["evaluation_criteria"]["actions"]]


def caller(task):
    """The user whose orders and profile the references are about. There is one in every task that names any."""
    found = {arguments["user_id"] for _, arguments in references(task) if "user_id" in arguments}
    orders = [world().orders.get(arguments.get("order_id")) for _, arguments in references(task)]
    found |= {order["user_id"] for order in orders if order}
    assert len(found) <= 1
    return next(iter(found), None)


def replay(library, env, task, facts=None):
    """(broken policies, units refused by the tool, kinds of the calls, final hash) of a task's references."""
    env.reset()
    broken, refused, kinds = set(), set(), Counter()
    for name, arguments in references(task):
        judgement = library.judge(env, name, arguments, facts)
        observation = env.call(name, arguments)
        assert observation.ok == (not judgement.rejections), (name, arguments, observation.text)
        broken |= set(judgement.violations)
        refused |= {unit for unit in judgement.units if unit.policy_id in judgement.rejections}
        kinds[library.operators[name].kind] += 1
    return broken, refused, kinds, env.state_hash()


@pytest.mark.parametrize("told", [False, True])
def test_the_official_references_break_no_policy(library, env, official, told):
    """Told or not who calls; the calls that the tools refuse are those that are meant to fail, and no others."""
    found, kinds = {}, Counter()
    for id, task in official.items():
        user_id = caller(task)
        broken, found[id], counted, _ = replay(
            library, env, task, {"user_id": user_id, "authenticated_by": "email"} if told and user_id else None
        )
        assert broken == set(), id
        kinds += counted
    assert len(official) == 114
    assert kinds["write"] == 176
    assert {id: refused for id, refused in found.items() if refused} == REFUSED


def test_what_is_wrong_with_the_older_references(library, env, official, older):
    """The seven that differ: three break a policy, two ask a tool for what it refuses, one confuses ids, one only calculates."""
    differing = {id for id in official if references(official[id]) != references(older[id])}
    replayed = {id: replay(library, env, task) for id, task in older.items()}
    corrected = {id: replay(library, env, official[id]) for id in differing}

    assert differing == {"12", "13", "18", "21", "59", "91", "107"}
    assert {id: broken for id, (broken, *_) in replayed.items() if broken} == dict.fromkeys(
        ["18", "91", "107"], {"exchange.option"}
    )
    refused = {id: units for id, (_, units, *_) in replayed.items() if units and id in differing}
    lookup = {("product_details.product", "item_id")}
    assert refused == {"12": {("return.refund", "another")}, "13": {("return.refund", "another")}, "21": lookup}
    assert {id for id in differing if replayed[id][3] != corrected[id][3]} == {"18", "91", "107"}


def test_the_guards_agree_with_predicates_over_the_whole_base(library, env):
    """Every order with every payment method of its owner, and every email."""
    w = world()

    def outcome(action, arguments, policy):
        return {unit.outcome for unit in library.judge(env, action, arguments).units if unit.policy_id == policy}

    for id, order in w.orders.items():
        original, status, total = w.original(order), order["status"], order["payment_history"][0]["amount"]
        pending = {"pending" if status == "pending" else "not_pending"}
        assert outcome("cancel_pending_order", {"order_id": id, "reason": "x"}, "cancel.status") == pending
        refund = {"gift_card" if original["source"] == "gift_card" else "in_days"}
        assert outcome("cancel_pending_order", {"order_id": id, "reason": "x"}, "cancel.refund") == refund
        for method_id, method in w.users[order["user_id"]]["payment_methods"].items():
            pay = {"order_id": id, "payment_method_id": method_id}
            same, gift_card = method_id == original["id"], method["source"] == "gift_card"
            assert outcome("modify_pending_order_payment", pay, "payment.method") == {"same" if same else "different"}
            covered = ("gift_card_covers" if method["balance"] >= total else "gift_card_short") if gift_card else "not_gift_card"
            assert outcome("modify_pending_order_payment", pay, "payment.cover") == {covered}
            units = library.judge(env, "return_delivered_order_items", {**pay, "item_ids": []}).units
            refunds = {name for name, holds in {"original": same, "gift_card": gift_card}.items() if holds} or {"another"}
            assert {unit.outcome for unit in units if unit.policy_id == "return.refund"} == refunds
            delivered = {"delivered" if status == "delivered" else "not_delivered"}
            assert {unit.outcome for unit in units if unit.policy_id == "return.status"} == delivered
    for user_id, user in w.users.items():
        judged = library.judge(
            env, "find_user_id_by_email", {"email": user["email"].title()}, {"user_id": user_id, "authenticated_by": "email"}
        )
        assert judged.units == {("find_by_email.user", "found"), ("find_by_email.owner", "own")}


def concerns(policy: str, units: dict[str, set[str]]) -> bool:
    """Whether a policy has something to say about a call, given the outcomes of those it builds on."""
    action, name = policy.split(".")
    known = units.get(f"{action}.order", set()) | units.get(f"{action}.user", set())
    if name in ("owner", "checked", "status", "once", "refund", "method", "listed") and not known & {"known", "found"}:
        return False
    if name == "product" and action in ("items", "exchange"):  # of an item that is not in the order there is no product
        return units[f"{action}.listed"] == {"within"}
    if name in ("stock", "difference") or (name == "cover" and action != "payment"):
        return units[f"{action}.product"] == {"same"}
    return name != "cover" or units["payment.method"] in ({"same"}, {"different"})


def some_facts(library, arguments, rng):
    """A random value of every fact: one of those the library lists, or one that can matter to the call."""
    order = world().orders.get(arguments.get("order_id"), {})
    others = {
        "user_id": ["", order.get("user_id", ""), arguments.get("user_id", "")],
        "payment_method": ["", arguments.get("payment_method_id", "")],
    }
    return {name: rng.choice(fact.values or others.get(name, [True, False])) for name, fact in library.facts.items()}


@pytest.mark.parametrize("action", sorted(operators.load("tau2/retail").operators))
def test_one_outcome_of_every_policy_that_concerns_a_call(library, env, action):
    """On candidate calls: with all facts exactly one; with none, one that holds or some that are undetermined."""
    operator, rng = library.operators[action], random.Random(4)
    policies = {guard.policy_id for guard in operator.guards if guard.expression}
    for arguments in calls(library, env, action, 100, rng):
        for told in (None, *(some_facts(library, arguments, rng) for _ in range(4))):
            judgement, units = library.judge(env, action, arguments, told), defaultdict(set)
            for unit in judgement.units:
                units[unit.policy_id].add(unit.outcome)
            undetermined = {one.policy_id for one in judgement.undetermined}
            assert told is None or not undetermined
            for policy in policies:
                assert len(units[policy]) <= 1 or policy in SEVERAL, (policy, arguments, told)
                if concerns(policy, units):
                    assert units[policy] or policy in undetermined, (policy, arguments, told)


def test_what_the_dialogue_must_tell_is_named(library, env):
    order_id = world().order("pending")["order_id"]
    judged = library.judge(env, "cancel_pending_order", {"order_id": order_id, "reason": "no longer needed"}, {"confirmed": True})
    assert ("cancel.confirmed", "yes") in judged.units
    assert {one.policy_id: one.facts for one in judged.undetermined} == {
        "cancel.identity": ("authenticated_by",),
        "cancel.owner": ("user_id",),
        "cancel.checked": ("status_checked",),
        "cancel.stated_reason": ("reason",),
    }


def test_every_operator_has_the_parameters_of_its_tool(library, env):
    tools = {tool["function"]["name"]: set(tool["function"]["parameters"]["properties"]) for tool in env.tools}
    assert {action: set(operator.parameters) for action, operator in library.operators.items()} == tools
