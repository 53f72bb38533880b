"""A toy environment with its library: parcels of a few owners, small enough to know every branch by heart."""

import copy
import hashlib
import json
import pickle
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import yaml
from pydantic import BaseModel

from selfevolve.environments import Observation
from selfevolve.gradus import operators


class Parcel(BaseModel):
    owner: str
    status: Literal["stored", "released"]
    fee: int
    note: str | None = None


class State(BaseModel):
    parcels: dict[str, Parcel]
    owners: dict[str, dict[str, bool]]
    log: list[str]


def tool(name: str, required: tuple[str, ...] = (), **properties: dict) -> dict:
    parameters = {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


TEXT = {"type": "string"}
POLICY = """# Parcels

You are the clerk of a parcel shop. A parcel is released only if nothing is owed for it.
- Ask the owner before you release a parcel.
- It can be released only once.

Fees are paid one by one. Owners may ring.
"""


class Toy:
    """Implements `selfevolve.environments.Environment`; records are replaced, never mutated."""

    name, now, policy = "toy", None, POLICY
    tools = [
        tool("look", ("parcel_id",), parcel_id=TEXT),
        tool("pay", ("parcel_id", "amount"), parcel_id=TEXT, amount={"type": "integer", "minimum": 1}),
        tool("release", ("parcel_id",), parcel_id=TEXT),
        tool("register", ("owner",), owner=TEXT, note=TEXT),
    ]
    user_tools = [tool("ring")]
    state_schema = State.model_json_schema()

    def __init__(self):
        self._base = {
            "parcels": {
                "p1": Parcel(owner="ann", status="stored", fee=0),
                "p2": Parcel(owner="bob", status="stored", fee=2),
                "p3": Parcel(owner="ann", status="stored", fee=1),
            },
            "owners": {"ann": {"vip": True}, "bob": {"vip": False}},
            "log": [],
        }
        self.reset()

    @property
    def state(self):
        return MappingProxyType(self._state)

    @property
    def initial(self):
        return MappingProxyType(self._initial)

    def reset(self, init_actions=()):
        self._state = copy.deepcopy(self._base)
        for action in init_actions:
            if action["func_name"] != "no_owners":
                raise ValueError(f"init action 0, {action['func_name']}: no such function")
            self._state["owners"] = {}
        self._initial = copy.deepcopy(self._state)

    def snapshot(self):
        return pickle.dumps((self._state, self._initial))

    def restore(self, blob):
        self._state, self._initial = pickle.loads(blob)

    def state_hash(self):
        dump = {name: repr(value) for name, value in self._state.items()}
        return hashlib.sha256(json.dumps(dump).encode()).hexdigest()

    def call(self, name, arguments, requestor="assistant"):
        tools = {tool["function"]["name"] for tool in (self.tools if requestor == "assistant" else self.user_tools)}
        if name not in tools:
            return Observation.failed("unknown_tool", name)
        if arguments.get("amount", 1) < 1:
            return Observation.failed("invalid_arguments", "amount is less than 1")
        reason = getattr(self, f"_{name}")(**arguments)
        return Observation.failed("tool_error", reason) if reason else Observation("ok")

    def _change(self, parcel_id, **fields):
        parcel = self._state["parcels"][parcel_id]
        self._state["parcels"][parcel_id] = parcel.model_copy(update=fields)

    def _look(self, parcel_id):
        return None if parcel_id in self._state["parcels"] else "unknown parcel"

    def _pay(self, parcel_id, amount):
        parcel = self._state["parcels"].get(parcel_id)
        if parcel is None or parcel.fee < amount:
            return "nothing to pay"
        self._change(parcel_id, fee=parcel.fee - amount)

    def _release(self, parcel_id):
        parcel = self._state["parcels"].get(parcel_id)
        if parcel is None or parcel.status == "released":
            return "no such parcel here"
        self._change(parcel_id, status="released")

    def _register(self, owner, note=None):
        if owner not in self._state["owners"]:
            return "unknown owner"
        id = f"p{len(self._state['parcels']) + 1}"
        self._state["parcels"][id] = Parcel(owner=owner, status="stored", fee=3, note=note)

    def _ring(self):
        self._state["log"] = [*self._state["log"], "ring"]


LIBRARY = yaml.safe_load("""
domain: toy
state: [parcels, owners, log]
facts:
  asked: {type: boolean, text: the owner was asked}
  owner: {type: string, text: who is there}
situations:
  - {name: nobody, text: there are no owners, actions: [{env_type: assistant, func_name: no_owners, arguments: {}}]}
not_operational:
  - {sentence: You are the clerk of a parcel shop., why: role}
operators:
  - action: look
    kind: read
    description: Look at a parcel.
    parameters: {parcel_id: {values: "keys(parcels) + ['p0']", text: the parcel}}
    guards:
      - {policy_id: look.exists, outcome: known, verdict: allow, enforced_by: api, text: t, when: "parcel_id in parcels"}
      - {policy_id: look.exists, outcome: unknown, verdict: deny, enforced_by: api, text: t, when: "parcel_id not in parcels"}
  - action: pay
    kind: write
    description: Pay for a parcel.
    parameters:
      parcel_id: {values: "keys(parcels) + ['p0']", text: the parcel}
      amount: {values: "[1, 5]", text: how much}
    let: {parcel: "parcels[parcel_id]"}
    guards:
      - {policy_id: pay.exists, outcome: known, verdict: allow, enforced_by: api, text: t, when: "parcel_id in parcels",
         effects: [{path: parcel.fee, value: parcel.fee - amount}], cites: [Fees are paid one by one.]}
      - {policy_id: pay.exists, outcome: unknown, verdict: deny, enforced_by: api, text: t, when: "parcel_id not in parcels"}
      - {policy_id: pay.amount, outcome: fits, verdict: allow, enforced_by: api, text: t, when: amount <= parcel.fee}
      - {policy_id: pay.amount, outcome: too_much, verdict: deny, enforced_by: api, text: t, when: amount > parcel.fee}
  - action: release
    kind: write
    description: Release a parcel.
    parameters: {parcel_id: {values: "keys(parcels) + ['p0']", text: the parcel}}
    let: {parcel: "parcels[parcel_id]"}
    guards:
      - {policy_id: release.exists, outcome: known, verdict: allow, enforced_by: api, text: t, when: "parcel_id in parcels",
         effects: [{path: parcel.status, value: "'released'"}]}
      - {policy_id: release.exists, outcome: unknown, verdict: deny, enforced_by: api, text: t, when: "parcel_id not in parcels"}
      - {policy_id: release.once, outcome: first, verdict: allow, enforced_by: api, text: t, when: parcel.status == 'stored'}
      - {policy_id: release.once, outcome: again, verdict: deny, enforced_by: api, text: t, when: parcel.status == 'released',
         cites: [It can be released only once.]}
      - {policy_id: release.fee, outcome: clear, verdict: allow, enforced_by: policy, text: t, when: parcel.fee == 0,
         cites: [A parcel is released only if nothing is owed for it.]}
      - {policy_id: release.fee, outcome: owed, verdict: deny, enforced_by: policy, text: t, when: parcel.fee > 0,
         cites: [only if nothing is owed]}
      - {policy_id: release.paid, outcome: both_fees, verdict: allow, enforced_by: policy, text: t,
         when: "parcel.fee == 0 and initial.parcels[parcel_id].fee == 2", cites: [Fees are paid one by one.]}
      - {policy_id: release.asked, outcome: asked, verdict: allow, enforced_by: policy, text: t,
         when: facts.asked and facts.owner == parcel.owner, cites: [Ask the owner before you release a parcel.]}
      - {policy_id: release.asked, outcome: not_asked, verdict: deny, enforced_by: policy, text: t,
         when: not facts.asked or facts.owner != parcel.owner, cites: [Ask the owner before you release a parcel.]}
      - {policy_id: release.empty, outcome: empty, verdict: allow, enforced_by: policy, text: t, when: len(parcels) == 0,
         cites: [A parcel is released only if nothing is owed for it.], unreachable: there is always a parcel}
      - {policy_id: release.manners, outcome: kind, verdict: allow, enforced_by: policy, text: in words only, cites: [Owners may ring.]}
  - action: register
    kind: write
    description: Take a parcel.
    parameters:
      owner: {values: "keys(owners) + ['nobody']", text: whose}
      note: {values: "[None, 'fragile']", text: a note}
    let: {new_id: "{1: 'p2', 2: 'p3', 3: 'p4', 4: 'p5', 5: 'p6'}[len(parcels)]"}
    guards:
      - {policy_id: register.owner, outcome: known, verdict: allow, enforced_by: api, text: t, when: owner in owners,
         effects: [{path: "parcels[new_id]",
                    value: "{'owner': owner, 'status': 'stored', 'fee': 3, 'note': default(note, None)}"}]}
      - {policy_id: register.owner, outcome: unknown, verdict: deny, enforced_by: api, text: t, when: owner not in owners}
      - {policy_id: register.open, outcome: nobody, verdict: allow, enforced_by: api, text: t, when: len(owners) == 0}
  - action: ring
    kind: write
    requestor: user
    description: Ring.
    guards:
      - {policy_id: ring.any, outcome: any, verdict: allow, enforced_by: api, text: t, when: "True",
         effects: [{path: log, value: "log + ['ring']"}], cites: [Owners may ring.]}
""")


def library(folder: Path, change=lambda library: None) -> operators.Library:
    """The toy library after `change` has edited its record (nested dicts and lists, as YAML has them)."""
    record = copy.deepcopy(LIBRARY)
    change(record)
    path = folder / "toy.yaml"
    path.write_text(yaml.safe_dump(record, sort_keys=False))
    return operators.load_file(path)
