"""What the desk shows and publishes: its policy page, the schemas of its tools and of its state, its base database.

Paper: Gradus section 2.1 (tools, states, policies). `environments.desk` runs it; `data/operators/desk.yaml` cites it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

TIERS = ("new", "reg", "vip")
PLANS = ("basic", "plus", "gold")
STATUSES = ("open", "held", "live", "gone")
REASONS = ("gone", "live", "top", "tier", "held", "none")
IDS = tuple(f"b{number}" for number in range(10, 40))
FEES = {"plus": 2, "gold": 3}  # due for going up to the plan
LARGEST_DUE = 8

POLICY = """\
You are the clerk of a rental desk and serve one member, whose tier (new, reg or vip) you are told at the start.
A booking has a plan (from low to high: basic, plus, gold), a status (open, held, live or gone), an amount due and an age.
The desk answers no to a call that is impossible, and then nothing has changed.
The desk does not check the rules below: keeping them is your task.
One call may make another one possible: a booking can be freed, paid, brought up and paid again so that it can be cancelled.

P0 (look): Look at a booking before you change it or refuse it.
P1 (free): A hold may be lifted only if the age is 4 or less or the member is vip.
P2 (pay): Pay exactly what is due, plus a late fee of 1 if the age is 5 or more and the member is not vip.
Nothing may be paid on a held booking.
P3 (up): A booking may go up one plan if it is not held and nothing is due.
A new member may not go up to gold.
Going up to plus makes 2 due and going up to gold makes 3 due.
P4 (cancel): A booking may be cancelled if it is neither held nor live and nothing is due.
A basic booking may be cancelled only at age 0; at any other age it must go up first.
P5 (extend): A booking may be extended if it is not held and nothing is due.
The extensions of a booking may add up to 2 days on basic, 5 on plus and 9 on gold; if more is asked, it must go up first.
P6 (swap): A booking may be swapped if it is neither held nor live and nothing is due.
Only a gold booking may be swapped, or for a vip member also a plus booking; any other must go up first.
P7 (refuse): If no sequence of permitted calls meets the request, change nothing for it and refuse it with the first reason \
that applies, in this order: gone, live, top, tier, held, none.
The reason is gone if the booking is gone; live if it is live and the request is to cancel or swap it; top if the request \
needs more than gold; tier if it needs gold and a new member has less; held if the hold may not be lifted; none if the request \
is to pay and nothing is due.
Never refuse a request that a sequence of permitted calls meets.
P8 (done): Done ends your turn; call it when every request of the member is met or refused.
"""


def _base() -> dict[str, dict[str, Any]]:
    """The base database by a fixed rule: cycles of lengths without a common divisor, so that all fields mix."""
    statuses = ("open", "held", "live", "open", "gone", "held", "open", "held", "live", "open")
    dues = (0, 4, 0, 2, 7, 0, 1)
    ages = (0, 6, 3, 9, 0, 4, 5, 1, 8, 2, 7)
    return {
        id: make_booking(PLANS[k % 3], statuses[k // 3], dues[k % len(dues)], ages[k % len(ages)]) for k, id in enumerate(IDS)
    }


def make_booking(
    plan: str, status: str, due: int, age: int, paid: int = 0, extended: int = 0, swapped: int = 0
) -> dict[str, Any]:
    """One booking, replaced and never changed in place. Raises ValueError for a value outside its range."""
    if plan not in PLANS:
        raise ValueError(f"plan must be one of {', '.join(PLANS)}, not {plan!r}")
    if status not in STATUSES:
        raise ValueError(f"status must be one of {', '.join(STATUSES)}, not {status!r}")
    counts = {"due": due, "age": age, "paid": paid, "extended": extended, "swapped": swapped}
    for name, value in counts.items():
        limit = {"due": LARGEST_DUE, "age": 9}.get(name)
        if type(value) is not int or value < 0 or (limit is not None and value > limit):
            raise ValueError(f"{name} must be a whole number from 0{f' to {limit}' if limit else ''}, not {value!r}")
    return {"plan": plan, "status": status, **counts}


BASE_TIER = "reg"
BASE: Mapping[str, dict[str, Any]] = MappingProxyType(_base())

_ID = {"type": "string", "description": "the booking, such as b17"}
_DIGIT = {"type": "integer", "minimum": 1, "maximum": 9}
PARAMETERS: dict[str, dict[str, dict[str, Any]]] = {
    "look": {"id": _ID},
    "free": {"id": _ID},
    "pay": {"id": _ID, "amount": _DIGIT | {"description": "what is paid, late fee included"}},
    "up": {"id": _ID},
    "cancel": {"id": _ID},
    "extend": {"id": _ID, "days": _DIGIT | {"description": "by how many days"}},
    "swap": {"id": _ID},
    "refuse": {"id": _ID, "reason": {"type": "string", "enum": list(REASONS), "description": "why, see P7"}},
    "done": {},
}
_DESCRIPTIONS = {
    "look": "Read plan, status, amount due and age of a booking.",
    "free": "Lift the hold of a held booking: it becomes open.",
    "pay": "Pay on a booking that has something due: nothing is due afterwards.",
    "up": "Bring a booking up to the next plan; answers the new plan and what is due.",
    "cancel": "Cancel a booking: it is gone.",
    "extend": "Extend a booking.",
    "swap": "Swap what is booked for something else.",
    "refuse": "Record that a request about a booking is refused.",
    "done": "End the turn.",
}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": _DESCRIPTIONS[name],
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            },
        },
    }
    for name, properties in PARAMETERS.items()
]

_COUNT = {"type": "integer", "minimum": 0}
_BOOKING_FIELDS = {
    "plan": {"type": "string", "enum": list(PLANS)},
    "status": {"type": "string", "enum": list(STATUSES)},
    "due": _COUNT | {"maximum": LARGEST_DUE},
    "age": _COUNT | {"maximum": 9},
    "paid": _COUNT,
    "extended": _COUNT,
    "swapped": _COUNT,
}
_REFUSAL = {"type": "array", "prefixItems": [_ID, {"type": "string", "enum": list(REASONS)}], "minItems": 2, "maxItems": 2}
STATE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "member": {"$ref": "#/$defs/Member"},
        "bookings": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Booking"}},
        "looked": {"type": "array", "items": _ID, "description": "bookings looked at, in the order of the first look"},
        "refusals": {"type": "array", "items": _REFUSAL, "description": "[booking, reason], sorted, repeats kept"},
        "turns": _COUNT | {"description": "turns that done has ended"},
    },
    "$defs": {
        "Member": {"type": "object", "properties": {"tier": {"type": "string", "enum": list(TIERS)}}, "required": ["tier"]},
        "Booking": {"type": "object", "properties": _BOOKING_FIELDS, "required": list(_BOOKING_FIELDS)},
    },
}
