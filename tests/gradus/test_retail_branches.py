"""Every branch of the retail library on real records, in the company of its complements.

A case is a call, perhaps after others, with what the dialogue told, and the outcomes that hold for some of its policies:
"!x" is a breach of the policy, which the tool executes; "#x" a refusal by the tool, which changes nothing; a plain "x"
neither; "" says that no outcome holds. What a case does not name breaks no policy and is not refused. The records are found
by predicates in plain Python over the JSON of the database; the last test says that no branch was left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from retail_world import ACTIONS, ADDRESS, NO_METHOD, WRITES, Case, call, modified, with_facts, with_statuses, world

from selfevolve.environments import load
from selfevolve.gradus import operators
from selfevolve.gradus.candidates import plain

pytest.importorskip("inspect_evals", reason="the tau2 domains need inspect-evals")


def cancellations():
    w = world()
    order = w.order("pending", w.usual)
    base = call(
        "cancel",
        order,
        {"order": "known", "status": "pending", "reason": "no_longer_needed", "stated_reason": "same", "refund": "in_days"},
    )
    yield from with_facts(base, "identity", "owner", "checked", "confirmed")
    yield from with_statuses("cancel", pending="pending")
    yield call("cancel", order, {"status": "#items_modified"}, [modified(order)])
    yield call("cancel", order, {"status": "#not_pending"}, [base])
    yield call("cancel", order, {"reason": "ordered_by_mistake", "stated_reason": "same"}, reason="ordered by mistake")
    yield call(
        "cancel", order, {"reason": "#unacceptable", "stated_reason": "!another"}, facts={"reason": "other"}, reason="too dear"
    )
    for told in ("ordered by mistake", "other", "not_given"):
        yield call("cancel", order, {"reason": "no_longer_needed", "stated_reason": "!another"}, facts={"reason": told})
    yield call("cancel", w.order("pending", lambda order: not w.by_card(order)), {"refund": "gift_card"})
    order = w.order(
        "pending", lambda order: w.methods(order, "gift_card") and w.covers(order, order["payment_history"][0]["amount"])
    )
    anew = call("payment", order, {}, payment_method_id=w.methods(order, "gift_card")[0])
    yield call("cancel", order, {"refund": "gift_card+in_days"}, [anew])


def addresses():
    w = world()
    order = w.order("pending", w.usual)
    base = call("address", order, {"order": "known", "status": "pending", "once": "first"})
    yield from with_facts(base, "identity", "owner", "checked", "confirmed")
    yield from with_statuses("address", pending="pending")
    yield call("address", order, {"status": "!items_modified", "once": "first"}, [modified(order)])
    yield call("address", order, {"status": "pending", "once": "!again"}, [base], address1="11 Oak Road")
    yield call("items", order, {"status": "pending"}, [base])  # another tool, so the order may still be modified
    profile = Case("user_address", {"user_id": order["user_id"], **ADDRESS}, {"user": "known"})
    yield from with_facts(profile, "identity", "owner", "confirmed")
    yield replace(profile, arguments={**profile.arguments, "user_id": "sara_doe_496"}, expected={"user": "#unknown", "owner": ""})


def payments():
    w = world()
    cards = lambda order: w.usual(order) and w.methods(order, "credit_card", "paypal")  # noqa: E731
    order = w.order("pending", cards)
    base = call(
        "payment", order, {"order": "known", "status": "pending", "once": "first", "method": "different", "refund": "in_days"}
    )
    yield from with_facts(base, "identity", "owner", "checked", "chosen", "confirmed")
    yield from with_statuses("payment", cards, pending="pending", once="#again")
    yield call("payment", order, {"status": "#items_modified", "once": "#again"}, [modified(order)])
    yield call("payment", order, {"status": "pending", "once": "#again"}, [base])
    yield call("payment", order, {"method": "#same", "cover": "not_gift_card"}, payment_method_id=w.original(order)["id"])
    yield call("payment", order, {"method": "#unknown", "cover": ""}, payment_method_id=NO_METHOD)
    by_gift_card = w.order("pending", lambda order: not w.by_card(order) and w.methods(order))
    yield call("payment", by_gift_card, {"refund": "gift_card", "cover": "not_gift_card"})
    for outcome in ("gift_card_covers", "#gift_card_short"):
        fits = lambda order, outcome=outcome: w.covers(order, order["payment_history"][0]["amount"]) == outcome.startswith("gift")  # noqa: E731
        order = w.order("pending", lambda order: w.methods(order, "gift_card"), fits)
        yield call(
            "payment", order, {"method": "different", "cover": outcome}, payment_method_id=w.methods(order, "gift_card")[0]
        )


def swaps(policies: str, status: str):
    """What modify_pending_order_items and exchange_delivered_order_items have in common."""
    w = world()
    order = w.order(status, w.usual)
    item, (dear, *_, cheap) = order["items"][0], w.others(order["items"][0])
    fine = {"order": "known", "status": status, "listed": "within", "count": "same", "product": "same", "stock": "available"}
    base = call(policies, order, {**fine, "option": "different", "difference": "to_pay", "cover": "not_gift_card"})
    yield from with_facts(base, "identity", "owner", "checked", "all", "chosen", "confirmed")
    yield call(policies, order, {"difference": "to_refund"}, new_item_ids=[cheap["item_id"]])
    yield call(policies, order, {"product": "same", "stock": "#unavailable"}, new_item_ids=[w.others(item, False)[0]["item_id"]])
    yield call(policies, order, {"product": "#different", "stock": ""}, new_item_ids=[order["items"][1]["item_id"]])
    yield call(policies, order, {"cover": "#unknown"}, payment_method_id=NO_METHOD)
    yield call(policies, order, {"count": "#different"}, new_item_ids=[dear["item_id"], cheap["item_id"]])
    yield call(policies, order, {"listed": "!none", "difference": "to_refund"}, item_ids=[], new_item_ids=[])
    foreign = {"item_ids": [dear["item_id"]], "new_item_ids": [cheap["item_id"]]}
    yield call(
        policies,
        order,
        {"listed": "#not_within", "product": "", "stock": "", "difference": "", "cover": "not_gift_card"},
        **foreign,
    )
    twice = {"item_ids": [item["item_id"]] * 2, "new_item_ids": [dear["item_id"], cheap["item_id"]]}
    yield call(policies, order, {"listed": "#not_within", "product": "same"}, **twice)
    ids = lambda order: [item["item_id"] for item in order["items"]]  # noqa: E731
    pair = w.order(status, w.by_card, lambda order: len(set(ids(order))) < len(order["items"]))
    item = max(pair["items"], key=lambda item: ids(pair).count(item["item_id"]))
    two = {"item_ids": [item["item_id"]] * 2, "new_item_ids": [one["item_id"] for one in w.others(item)[:2]]}
    yield call(policies, pair, {"listed": "within", "product": "same"}, **two)
    in_stock = lambda item: w.products[item["product_id"]]["variants"][item["item_id"]]["available"]  # noqa: E731
    same = w.order(status, w.usual, lambda order: in_stock(order["items"][0]))
    itself = {"option": "!same" if policies == "exchange" else "#same", "stock": "available", "difference": "to_refund"}
    yield call(policies, same, itself, new_item_ids=[same["items"][0]["item_id"]])
    dearer = lambda order: w.others(order["items"][0])[0]["price"] - order["items"][0]["price"]  # noqa: E731
    for outcome in ("gift_card_covers", "#gift_card_short"):
        fits = lambda order, outcome=outcome: w.covers(order, dearer(order)) == outcome.startswith("gift")  # noqa: E731
        order = w.order(status, w.usual, lambda order: w.methods(order, "gift_card"), fits)
        yield call(
            policies, order, {"cover": outcome, "difference": "to_pay"}, payment_method_id=w.methods(order, "gift_card")[0]
        )


def modifications():
    w = world()
    yield from swaps("items", "pending")
    yield from with_statuses("items", w.usual, pending="pending")
    order = w.order("pending", w.usual)
    dear, *_, cheap = w.others(order["items"][0])
    yield call(
        "items",
        order,
        {"status": "#items_modified"},
        [modified(order)],
        item_ids=[dear["item_id"]],
        new_item_ids=[cheap["item_id"]],
    )


def exchanges():
    w = world()
    yield from swaps("exchange", "delivered")
    yield from with_statuses("exchange", w.usual, pending="#not_delivered", delivered="delivered", others="#not_delivered")
    order = w.order("delivered", w.usual)
    for policies in ("exchange", "return"):
        yield call("exchange", order, {"status": "#requested"}, [call(policies, order, {})])


def returns():
    w = world()
    order = w.order("delivered", w.usual)
    base = call("return", order, {"order": "known", "status": "delivered", "listed": "within", "refund": "original"})
    yield from with_facts(base, "identity", "owner", "checked", "chosen", "confirmed")
    yield from with_statuses("return", w.usual, pending="#not_delivered", delivered="delivered", others="#not_delivered")
    for policies in ("exchange", "return"):
        yield call("return", order, {"status": "#requested"}, [call(policies, order, {})])
    yield call("return", order, {"listed": "!none"}, item_ids=[])
    yield call("return", order, {"listed": "#not_within"}, item_ids=[order["items"][0]["item_id"]] * 2)
    yield call("return", w.order("delivered", lambda order: not w.by_card(order)), {"refund": "gift_card+original"})
    for outcome, sources in {"gift_card": ["gift_card"], "#another": ["credit_card", "paypal"]}.items():
        order = w.order("delivered", lambda order, sources=sources: w.methods(order, *sources))
        yield call("return", order, {"refund": outcome}, payment_method_id=w.methods(order, *sources)[0])
    yield call("return", order, {"refund": "#unknown"}, payment_method_id=NO_METHOD)


def reads():
    w = world()
    (user_id, user), (product_id, product) = next(iter(w.users.items())), next(iter(w.products.items()))
    order_id, item_id = user["orders"][0], next(iter(product["variants"]))
    located = {"user": "found", "owner": "own"}
    name = {
        "first_name": user["name"]["first_name"],
        "last_name": user["name"]["last_name"].upper(),
        "zip": user["address"]["zip"],
    }
    for case in (Case("find_by_email", {"email": user["email"].upper()}, located), Case("find_by_name_zip", name, located)):
        yield replace(case, facts={"user_id": user_id})
        yield replace(case, facts={"user_id": "sara_doe_496"}, expected={"user": "found", "owner": "!other"})
        for by in ("claimed_id", "nothing"):
            yield replace(case, facts={"user_id": "", "authenticated_by": by}, expected={"user": "found", "owner": "first"})
        unknown = {**case.arguments, ("email" if "email" in case.arguments else "zip"): "99999"}
        yield replace(case, arguments=unknown, expected={"user": "#unknown", "owner": ""})
    yield from with_facts(Case("user_details", {"user_id": user_id}, {"user": "known"}), "identity", "owner")
    yield Case("user_details", {"user_id": "sara_doe_496"}, {"user": "#unknown", "owner": ""})
    yield from with_facts(Case("order_details", {"order_id": order_id}, {"order": "known"}), "identity", "owner")
    yield Case("order_details", {"order_id": "#W0000000"}, {"order": "#unknown", "owner": ""})
    yield from with_facts(Case("product_details", {"product_id": product_id}, {"product": "known"}), "identity")
    for id, outcome in ((item_id, "#item_id"), ("0000000000", "#unknown")):
        yield Case("product_details", {"product_id": id}, {"product": outcome})
    yield from with_facts(Case("item_details", {"item_id": item_id}, {"item": "known"}), "identity")
    for id, outcome in ((product_id, "#product_id"), ("0000000000", "#unknown")):
        yield Case("item_details", {"item_id": id}, {"item": outcome})
    yield from with_facts(Case("product_types", {}, {}), "identity")
    yield Case("transfer", {"summary": "wants a voucher"}, {"scope": "outside"})
    yield Case("transfer", {"summary": "wants a return"}, {"scope": "!within"}, {"in_scope": True})


CASES = [*cancellations(), *addresses(), *payments(), *modifications(), *exchanges(), *returns(), *reads()]


@pytest.fixture(scope="module")
def library():
    return operators.load("tau2/retail")


@pytest.fixture(scope="module")
def env():
    return load("tau2/retail")


def told(case: Case) -> dict[str, Any]:
    """All facts, such that they break nothing, but for those of the case."""
    arguments = case.arguments
    user_id = arguments.get("user_id") or world().orders.get(arguments.get("order_id"), {}).get("user_id", "")
    facts = {
        "user_id": user_id, "authenticated_by": "email", "confirmed": True, "status_checked": True, "all_items_confirmed": True,
        "reason": arguments.get("reason", "not_given"), "payment_method": arguments.get("payment_method_id", ""), "in_scope": False,
    }  # fmt: skip
    return {**facts, **case.facts}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_outcomes_of_a_call_and_who_enforces_them(library, env, case):
    env.reset()
    for earlier in case.after:
        assert env.call(ACTIONS[earlier.policies], earlier.arguments).ok
    action, before = ACTIONS[case.policies], env.state_hash()

    judgement = library.judge(env, action, case.arguments, told(case))

    assert env.state_hash() == before
    assert judgement.undetermined == ()
    for policy, outcome in case.expected.items():
        found = sorted(unit.outcome for unit in judgement.units if unit.policy_id == f"{case.policies}.{policy}")
        assert "+".join(found) == outcome.strip("!#"), policy
    marked = {
        mark: {f"{case.policies}.{name}" for name, outcome in case.expected.items() if outcome.startswith(mark)} for mark in "!#"
    }
    assert set(judgement.violations) == marked["!"]
    assert set(judgement.rejections) == marked["#"]

    effects = declared(library, env, case)
    observation = env.call(action, case.arguments)
    assert observation.ok == (not marked["#"]), observation.text
    assert (env.state_hash() != before) == (observation.ok and case.policies in WRITES)
    if observation.ok:
        after = library.context(env, action, case.arguments, told(case))
        assert [path.text for path, value in effects if plain(path.evaluate(after)) != value] == []


def declared(library, env, case):
    """(path, value) of the effects of the guards that hold, where they say the value."""
    context = library.context(env, ACTIONS[case.policies], case.arguments, told(case))
    held = [
        guard
        for guard in library.operators[ACTIONS[case.policies]].guards
        if guard.expression and guard.expression.holds(context) is True
    ]
    return [(effect.path, plain(effect.value.evaluate(context))) for guard in held for effect in guard.effects if effect.value]


def test_the_cases_realise_every_branch(library):
    every = {guard.unit for operator in library.operators.values() for guard in operator.guards if guard.when}
    tested = {
        (f"{case.policies}.{policy}", part)
        for case in CASES
        for policy, outcome in case.expected.items()
        for part in outcome.strip("!#").split("+")
        if part
    }
    assert tested == every
