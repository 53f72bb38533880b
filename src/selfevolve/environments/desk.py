"""desk: a rental desk of thirty bookings, small enough that a model of a few hundred thousand weights can learn it.

Paper: Gradus section 2.1 (a fixed environment with tools, state and policies) and 2.2 (conditions that one action
establishes for another): free -> pay -> up -> pay -> cancel. Ours, not the paper's: it gives the pipeline an
environment that needs no download and whose lessons fit a student trained from scratch.

Choices:

* The desk refuses only the impossible (unknown or gone booking, nothing to lift, nothing to pay, no higher plan). What
  breaks the policy executes; the guards of `data/operators/desk.yaml` judge it.
* Observations are a few words of a closed vocabulary ("basic open due 5 age 5", "ok", "gone", "plus due 2"), ids are one
  word and every number is one digit. Every error has the text "no", without "Error: "; its kind is in `error`.
* No digit overflows: an amount due is at most 8, so that with the late fee it can be paid with one digit. (Only a
  breach, going up with something due, meets that limit.)
* `done` ends a turn, not the episode: it adds one to `turns`, after which the user may speak again. Who talks to the
  desk knows how many messages the user has; an episode has ended when `turns` reaches that number.
* `looked`, what has been read so far, is state (the policy asks for it) but not part of `state_hash`, as in tau2, where
  reading leaves no trace either: two solutions are compared by what they did. Refusals and turns are part of it.
* `refusals` is kept sorted, so that the order in which independent requests are met does not matter.
"""

from __future__ import annotations

import json
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

from selfevolve.environments.desk_page import (
    BASE,
    BASE_TIER,
    FEES,
    IDS,
    LARGEST_DUE,
    PARAMETERS,
    PLANS,
    POLICY,
    REASONS,
    STATE_SCHEMA,
    TIERS,
    TOOLS,
    make_booking,
)
from selfevolve.environments.protocol import Observation

_OK, _GONE = Observation("ok"), Observation("gone")
_UNKNOWN, _INVALID, _NO = (Observation("no", kind) for kind in ("unknown_tool", "invalid_arguments", "tool_error"))


def _digit(value: Any) -> int | None:
    """A whole number from 1 to 9 as JSON schema understands it (3.0 is 3, true is not 1), else None."""
    return int(value) if type(value) in (int, float) and value in (1, 2, 3, 4, 5, 6, 7, 8, 9) else None


# The same judgement as `arguments.Arguments` with the schemas above, thirty times faster; a property test compares them.
_READ: dict[str, Callable[[Any], Any]] = {
    "id": lambda value: value if type(value) is str else None,
    "amount": _digit,
    "days": _digit,
    "reason": lambda value: value if type(value) is str and value in REASONS else None,
}


class Desk:
    """The desk behind the Environment protocol. A call, `reset` and `state_hash` cost a few microseconds each.

    `state`: `member` ({"tier"}), `bookings` (id -> {plan, status, due, age, paid, extended, swapped}, days and amounts
    as whole numbers), `looked`, `refusals`, `turns` (see `STATE_SCHEMA`).
    Init actions: `set_member(tier)` and `set_booking(id, plan, status, due, age)`, of env_type "assistant".
    """

    name = "desk"
    now = None

    def __init__(self) -> None:
        self.tools = deepcopy(TOOLS)
        self.user_tools: list[dict[str, Any]] = []
        self.state_schema = deepcopy(STATE_SCHEMA)
        self._state: dict[str, Any] = {}
        self._initial: dict[str, Any] = {}
        self.state: Mapping[str, Any] = MappingProxyType(self._state)
        self.initial: Mapping[str, Any] = MappingProxyType(self._initial)
        self._begin(BASE_TIER, dict(BASE))

    @property
    def policy(self) -> str:
        """The page, and what the clerk is told at the start: the tier of the member."""
        return f"{POLICY}The member is {self._initial['member']['tier']}.\n"

    def reset(self, init_actions: Iterable[Mapping[str, Any]] = ()) -> None:
        """See the protocol. A booking set anew has nothing paid, no extension and no swap."""
        tier, bookings = BASE_TIER, dict(BASE)
        for index, action in enumerate(init_actions):
            try:
                if action["env_type"] != "assistant":
                    raise ValueError("env_type must be 'assistant'; the desk has no other side")
                arguments = dict(action["arguments"])
                if action["func_name"] == "set_member":
                    tier = _tier(**arguments)
                elif action["func_name"] == "set_booking":
                    id = arguments.pop("id")
                    if id not in BASE:
                        raise ValueError(f"id must be one of {IDS[0]} to {IDS[-1]}, not {id!r}")
                    bookings[id] = make_booking(paid=0, extended=0, swapped=0, **arguments)
                else:
                    raise ValueError("no such init function; use set_member or set_booking")
            except (ValueError, TypeError, KeyError) as error:
                name = action.get("func_name") if isinstance(action, Mapping) else None
                reason = f"{error} is missing" if isinstance(error, KeyError) else error
                raise ValueError(f"init action {index}, {name}: {reason}") from None
        self._begin(tier, bookings)

    def call(self, name: str, arguments: Any, requestor: str = "assistant") -> Observation:
        """See the protocol. Texts: "<plan> <status> due <n> age <n>", "ok", "gone", "<plan> due <n>", or "no"."""
        if type(name) is not str or requestor != "assistant" or name not in _RUN:
            return _UNKNOWN
        run, parameters = _RUN[name]
        if not isinstance(arguments, dict) or len(arguments) != len(parameters):
            return _INVALID
        values = [_READ[parameter](arguments.get(parameter)) for parameter in parameters]
        if None in values:
            return _INVALID
        return run(self, *values)

    def snapshot(self) -> bytes:
        """JSON of what differs from the base database; below 5 kB in an episode of 300,000 calls on every booking."""
        state = self._state | {
            "bookings": _changed(self._state["bookings"]),
            "refusals": sorted(Counter(" ".join(refusal) for refusal in self._state["refusals"]).items()),
        }
        initial = {"member": self._initial["member"], "bookings": _changed(self._initial["bookings"])}
        return json.dumps({"desk": state, "initial": initial}, separators=(",", ":")).encode()

    def restore(self, blob: bytes) -> None:
        """See the protocol."""
        try:
            stored = json.loads(blob)
            state, initial = stored["desk"], stored["initial"]
            looked, turns = list(state["looked"]), state["turns"]
            refusals = [pair.split() for pair, count in state["refusals"] for _ in range(count)]
            if any(id not in BASE for id in looked) or type(turns) is not int or turns < 0:
                raise ValueError("looked or turns")
            if any(id not in BASE or reason not in REASONS for id, reason in refusals):
                raise ValueError("refusals")
            tier, bookings = _tier(**state["member"]), _restored(state["bookings"])
            first = _tier(**initial["member"]), _restored(initial["bookings"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a snapshot of desk: {error!r}; pass what snapshot() returned") from None
        self._begin(*first)
        self._state.update(
            {"member": {"tier": tier}, "bookings": bookings, "looked": looked, "refusals": refusals, "turns": turns}
        )

    def state_hash(self) -> str:
        """Digest (32 hexadecimal digits) of member, bookings, refusals and turns; `looked` is left out, see above."""
        state = self._state
        parts = [state["member"]["tier"], _changed(state["bookings"]), state["refusals"], state["turns"]]
        return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()

    def _begin(self, tier: str, bookings: dict[str, dict[str, Any]]) -> None:
        for view, rows in ((self._state, bookings), (self._initial, dict(bookings))):
            view.update({"member": {"tier": tier}, "bookings": rows, "looked": [], "refusals": [], "turns": 0})

    def _present(self, id: str) -> dict[str, Any] | None:
        booking = self._state["bookings"].get(id)
        return None if booking is None or booking["status"] == "gone" else booking

    def _look(self, id: str) -> Observation:
        booking = self._state["bookings"].get(id)
        if booking is None:
            return _NO
        if id not in self._state["looked"]:
            self._state["looked"].append(id)
        return Observation(f"{booking['plan']} {booking['status']} due {booking['due']} age {booking['age']}")

    def _free(self, id: str) -> Observation:
        booking = self._present(id)
        if booking is None or booking["status"] != "held":
            return _NO
        self._state["bookings"][id] = booking | {"status": "open"}
        return _OK

    def _pay(self, id: str, amount: int) -> Observation:
        booking = self._present(id)
        if booking is None or booking["due"] == 0:
            return _NO
        self._state["bookings"][id] = booking | {"due": 0, "paid": booking["paid"] + amount}
        return _OK

    def _up(self, id: str) -> Observation:
        booking = self._present(id)
        if booking is None or booking["plan"] == PLANS[-1]:
            return _NO
        plan = PLANS[PLANS.index(booking["plan"]) + 1]
        due = min(LARGEST_DUE, booking["due"] + FEES[plan])
        self._state["bookings"][id] = booking | {"plan": plan, "due": due}
        return Observation(f"{plan} due {due}")

    def _cancel(self, id: str) -> Observation:
        booking = self._present(id)
        if booking is None:
            return _NO
        self._state["bookings"][id] = booking | {"status": "gone"}
        return _GONE

    def _extend(self, id: str, days: int) -> Observation:
        booking = self._present(id)
        if booking is None:
            return _NO
        self._state["bookings"][id] = booking | {"extended": booking["extended"] + days}
        return _OK

    def _swap(self, id: str) -> Observation:
        booking = self._present(id)
        if booking is None:
            return _NO
        self._state["bookings"][id] = booking | {"swapped": booking["swapped"] + 1}
        return _OK

    def _refuse(self, id: str, reason: str) -> Observation:
        if id not in self._state["bookings"]:
            return _NO
        insort(self._state["refusals"], [id, reason])
        return _OK

    def _done(self) -> Observation:
        self._state["turns"] += 1
        return _OK


_RUN: dict[str, tuple[Callable[..., Observation], tuple[str, ...]]] = {
    name: (getattr(Desk, f"_{name}"), tuple(parameters)) for name, parameters in PARAMETERS.items()
}


def _tier(tier: str) -> str:
    if tier not in TIERS:
        raise ValueError(f"tier must be one of {', '.join(TIERS)}, not {tier!r}")
    return tier


def _changed(bookings: Mapping[str, dict[str, Any]]) -> dict[str, list[Any]]:
    """The bookings that differ from the base database, as lists of values, in the order of the ids."""
    return {id: list(row.values()) for id, row in bookings.items() if row is not BASE[id] and row != BASE[id]}


def _restored(changed: Mapping[str, list[Any]]) -> dict[str, dict[str, Any]]:
    if not all(id in BASE for id in changed):
        raise ValueError("bookings")
    return dict(BASE) | {id: make_booking(*values) for id, values in changed.items()}
