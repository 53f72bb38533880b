"""The telecom domain of tau2-bench: two databases and dual control, the agent's tools and the user's own phone.

Paper: Gradus section 2.1 and appendix A.2; what holds for all tau2 domains is in `tau2`.

Choices and deviations:

* The two sides are synchronised after every call and init action, as tau2-bench does; a call that only reads leaves
  nothing to synchronise. tau2-bench hashes the two databases apart, hence the pair of official hashes.
* A bill that data refuelling opens gets a counted id; in tau2-bench it is random, so no hash is defined there (no
  reference action opens one).
* In tau2-bench all VPN connections share one object, for the life of the process: once `break_vpn` has slowed it, every
  later connection is slow, in later tasks too. Here this memory belongs to the episode, as in a fresh process.
* A second bill under an existing id is refused (an init action could ask for it).
"""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from inspect_evals.tau2.telecom import tools as agent_tools
from inspect_evals.tau2.telecom import user_tools
from inspect_evals.tau2.telecom.data_model import TelecomDB
from inspect_evals.tau2.telecom.environment import Environment as LibraryEnvironment
from inspect_evals.tau2.telecom.TelecomAgentTools import TelecomAgentTools
from inspect_evals.tau2.telecom.TelecomUserTools import TelecomUserTools
from inspect_evals.tau2.telecom.user_data_model import TelecomUserDB, VpnDetails
from pydantic import BaseModel

from selfevolve.environments.domain import Domain
from selfevolve.environments.library import DATA, Listed, describe, listed, plain, read_data, schema_of
from selfevolve.environments.overlay import Base, Overlay

NOW = "2025-02-25T12:08:00"
IDS = {"customers": "customer_id", "plans": "plan_id", "lines": "line_id", "bills": "bill_id", "devices": "device_id"}
USER = ("device", "surroundings")
MEMORY = "_memory"  # not part of the official state
WRITES = frozenset(
    [
        "suspend_line",
        "resume_line",
        "send_payment_request",
        "enable_roaming",
        "disable_roaming",
        "refuel_data",
        "set_network_mode_preference",
        "toggle_airplane_mode",
        "reseat_sim_card",
        "toggle_data",
        "toggle_roaming",
        "toggle_data_saver_mode",
        "set_apn_settings",
        "reset_apn_settings",
        "toggle_wifi",
        "toggle_wifi_calling",
        "connect_vpn",
        "disconnect_vpn",
        "grant_app_permission",
        "reboot_device",
        "make_payment",
    ]
)


class Memory(BaseModel):
    """What the toolkits remember outside their databases."""

    bills_opened: int = 0
    vpn: VpnDetails


class _Bills:
    def __init__(self, overlay: Overlay):
        self._overlay = overlay

    def __iter__(self) -> Iterator[Any]:
        return iter(self._overlay.seen("bills").values())

    def append(self, bill: Any) -> None:
        if self._overlay.find("bills", bill.bill_id) is not None:
            raise ValueError(f"bill {bill.bill_id} exists already")
        self._overlay.put("bills", bill.bill_id, bill)


class _AgentDB:
    """The agent's database as its toolkit sees it: tables to iterate over, of which only bills ever grow."""

    def __init__(self, overlay: Overlay):
        self._overlay, self.bills = overlay, _Bills(overlay)

    customers = property(lambda self: self._overlay.seen("customers").values())
    plans = property(lambda self: self._overlay.seen("plans").values())
    lines = property(lambda self: self._overlay.seen("lines").values())
    devices = property(lambda self: self._overlay.seen("devices").values())


def _owning(name: str, table: str) -> Callable[..., Any]:
    """A look-up of the library that gives the running call's copy while the toolkit writes.

    The library reaches every entry it changes through one of these look-ups, never by iterating over a table.
    """
    original, identifier = vars(TelecomAgentTools)[name], IDS[table]
    by_id = name.endswith("_by_id")

    @functools.wraps(original)
    def look_up(self: Any, *args: Any, **kwargs: Any) -> Any:
        (value,) = args or kwargs.values()
        found = self.overlay.find(table, value) if by_id else None
        if found is None:  # not an id, or one that is not there: the library finds it or says so
            found = original(self, value)
        return self.overlay.own(table, getattr(found, identifier)) if self.writing else found

    return look_up


class _Agent(plain(TelecomAgentTools)):
    def __init__(self, overlay: Overlay):
        self.overlay, self.db, self.writing = overlay, _AgentDB(overlay), False
        # The library names a new bill `uuid.uuid4().hex[:8]`. This copy of its function sees a counter under that name.
        function = TelecomAgentTools._apply_one_time_charge
        counted = types.FunctionType(function.__code__, function.__globals__ | {"uuid": SimpleNamespace(uuid4=self._next_id)})
        self._apply_one_time_charge = types.MethodType(counted, self)

    def _next_id(self) -> SimpleNamespace:
        memory = self.overlay.own(MEMORY, "")
        memory.bills_opened += 1
        return SimpleNamespace(hex=f"{memory.bills_opened:08x}")

    def _set_bill_to_paid(self, bill_id: str) -> str:
        self.writing = True  # synchronisation looks up without copying, except here
        try:
            return super()._set_bill_to_paid(bill_id)
        finally:
            self.writing = False

    _get_line_by_phone = _owning("_get_line_by_phone", "lines")
    _get_line_by_id = _owning("_get_line_by_id", "lines")
    _get_plan_by_id = _owning("_get_plan_by_id", "plans")
    _get_device_by_id = _owning("_get_device_by_id", "devices")
    _get_bill_by_id = _owning("_get_bill_by_id", "bills")
    get_customer_by_id = _owning("get_customer_by_id", "customers")
    get_customer_by_phone = _owning("get_customer_by_phone", "customers")


class _UserDB:
    """The user's database as its toolkit sees it. Each part is fetched when a call first asks for it."""

    def __init__(self, overlay: Overlay):
        self._fetch = {True: overlay.own, False: overlay.find}
        self.open(False)

    def open(self, writes: bool) -> None:
        fetch = self._fetch
        self.__dict__.clear()
        self._fetch, self._writes = fetch, writes

    def __getattr__(self, table: str) -> Any:
        if table not in (*USER, MEMORY):
            raise AttributeError(table)
        value = self.__dict__[table] = self._fetch[self._writes](table, "")
        return value


class _User(plain(TelecomUserTools)):
    def __init__(self, overlay: Overlay):
        self.db = _UserDB(overlay)

    @property
    def default_vpn_details(self) -> VpnDetails:
        return getattr(self.db, MEMORY).vpn

    def break_vpn(self) -> str:
        text = super().break_vpn()
        if self.device.vpn_details is not None:  # it is the shared object, also when connected in an earlier call
            self.default_vpn_details.server_performance = self.device.vpn_details.server_performance
        return text


class _State(Mapping[str, Any]):
    """The state by top-level name: lists of the agent's database, the user's phone and surroundings."""

    def __init__(self, tables: Mapping[str, dict[str, Any]]):
        self._tables = tables

    def __getitem__(self, name: str) -> Any:
        if name in IDS:
            return list(self._tables[name].values())
        if name in USER:
            return self._tables[name][""]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        yield from (*IDS, *USER)

    def __len__(self) -> int:
        return len(IDS) + len(USER)


@functools.cache
def _parsed() -> tuple[Base, list[Listed], list[Listed], dict[str, Any], str]:
    """(base, agent tools, user tools, state schema, policy), made once per process."""
    folder = DATA / "telecom"
    agent = TelecomDB.model_validate(read_data(folder / "db.toml"))
    user = TelecomUserDB.model_validate(read_data(folder / "user_db.toml"))
    memory = Memory(vpn=TelecomUserTools.model_fields["default_vpn_details"].get_default(call_default_factory=True))
    tables: dict[str, dict[str, Any]] = {
        table: {getattr(entry, identifier): entry for entry in getattr(agent, table)} for table, identifier in IDS.items()
    }
    tables |= {"device": {"": user.device}, "surroundings": {"": user.surroundings}, MEMORY: {"": memory}}
    models = {table: type(next(iter(entries.values()))) for table, entries in tables.items()}
    main, manual = ((folder / name).read_text(encoding="utf-8") for name in ("main_policy.txt", "tech_support_manual.txt"))
    policy = f"<main_policy>\n{main}\n</main_policy>\n<tech_support_policy>\n{manual}\n</tech_support_policy>"  # as tau2-bench
    return (
        Base("tau2/telecom", tables, models),
        listed([describe(tool) for tool in agent_tools.all_telecom_agent_tools], WRITES),
        listed([describe(tool) for tool in user_tools.all_telecom_user_tools], WRITES),
        schema_of(TelecomDB, TelecomUserDB),
        policy,
    )


class Telecom(Domain):
    """The telecom domain: the assistant's tools act on the carrier's database, the user's on a phone."""

    def __init__(self) -> None:
        base, assistants, users, schema, self.policy = _parsed()
        super().__init__("tau2/telecom", NOW, base)
        self.state_schema = copy.deepcopy(schema)
        self._agent, self._user = _Agent(self._overlay), _User(self._overlay)
        self._toolkits = {"assistant": self._agent, "user": self._user}
        self._list_tools("assistant", assistants)
        self._list_tools("user", users)
        self._synchronisation = LibraryEnvironment.__new__(LibraryEnvironment)
        self._synchronisation.tools, self._synchronisation.user_tools = self._agent, self._user
        self._state = _State(self._overlay.live)

    def _open(self, writes: bool) -> None:
        self._agent.writing = writes
        self._user.db.open(writes)

    def _settle(self) -> None:
        self._agent.writing = False
        self._synchronisation.sync_tools()

    @property
    def state(self) -> Mapping[str, Any]:
        return self._state

    @property
    def initial(self) -> Mapping[str, Any]:
        return _State(self._overlay.initial_tables())

    def official_hash(self) -> tuple[str, str]:
        """tau2-bench's hashes of the agent's and of the user's database: sha256 of their sorted JSON dumps."""
        return self._overlay.official(dict.fromkeys(IDS, _array)), self._overlay.official(dict.fromkeys(USER, _single))


def _array(dumps: dict[str, str]) -> str:
    return "[" + ", ".join(dumps.values()) + "]"


def _single(dumps: dict[str, str]) -> str:
    return dumps[""]
