"""The real environments: the domains of tau2-bench, on the tool code, databases and policies of `inspect-evals`.

Paper: Gradus section 2.1 and appendix A.2. The domain logic is the library's own methods, lifted out of its evaluation
framework; what surrounds them is ours: the schema check, typed errors, copy-on-access state, hashes and snapshots.

Deviations from tau2-bench, which none of its reference actions can tell:

* Arguments are checked against the schema, and the schema is strict where the library's has a loose alternative ("an
  APN setting or any object") or lets a certificate be of -500 dollars. Only listed tools can be called.
* A call that fails leaves no trace, and one whose changes would not fit a snapshot fails (see `overlay`).
* Retail has `get_item_details`, which the library's copy lacks. Arithmetic of `calculate` is bounded (the library's own).
* Nothing is random and no temporary files are written (the library unpacks databases into `/tmp`).
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

from inspect_ai.tool import ToolError
from inspect_evals.tau2.airline import tools as airline_tools
from inspect_evals.tau2.airline.AirlineAgentTools import AirlineAgentTools
from inspect_evals.tau2.airline.data_model import FlightDB
from inspect_evals.tau2.common import tools as common_tools
from inspect_evals.tau2.retail import tools as retail_tools
from inspect_evals.tau2.retail.data_model import RetailDB
from inspect_evals.tau2.retail.RetailAgentTools import RetailAgentTools
from pydantic import BaseModel

from selfevolve.environments.domain import Domain
from selfevolve.environments.library import DATA, Listed, describe, listed, plain, read_data, schema_of, synchronous
from selfevolve.environments.overlay import Base, WorkingTable


class _Retail(plain(RetailAgentTools)):
    def get_item_details(self, item_id: str) -> BaseModel:
        for product in self.db.products.values():
            if item_id in product.variants:
                return product.variants[item_id]
        raise ToolError("Item not found")


GET_ITEM_DETAILS = {
    "type": "function",
    "function": {
        "name": "get_item_details",
        "description": "Get the inventory details of an item: its options, price and whether it is available.",
        "parameters": {
            "type": "object",
            "properties": {
                "item_id": {
                    "type": "string",
                    "description": "The item id, such as '1008292230'. Be careful the item id is different from the product id.",
                }
            },
            "required": ["item_id"],
            "additionalProperties": False,
        },
    },
}


class _Spec(NamedTuple):
    """What tells airline and retail apart. `tables` in the order of `state`."""

    now: str | None
    toolkit: type
    database: type[BaseModel]
    tables: tuple[str, ...]
    descriptions: Callable[[], list[dict[str, Any]]]
    writes: frozenset[str]


_SPECS = {
    "airline": _Spec(
        "2024-05-15T15:00:00",
        plain(AirlineAgentTools),
        FlightDB,
        ("flights", "reservations", "users"),
        lambda: [describe(tool) for tool in airline_tools.all_airline_tools],
        frozenset(
            [
                "book_reservation",
                "cancel_reservation",
                "send_certificate",
                "update_reservation_baggages",
                "update_reservation_flights",
                "update_reservation_passengers",
            ]
        ),
    ),
    "retail": _Spec(
        None,
        _Retail,
        RetailDB,
        ("products", "orders", "users"),
        lambda: [*(describe(tool) for tool in retail_tools.all_retail_tools), GET_ITEM_DETAILS],
        frozenset(
            [
                "cancel_pending_order",
                "exchange_delivered_order_items",
                "modify_pending_order_address",
                "modify_pending_order_items",
                "modify_pending_order_payment",
                "modify_user_address",
                "return_delivered_order_items",
            ]
        ),
    ),
}


@functools.cache
def _parsed(domain: str) -> tuple[Base, list[Listed], dict[str, Any], str]:
    """(base, tools, state schema, policy) of airline or retail, made once per process."""
    spec, folder = _SPECS[domain], DATA / domain
    database = spec.database.model_validate(read_data(folder / "db.json.gz"))
    tables = {table: getattr(database, table) for table in spec.tables}
    models = {table: type(next(iter(entries.values()))) for table, entries in tables.items()}
    policy = (folder / "policy.txt").read_text(encoding="utf-8")
    tools = listed(spec.descriptions(), spec.writes)
    return Base(f"tau2/{domain}", tables, models), tools, schema_of(spec.database), policy


class Tau2(Domain):
    """Airline or retail: databases of dictionaries, one toolkit.

    Args:
        name: `tau2/airline` or `tau2/retail`.
    """

    def __init__(self, name: str):
        domain = name.removeprefix("tau2/")
        spec = _SPECS[domain]
        base, tools, schema, self.policy = _parsed(domain)
        super().__init__(name, spec.now, base)
        self.state_schema = copy.deepcopy(schema)
        toolkit = self._toolkits["assistant"] = spec.toolkit()
        self._list_tools(
            "assistant",
            tools,
            calculate=synchronous(common_tools.calculate),
            transfer_to_human_agents=synchronous(common_tools.transfer_to_human_agents),
        )
        live = self._overlay.live
        self._reading = SimpleNamespace(**live)
        self._working = SimpleNamespace(**{table: WorkingTable(self._overlay, table) for table in live})
        toolkit.db = self._reading
        self._state = _view(live)

    def _open(self, writes: bool) -> None:
        self._toolkits["assistant"].db = self._working if writes else self._reading

    @property
    def state(self) -> Mapping[str, Any]:
        return self._state

    @property
    def initial(self) -> Mapping[str, Any]:
        return _view(self._overlay.initial_tables())

    def official_hash(self) -> str:
        """tau2-bench's hash of the database: sha256 of its sorted JSON dump."""
        return self._overlay.official(dict.fromkeys(self._overlay.base.tables, _object))


def _view(tables: Mapping[str, dict[str, Any]]) -> Mapping[str, Any]:
    return MappingProxyType({table: MappingProxyType(entries) for table, entries in tables.items()})


def _object(dumps: dict[str, str]) -> str:
    return "{" + ", ".join(f"{json.dumps(entry)}: {dumps[entry]}" for entry in sorted(dumps)) + "}"
