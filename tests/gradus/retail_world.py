"""Real records of the retail database, found by plain Python over its JSON, and calls that are made of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

ADDRESS = {"address1": "9 Oak Road", "address2": "", "city": "Austin", "state": "TX", "country": "USA", "zip": "78701"}
ELSEWHERE = {**ADDRESS, "address1": "11 Oak Road"}
NO_METHOD = "gift_card_0000000"
ACTIONS = {
    "cancel": "cancel_pending_order",
    "address": "modify_pending_order_address",
    "payment": "modify_pending_order_payment",
    "items": "modify_pending_order_items",
    "return": "return_delivered_order_items",
    "exchange": "exchange_delivered_order_items",
    "user_address": "modify_user_address",
    "find_by_email": "find_user_id_by_email",
    "find_by_name_zip": "find_user_id_by_name_zip",
    "user_details": "get_user_details",
    "order_details": "get_order_details",
    "product_details": "get_product_details",
    "item_details": "get_item_details",
    "product_types": "list_all_product_types",
    "transfer": "transfer_to_human_agents",
}
WRITES = list(ACTIONS)[:7]


@dataclass(frozen=True)
class Case:
    policies: str  # prefix of the ids of the action's policies
    arguments: dict[str, Any]
    expected: dict[str, str]  # by policy id without the prefix
    facts: dict[str, Any] = field(default_factory=dict)
    after: tuple[Case, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.policies, *(f"{policy}={outcome}" for policy, outcome in self.expected.items())])


class World:
    """The base database as plain JSON, and ways to find records in it."""

    def __init__(self) -> None:
        from inspect_evals.tau2.utils import TAU2_DATA_DIR

        from selfevolve.environments.tau2 import read_data

        base = read_data(Path(TAU2_DATA_DIR) / "domains/retail/db.json.gz")
        self.products, self.users, self.orders = base["products"], base["users"], base["orders"]

    def order(self, status: str, *tests) -> dict[str, Any]:
        return next(order for order in self.orders.values() if order["status"] == status and all(test(order) for test in tests))

    def methods(self, order: dict[str, Any], *sources: str) -> list[str]:
        """Ids of the owner's payment methods of these kinds (all, if none is named), but the original one."""
        methods = self.users[order["user_id"]]["payment_methods"]
        return [
            id
            for id, one in methods.items()
            if one["source"] in (sources or [one["source"]]) and id != self.original(order)["id"]
        ]

    def original(self, order: dict[str, Any]) -> dict[str, Any]:
        return self.users[order["user_id"]]["payment_methods"][order["payment_history"][0]["payment_method_id"]]

    def by_card(self, order: dict[str, Any]) -> bool:
        return self.original(order)["source"] != "gift_card"

    def covers(self, order: dict[str, Any], amount: float) -> bool:
        """Whether the owner's gift card, not used for this order, covers the amount."""
        return self.users[order["user_id"]]["payment_methods"][self.methods(order, "gift_card")[0]]["balance"] >= amount

    def others(self, item: dict[str, Any], available: bool = True) -> list[dict[str, Any]]:
        """The other items of the same product, the dearest first."""
        variants = self.products[item["product_id"]]["variants"].values()
        found = [one for one in variants if one["item_id"] != item["item_id"] and one["available"] == available]
        return sorted(found, key=lambda one: -one["price"])

    def usual(self, order: dict[str, Any]) -> bool:
        """Paid by a card; of the first item there are dearer and cheaper others in stock, and some out of stock."""
        item, *rest = order["items"]
        prices = [one["price"] for one in self.others(item)] or [0]
        return bool(self.by_card(order) and prices[-1] < item["price"] < prices[0] and self.others(item, False) and rest)

    def good(self, policies: str, order: dict[str, Any]) -> dict[str, Any]:
        """Arguments that the state of a usual order of the right status allows."""
        item, method = order["items"][0], self.original(order)["id"]
        new = [one["item_id"] for one in self.others(item)[:1]]
        arguments = {
            "cancel": {"reason": "no longer needed"},
            "address": ADDRESS,
            "payment": {"payment_method_id": (self.methods(order, "credit_card", "paypal") or [NO_METHOD])[0]},
            "items": {"item_ids": [item["item_id"]], "new_item_ids": new, "payment_method_id": method},
            "return": {"item_ids": [item["item_id"]], "payment_method_id": method},
        }
        return {"order_id": order["order_id"], **(arguments["items" if policies == "exchange" else policies])}


@cache
def world() -> World:
    return World()


def call(policies: str, order: dict[str, Any], expected: dict[str, str], after=(), facts=None, **changes: Any) -> Case:
    return Case(policies, {**world().good(policies, order), **changes}, expected, facts or {}, tuple(after))


def modified(order: dict[str, Any]) -> Case:
    return call("items", order, {})


def with_facts(case: Case, *policies: str):
    """The call, and breaches of the policies that only the dialogue tells, each with one fact other than in the call itself."""
    facts = {
        "identity": [("located", "authenticated_by", "name_zip"), ("!claimed", "authenticated_by", "claimed_id"), ("!nothing", "authenticated_by", "nothing")],
        "owner": [("own", "user_id", None), ("!other", "user_id", "sara_doe_496"), ("!other", "user_id", "")],
        "checked": [("yes", "status_checked", True), ("!no", "status_checked", False)],
        "confirmed": [("yes", "confirmed", True), ("!no", "confirmed", False)],
        "all": [("yes", "all_items_confirmed", True), ("!no", "all_items_confirmed", False)],
        "chosen": [("yes", "payment_method", None), ("!no", "payment_method", NO_METHOD), ("!no", "payment_method", "")],
    }  # fmt: skip
    yield replace(case, expected={**case.expected, **{policy: facts[policy][0][0] for policy in policies}})
    for policy in policies:
        for outcome, fact, value in facts[policy]:
            if value is not None:
                yield replace(case, expected={policy: outcome}, facts={**case.facts, fact: value})


def with_statuses(policies: str, *tests, pending="#not_pending", delivered="#not_pending", others="#not_pending", **also: str):
    """The call on orders of the four statuses of the base, and on none."""
    for status, outcome in {"pending": pending, "delivered": delivered, "processed": others, "cancelled": others}.items():
        yield call(policies, world().order(status, *tests), {"status": outcome, **(also if status == "cancelled" else {})})
    yield call(
        policies,
        world().order("pending", *tests),
        {"order": "#unknown", "status": "", "owner": "", "checked": ""},
        order_id="#W0000000",
    )
