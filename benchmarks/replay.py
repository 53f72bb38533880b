"""Replay of reference actions against the official way, side by side in one run: CPU milliseconds per task.

    python benchmarks/replay.py [--shared ../shared] [--sample 8]

Ours: `reset(init actions)`, the reference calls, `state_hash()`, for every official task (airline 50, retail 114,
telecom 2,285; without ../shared the older airline and retail files inside `inspect-evals`). "first" is the first time a
task is seen, when telecom's init actions run; "again" is the mean of three more passes, as in search and training.
Official: a whole database per task, loaded or deep-copied, whichever is cheaper here, the same calls on the library's
plain toolkits, and the sha256 of the sorted JSON dump of the whole database, on a sample of the tasks. Both hashes are
checked to agree. The last line is JSON; a ratio is official / ours (again).
"""

import argparse
import copy
import gzip
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_evals.tau2.airline.AirlineAgentTools import AirlineAgentTools
from inspect_evals.tau2.airline.data_model import FlightDB
from inspect_evals.tau2.retail.data_model import RetailDB
from inspect_evals.tau2.retail.RetailAgentTools import RetailAgentTools
from inspect_evals.tau2.telecom.data_model import TelecomDB
from inspect_evals.tau2.telecom.environment import Environment as TelecomPair
from inspect_evals.tau2.telecom.TelecomAgentTools import TelecomAgentTools
from inspect_evals.tau2.telecom.TelecomUserTools import TelecomUserTools
from inspect_evals.tau2.telecom.user_data_model import TelecomUserDB, VpnDetails

from selfevolve.environments import load
from selfevolve.environments.library import DATA, plain, read_data

SIDES = {
    "airline": [(AirlineAgentTools, FlightDB, "airline/db.json.gz")],
    "retail": [(RetailAgentTools, RetailDB, "retail/db.json.gz")],
    "telecom": [(TelecomAgentTools, TelecomDB, "telecom/db.toml"), (TelecomUserTools, TelecomUserDB, "telecom/user_db.toml")],
}
PASSES = 3


def tasks_of(domain: str, shared: Path) -> list[tuple[list, list]]:
    """(init actions, calls) of each task."""
    file = shared / "tau2" / domain / "tasks.json"
    if domain == "telecom" or not file.exists():
        file = next(DATA.joinpath(domain).glob("tasks.json*"))
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    found = []
    for task in json.loads(raw):
        init = (task.get("initial_state") or {}).get("initialization_actions") or []
        actions = task["evaluation_criteria"]["actions"] or []
        found.append((init, [(a["name"], a["arguments"], a.get("requestor") or "assistant") for a in actions]))
    return found


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """(CPU seconds, result)."""
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def ours(env, tasks: list) -> None:
    for init, calls in tasks:
        env.reset(init)
        for call in calls:
            env.call(*call)
        env.state_hash()


def official(domain: str, databases: list, init: list, calls: list) -> tuple[str, ...]:
    """Replay on whole databases; returns their hashes."""
    toolkits = []
    for (toolkit, _, _), database in zip(SIDES[domain], databases, strict=True):
        toolkits.append(plain(toolkit)())
        toolkits[-1].db = database
    pair = None
    if domain == "telecom":
        toolkits[1].default_vpn_details = VpnDetails(
            server_address="192.168.1.1", protocol="OpenVPN", server_performance="excellent"
        )
        pair = TelecomPair(user_tools=toolkits[1], tools=toolkits[0])
    steps = [(action["env_type"], action["func_name"], action["arguments"]) for action in init]
    for side, name, arguments in [*steps, *((requestor, name, arguments) for name, arguments, requestor in calls)]:
        function = getattr(toolkits[side == "user"], name, None)  # calculate, transfer and get_item_details change nothing
        try:
            if function:
                function(**arguments)
                if pair:
                    pair.sync_tools()
        except Exception:  # some references look up what is not there
            continue
    dumps = (json.dumps(toolkit.db.model_dump(), sort_keys=True, default=str) for toolkit in toolkits)
    return tuple(hashlib.sha256(dump.encode()).hexdigest() for dump in dumps)


def measure(domain: str, tasks: list, sample: int) -> dict[str, float]:
    """Figures of one domain, in CPU milliseconds and bytes."""
    env = load(f"tau2/{domain}")
    ours(env, tasks[:1])  # the base entries this touches are dumped once per process
    first = timed(lambda: ours(env, tasks))[0] / len(tasks)
    again = timed(lambda: [ours(env, tasks) for _ in range(PASSES)])[0] / PASSES / len(tasks)
    sizes, hash_s = [], 0.0
    for init, calls in tasks:
        env.reset(init)
        for call in calls:
            env.call(*call)
        sizes.append(len(env.snapshot()))
    env.official_hash()
    hash_s = timed(lambda: [env.official_hash() for _ in range(20)])[0] / 20
    parsed = [model.model_validate(read_data(DATA / file)) for _, model, file in SIDES[domain]]
    ways = {
        "load": lambda: [model.model_validate(read_data(DATA / file)) for _, model, file in SIDES[domain]],
        "deepcopy": lambda: copy.deepcopy(parsed),
    }
    get = {name: timed(way)[0] for name, way in ways.items()}
    fetch = ways[min(get, key=get.get)]
    chosen = tasks[:: max(1, len(tasks) // sample)][:sample]
    theirs = 0.0
    for init, calls in chosen:
        seconds, hashes = timed(lambda init=init, calls=calls: official(domain, fetch(), init, calls))
        theirs += seconds / len(chosen)
        env.reset(init)
        for call in calls:
            env.call(*call)
        mine = env.official_hash()
        if hashes != ((mine,) if isinstance(mine, str) else mine):
            raise SystemExit(f"{domain}: the hashes differ; the figures would compare different work")
    return {
        "tasks": len(tasks),
        "first_ms": first * 1e3,
        "again_ms": again * 1e3,
        "official_ms": theirs * 1e3,
        "official_by": min(get, key=get.get),
        "official_hash_ms": hash_s * 1e3,
        "ratio": theirs / again,
        "ratio_first": theirs / first,
        "snapshot_max_bytes": max(sizes),
        "snapshot_mean_bytes": sum(sizes) / len(sizes),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[2] / "shared")
    parser.add_argument("--sample", type=int, default=8, help="tasks the official way is measured on")
    arguments = parser.parse_args()
    print(f"{'domain':9}{'tasks':>6}{'first ms':>10}{'again ms':>10}{'official ms':>13}{'ratio':>8}{'snapshot max':>14}")
    results = {}
    for domain in SIDES:
        result = results[domain] = measure(domain, tasks_of(domain, arguments.shared), arguments.sample)
        print(
            f"{domain:9}{result['tasks']:6}{result['first_ms']:10.3f}{result['again_ms']:10.3f}{result['official_ms']:13.1f}"
            f"{result['ratio']:8.0f}{result['snapshot_max_bytes']:14,}"
        )
    print(
        json.dumps(
            {domain: {key: round(v, 3) if isinstance(v, float) else v for key, v in r.items()} for domain, r in results.items()}
        )
    )


if __name__ == "__main__":
    main()
