"""One domain, start to end: every arm's search and recovery, each resumable, and what came of them as tables.

Paper: Gradus Algorithm 1 (A.4), 3.1 and A.6 (arms).

    <work>/<arm>/journal.jsonl   every request, outcome and rollout that is done; a killed run goes on from here
    <work>/<arm>/*.parquet       the tables of a finished arm, see `Tables`
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import polars as pl

from selfevolve import paths
from selfevolve.environments import load
from selfevolve.gradus import baselines, graph, kernels, operators, recovery, search
from selfevolve.gradus.blueprints import Blueprint
from selfevolve.gradus.difficulty import difficulty
from selfevolve.gradus.journal import Journal
from selfevolve.gradus.llm import wording
from selfevolve.gradus.pool import Pool
from selfevolve.gradus.recovery import Outcome
from selfevolve.gradus.roles import Roles
from selfevolve.gradus.settings import Arm, Gradus
from selfevolve.gradus.tasks import Demonstration, Task
from selfevolve.parallel import run_all
from selfevolve.progress import Progress

DOMAINS = {"airline": "tau2/airline", "retail": "tau2/retail", "telecom": "tau2/telecom", "desk": "desk"}
EXECUTED = 6  # calls per action whose effects are measured for the edges


class Tables(NamedTuple):
    """What a domain's run left, in the order of the arms and, in each, of the blueprints.

    records: one row per blueprint: arm, blueprint (id), parent, depth, kernels, interactions, intended (branches, `action:
    policy/outcome`), actions (state-changing ones performed), accepted, verified, round (of the accepted task), passes (of the loop),
    reason (why not accepted), do_nothing, realised (branches), difficulty (0 to 1), and records as JSON: plan (the blueprint),
    specification (the task), demonstration.
    rounds: one row per pass of the loop: arm, blueprint, pass, task_round, revisions, accepted, route, feedback.
    attempts: one row per rollout: arm, blueprint, pass, branch, attempt, verified, score, reasons.
    refused: requests of the search that brought no blueprint: arm, request, parent, kernel, reason.
    """

    records: pl.DataFrame
    rounds: pl.DataFrame
    attempts: pl.DataFrame
    refused: pl.DataFrame


SCHEMAS = {
    "records": {
        **dict.fromkeys(("arm", "blueprint", "parent"), pl.String),
        "depth": pl.Int64,
        **dict.fromkeys(("kernels", "interactions", "intended", "actions"), pl.List(pl.String)),
        **dict.fromkeys(("accepted", "verified"), pl.Boolean),
        **dict.fromkeys(("round", "passes"), pl.Int64),
        "reason": pl.String,
        "do_nothing": pl.Boolean,
        "realised": pl.List(pl.String),
        "difficulty": pl.Float64,
        **dict.fromkeys(("plan", "specification", "demonstration"), pl.String),
    },
    "rounds": {
        **dict.fromkeys(("arm", "blueprint"), pl.String),
        **dict.fromkeys(("pass", "task_round", "revisions"), pl.Int64),
        "accepted": pl.Boolean,
        **dict.fromkeys(("route", "feedback"), pl.String),
    },
    "attempts": {
        **dict.fromkeys(("arm", "blueprint"), pl.String),
        **dict.fromkeys(("pass", "branch", "attempt"), pl.Int64),
        "verified": pl.Boolean,
        "score": pl.Float64,
        "reasons": pl.List(pl.String),
    },
    "refused": dict.fromkeys(("arm", "request", "parent", "kernel", "reason"), pl.String),
}


def make(domain: str, settings: Gradus, work: Path) -> tuple[Tables, str]:
    """Run every arm, or go on with those that are not finished.

    Args:
        domain: a key of `DOMAINS`.
        work: folder of this run; what is in it is taken up.

    Returns:
        The tables, and who played the roles, as a sentence for the first line of whatever shows them.
    """
    work.mkdir(parents=True, exist_ok=True)
    if settings.roles == "scripted":
        run_all("selfevolve.gradus.run:finish", [(domain, name, settings, work) for name in settings.arms], settings.workers, 1)
        origin = "**Roles were scripted**: their error rates are settings (`gradus.scripted`), not findings about any model."
    else:
        for name in settings.arms:
            finish(domain, name, settings, work)
        origin = f"Roles were played by {settings.llm.model}."
    parts = {table: pl.concat([pl.read_parquet(work / name / f"{table}.parquet") for name in settings.arms]) for table in SCHEMAS}
    return Tables(**parts), origin


def finish(domain: str, name: str, settings: Gradus, work: Path) -> None:
    """Run one arm to its end and write its tables; nothing if they are there."""
    folder = work / name
    if (folder / "records.parquet").is_file():
        return
    folder.mkdir(exist_ok=True)
    arm, library, pool = settings.arms[name], _library(domain), Pool(DOMAINS[domain])
    workers = settings.workers if settings.roles == "llm" else 1
    with Journal(folder / "journal.jsonl") as journal, _roles(domain, arm, settings) as roles:
        blueprints, refused, tasks = _proposed(arm, roles, library, pool, settings, journal, workers)
        progress = Progress(f"{domain} {name}: blueprints", len(blueprints))
        outcomes = recovery.recover_all(
            blueprints,
            roles,
            pool.lend,
            library,
            settings.recovery,
            arm.validity,
            settings.seed,
            journal,
            tasks=tasks,
            workers=workers,
            done=progress.update,
        )
        hard = difficulty(blueprints, outcomes, roles, pool.lend, library, settings.recovery, settings.seed, journal, workers)
    written = {"refused": [{"arm": name, **each.model_dump(mode="json")} for each in refused]}
    written |= _rows(name, library, blueprints, outcomes, hard)
    for table in ("refused", "rounds", "attempts", "records"):  # the last one says that the arm is finished
        pl.DataFrame(written[table], schema=SCHEMAS[table], orient="row").write_parquet(folder / f"{table}.parquet")


def _proposed(
    arm: Arm, roles: Roles, library: operators.Library, pool: Pool, settings: Gradus, journal: Journal, workers: int
) -> tuple[list[Blueprint], list, dict]:
    if arm.method == "gradus":
        return *search.evolve(roles, library, kernels.load(), settings.search, arm, settings.seed, journal, workers), {}
    with pool.lend() as env:
        return baselines.propose(arm, roles, library, env, settings.search, settings.seed, journal, workers)


@contextmanager
def _roles(domain: str, arm: Arm, settings: Gradus) -> Iterator[Roles]:
    """The roles of an arm. Without operators, the artifacts they were compiled from (A.6)."""
    library = _library(domain)
    if settings.roles == "scripted":
        from selfevolve.gradus.scripted.roles import ScriptedRoles

        yield ScriptedRoles(library, lambda: load(DOMAINS[domain]), _edges(domain), settings.scripted, operators=arm.operators)
        return
    from selfevolve.gradus.llm.client import Client
    from selfevolve.gradus.llm.roles import LlmRoles

    env = load(DOMAINS[domain])
    with Client(settings.llm, calls(domain)) as client:
        yield LlmRoles(client, library, env, None if arm.operators else wording.artifacts(library, env))
        print(client.report().text())


def write(out: Path, tables: Tables, domain: str, settings: Gradus) -> None:
    """Write the tables, and the recorded calls of a model, to the stage's folder."""
    out.mkdir(parents=True, exist_ok=True)
    for name, table in tables._asdict().items():
        table.write_parquet(out / f"{name}.parquet")
    if settings.roles == "llm":
        shutil.copytree(calls(domain), out / "calls")


def example(records: pl.DataFrame) -> str:
    """The deepest recovered task of an arm, as text: blueprint, reference and accepted conversation; the first task if none was recovered."""
    accepted = records.filter("accepted").sort("round", "depth", descending=True, maintain_order=True)
    if accepted.is_empty():
        return "no task was accepted"
    row = accepted.row(0, named=True)
    blueprint, task = Blueprint.model_validate_json(row["plan"]), Task.model_validate_json(row["specification"])
    demonstration = Demonstration.model_validate_json(row["demonstration"])
    parts = {
        f"Blueprint (depth {blueprint.depth}, accepted in round {row['round']})": wording.blueprint(blueprint),
        "User's instructions, hidden from the agent": task.scenario,
        "Reference": wording.reference(task),
        "Conversation": wording.conversation(demonstration.events),
    }
    return "\n\n".join(f"{title}\n{text}" for title, text in parts.items())


def calls(domain: str) -> Path:
    """Where the recorded calls of a domain are kept, whatever is run: the same call is never paid twice."""
    return paths.ROOT / ".cache" / "calls" / domain


@functools.lru_cache(maxsize=1)
def _library(domain: str) -> operators.Library:
    """The domain's operators, one object for all arms of a process: what is remembered about it is shared."""
    return operators.load(DOMAINS[domain])


@functools.lru_cache(maxsize=1)
def _edges(domain: str) -> pl.DataFrame:
    return graph.edges(_library(domain), load(DOMAINS[domain]), executed=EXECUTED)


def _rows(
    arm: str,
    library: operators.Library,
    blueprints: Sequence[Blueprint],
    outcomes: Sequence[Outcome],
    hard: Sequence[float | None],
) -> dict[str, list[dict]]:
    rows: dict[str, list[dict]] = {"records": [], "rounds": [], "attempts": []}
    writes = {action for action, operator in library.operators.items() if operator.kind == "write"}
    named: Callable[[Sequence], list[str]] = lambda branches: sorted(f"{b[0]}: {b[1]}/{b[2]}" for b in branches)  # noqa: E731
    for blueprint, outcome, level in zip(blueprints, outcomes, hard, strict=True):
        made = outcome.task.reference if outcome.task is not None else ()
        rows["records"].append(
            {
                "arm": arm,
                "blueprint": blueprint.id,
                "parent": blueprint.parent,
                "depth": blueprint.depth,
                "kernels": list(blueprint.kernels),
                "interactions": list(blueprint.interactions),
                "intended": named(blueprint.branches),
                "actions": sorted({call.name for call in made if call.name in writes}),
                "accepted": outcome.accepted,
                "verified": outcome.verified,
                "round": outcome.round,
                "passes": len(outcome.trace),
                "reason": outcome.reason,
                "do_nothing": outcome.do_nothing,
                "realised": named(outcome.realised),
                "difficulty": level,
                "plan": blueprint.model_dump_json(),
                "specification": outcome.task.model_dump_json() if outcome.task else None,
                "demonstration": outcome.demonstration.model_dump_json() if outcome.demonstration else None,
            }
        )
        for number, entry in enumerate(outcome.trace):
            place = {"arm": arm, "blueprint": blueprint.id, "pass": number}
            accepted = outcome.accepted and number == len(outcome.trace) - 1
            rows["rounds"].append(
                place
                | {"task_round": entry.task_round, "revisions": entry.revisions, "accepted": accepted, "route": entry.route}
                | {"feedback": entry.error or entry.feedback}
            )
            rows["attempts"] += [place | attempt.model_dump(mode="json") for attempt in entry.attempts]
    return rows
