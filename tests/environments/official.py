"""A slow oracle for the tests: the library's own toolkits, whole copied databases and tau2-bench's hash, nothing of ours.

It also finds the official task files. Run as a script it replays all of them, some minutes, and records the hashes in
`official_hashes.json`: a test compares them all, and the oracle itself only has to be asked about a sample.

    python tests/environments/official.py
"""

import copy
import functools
import gzip
import hashlib
import json
import pickle
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("inspect_evals", reason="pip install inspect-evals==0.26.0")

from inspect_ai.util import Store
from inspect_evals.tau2.airline.AirlineAgentTools import AirlineAgentTools
from inspect_evals.tau2.airline.data_model import FlightDB
from inspect_evals.tau2.retail.data_model import RetailDB
from inspect_evals.tau2.retail.RetailAgentTools import RetailAgentTools
from inspect_evals.tau2.telecom.data_model import TelecomDB
from inspect_evals.tau2.telecom.environment import Environment
from inspect_evals.tau2.telecom.TelecomAgentTools import TelecomAgentTools
from inspect_evals.tau2.telecom.TelecomUserTools import TelecomUserTools
from inspect_evals.tau2.telecom.user_data_model import TelecomUserDB
from inspect_evals.tau2.utils import TAU2_DATA_DIR

DATA = Path(TAU2_DATA_DIR) / "domains"
RECORDED = Path(__file__).with_name("official_hashes.json")
SHARED = Path(__file__).resolve().parents[3] / "shared" / "tau2"
STATELESS = {"calculate", "transfer_to_human_agents", "get_item_details"}  # not methods of the library's toolkits
SIDES = {
    "tau2/airline": [(AirlineAgentTools, FlightDB, "airline/db.json.gz")],
    "tau2/retail": [(RetailAgentTools, RetailDB, "retail/db.json.gz")],
    "tau2/telecom": [
        (TelecomAgentTools, TelecomDB, "telecom/db.toml"),
        (TelecomUserTools, TelecomUserDB, "telecom/user_db.toml"),
    ],
}


@functools.cache
def databases(name: str) -> list[bytes]:
    """The parsed databases, pickled: unpickling is the quickest whole copy."""
    parsed = []
    for _, model, file in SIDES[name]:
        raw = (DATA / file).read_bytes()
        data = tomllib.loads(raw.decode()) if file.endswith("toml") else json.loads(gzip.decompress(raw))
        parsed.append(pickle.dumps(model.model_validate(data)))
    return parsed


class Official:
    """One episode of the library's own code."""

    def __init__(self, name: str, init_actions=()):
        self.toolkits = []
        for (toolkit, _, _), database in zip(SIDES[name], databases(name), strict=True):
            instance = toolkit(store=Store())
            instance.db, instance.initialized = pickle.loads(database), True
            self.toolkits.append(instance)
        self.environment = None
        if name == "tau2/telecom":
            self.environment = Environment(user_tools=self.toolkits[1], tools=self.toolkits[0])
        for action in init_actions:
            self._call(action["env_type"], action["func_name"], action["arguments"])

    def _call(self, side: str, name: str, arguments: dict):
        result = getattr(self.toolkits[side == "user"], name)(**copy.deepcopy(arguments))
        if self.environment:
            self.environment.sync_tools()
        return result

    def call(self, name: str, arguments: dict, requestor: str = "assistant") -> bool:
        """Whether the call succeeded."""
        if name in STATELESS:
            return True
        try:
            self._call(requestor, name, arguments)
        except Exception:
            return False
        return True

    def hash(self):
        """As `official_hash`: one string, or the pair of telecom."""
        hashes = tuple(
            hashlib.sha256(json.dumps(toolkit.db.model_dump(), sort_keys=True, default=str).encode()).hexdigest()
            for toolkit in self.toolkits
        )
        return hashes if len(hashes) > 1 else hashes[0]


def tasks(name: str) -> list[dict]:
    """The official tasks of a domain (`../shared/tau2`; telecom's are in the library). Skips the test if absent."""
    domain = name.removeprefix("tau2/")
    if domain == "telecom":
        return json.loads(gzip.decompress((DATA / "telecom" / "tasks.json.gz").read_bytes()))
    file = SHARED / domain / "tasks.json"
    if not file.exists():
        pytest.skip(f"{file} is not there: it holds the official tasks")
    return json.loads(file.read_text(encoding="utf-8"))


def older_tasks(name: str) -> list[dict]:
    """The older tasks inside the library, of airline and retail."""
    return json.loads((DATA / name.removeprefix("tau2/") / "tasks.json").read_text(encoding="utf-8"))


def init_actions(task: dict) -> list[dict]:
    return (task.get("initial_state") or {}).get("initialization_actions") or []


def reference(task: dict) -> list[tuple[str, dict, str]]:
    """The reference calls of a task: (name, arguments, requestor)."""
    actions = task["evaluation_criteria"]["actions"] or []
    return [(action["name"], action["arguments"], action.get("requestor") or "assistant") for action in actions]


def digest(hashes: list) -> str:
    """One hash of the hashes of many tasks."""
    return hashlib.sha256(json.dumps(hashes).encode()).hexdigest()


def official_hash(name: str, task: dict):
    """The hash after the task's reference actions, by the library's own code."""
    episode = Official(name, init_actions(task))
    for call in reference(task):
        episode.call(*call)
    return episode.hash()


def record() -> None:
    recorded = {name: digest([official_hash(name, task) for task in tasks(name)]) for name in SIDES}
    RECORDED.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
