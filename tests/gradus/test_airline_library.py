"""The airline library against the official references, the older ones, and each of its branches.

The predicates here are written again in plain Python over the JSON of the database, so that a slip in a guard shows.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from selfevolve.environments import load
from selfevolve.gradus import candidates, operators
from selfevolve.gradus.outcomes import possible
from selfevolve.gradus.sentences import Sentences

pytest.importorskip("inspect_evals", reason="the tau2 domains need inspect-evals")

OFFICIAL = Path(__file__).parents[3] / "shared/tau2/airline/tasks.json"
WRITES = {
    "book_reservation",
    "cancel_reservation",
    "update_reservation_flights",
    "update_reservation_baggages",
    "update_reservation_passengers",
    "send_certificate",
}


@pytest.fixture(scope="module")
def library():
    return operators.load("tau2/airline")


@pytest.fixture(scope="module")
def shared_env():
    return load("tau2/airline")


@pytest.fixture
def env(shared_env):
    shared_env.reset()
    return shared_env


@pytest.fixture(scope="module")
def base():
    """The database as plain JSON: {"flights", "reservations", "users"}."""
    from inspect_evals.tau2.utils import TAU2_DATA_DIR

    from selfevolve.environments.tau2 import read_data

    return read_data(Path(TAU2_DATA_DIR) / "domains/airline/db.json.gz")


def statuses(base, reservation):
    return {base["flights"][leg["flight_number"]]["dates"][leg["date"]]["status"] for leg in reservation["flights"]}


def flown(base, reservation):
    return bool(statuses(base, reservation) & {"flying", "landed"})


def triggers(base, reservation):
    """The triggers that the state alone decides, plus "insured" for insured reservations, whatever the reason."""
    found = set()
    if "2024-05-14T15:00:00" <= reservation["created_at"] <= "2024-05-15T15:00:00":
        found.add("24h")
    if "cancelled" in statuses(base, reservation):
        found.add("airline")
    if reservation["cabin"] == "business":
        found.add("business")
    if reservation["insurance"] == "yes":
        found.add("insured")
    return found


def first(base, predicate):
    """(id, record) of the first reservation with the property."""
    return next((id, record) for id, record in base["reservations"].items() if predicate(record))


def legs(reservation):
    return [{"flight_number": leg["flight_number"], "date": leg["date"]} for leg in reservation["flights"]]


def outcomes(judgement, policy):
    return {unit.outcome for unit in judgement.units if unit.policy_id == policy}


def undecided(judgement, policy):
    return {entry.outcome for entry in judgement.undetermined if entry.policy_id == policy}


# ------------------------------------------------------------------------------------------------------- references


def tasks_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


def judged(library, env, task, facts=None):
    """(call, judgement) of each write of a task's reference, in the state it meets."""
    env.reset()
    for action in task["evaluation_criteria"]["actions"] or ():
        if action["name"] in WRITES:
            yield action, library.judge(env, action["name"], action["arguments"], facts)
        assert env.call(action["name"], action["arguments"]).ok


@pytest.mark.skipif(not OFFICIAL.exists(), reason=f"the official task files are not at {OFFICIAL}")
@pytest.mark.parametrize("known", [False, True], ids=["without facts", "caller known"])
def test_every_official_write_passes(library, env, known):
    count, flagged = 0, []
    for task in tasks_of(OFFICIAL):
        instructions = json.dumps(task["user_scenario"])
        caller = next((user for user in env.state["users"] if user in instructions), None)
        for action, judgement in judged(library, env, task, {"user_id": caller} if known and caller else None):
            count += 1
            if judgement.violations or judgement.rejections:
                flagged.append((task["id"], action["name"], judgement.violations, judgement.rejections))
            if known and caller and action["name"] != "send_certificate":
                assert any(unit.outcome == "own" for unit in judgement.units)
    assert flagged == []
    assert count == 49


def test_older_references_that_were_corrected_are_flagged(library, env):
    from inspect_evals.tau2.utils import TAU2_DATA_DIR

    flagged, undetermined = {}, {}
    for task in tasks_of(Path(TAU2_DATA_DIR) / "domains/airline/tasks.json"):
        for action, judgement in judged(library, env, task):
            for policy in judgement.violations:
                flagged.setdefault(task["id"], set()).add((action["name"], policy))
            if undecided(judgement, "book.details") or undecided(judgement, "cancel.trigger"):
                undetermined.setdefault(task["id"], set()).update(
                    (entry.policy_id, entry.facts)
                    for entry in judgement.undetermined
                    if entry.outcome in ("none", "not_collected")
                )
    assert flagged == {
        "2": {("send_certificate", "certificate.ground")},  # a delay, the reservation left as it was
        "7": {("cancel_reservation", "cancel.trigger")},  # upgraded to economy, which is no trigger
        "9": {("cancel_reservation", "cancel.flown")},
        "27": {("send_certificate", "certificate.ground")},
        "29": {("update_reservation_flights", "flights.route")},  # LGA became JFK
        "33": {("update_reservation_baggages", "bags.allowance")},  # two free bags charged
        "37": {("cancel_reservation", "cancel.flown")},
        "38": {("send_certificate", "certificate.ground")},
    }
    # The other three hang on what the user said: passengers who are not in the profile (23, 35), the reason (44).
    assert {task: undetermined[task] for task in ("23", "35", "44")} == {
        "23": {("book.details", ("details_given",))},
        "35": {("book.details", ("details_given",))},
        "44": {("cancel.trigger", ("reason",))},
    }


def test_old_reference_of_44_breaks_the_policy_once_the_reason_is_known(library, env):
    call = {"reservation_id": "S61CZX"}
    assert "cancel.trigger" in library.judge(env, "cancel_reservation", call, {"reason": "change_of_plan"}).violations
    assert "cancel.trigger" not in library.judge(env, "cancel_reservation", call, {"reason": "health"}).violations


# ------------------------------------------------------------------------------------------------------ cancellation


def test_an_upgrade_enables_the_cancellation(library, env, base):
    """Appendix A.7."""

    def cards(r):
        methods = base["users"][r["user_id"]]["payment_methods"]
        return [id for id, method in methods.items() if method["source"] == "credit_card"]

    def plain(r):
        return not triggers(base, r) and r["cabin"] == "economy" and cards(r) and statuses(base, r) == {"available"}

    id, record = first(base, lambda r: plain(r) and seats_in_business(base, r))
    cancel = {"reservation_id": id}
    before = library.judge(env, "cancel_reservation", cancel)
    assert before.violations == ("cancel.trigger",)
    assert outcomes(before, "cancel.trigger") == {"none"}
    upgrade = {"reservation_id": id, "cabin": "business", "flights": legs(record), "payment_id": cards(record)[0]}
    assert library.judge(env, "update_reservation_flights", upgrade).violations == ()
    assert env.call("update_reservation_flights", upgrade).ok
    after = library.judge(env, "cancel_reservation", cancel)
    assert after.violations == () and outcomes(after, "cancel.trigger") == {"business"}
    assert env.call("cancel_reservation", cancel).ok
    assert library.judge(env, "cancel_reservation", cancel).violations == ("cancel.live",)


def seats_in_business(base, record):
    dates = [base["flights"][leg["flight_number"]]["dates"][leg["date"]] for leg in record["flights"]]
    return all(date["available_seats"]["business"] >= len(record["passengers"]) for date in dates)


def test_triggers_of_all_base_reservations(library, env, base):
    """Every combination of triggers, with and without a covered reason, and the counts by combination."""
    counts = Counter()
    for id, record in base["reservations"].items():
        expected, call = triggers(base, record), {"reservation_id": id}
        for reason in ("health", "weather", "change_of_plan"):
            judgement = library.judge(env, "cancel_reservation", call, {"reason": reason})
            held = expected - ({"insured"} if reason == "change_of_plan" else set())
            assert outcomes(judgement, "cancel.trigger") == (held or {"none"})
            assert outcomes(judgement, "cancel.flown") == {"flown" if flown(base, record) else "unflown"}
        open_end = library.judge(env, "cancel_reservation", call)
        in_state = expected - {"insured"}
        if "insured" not in expected:
            assert outcomes(open_end, "cancel.trigger") == (in_state or {"none"}) and not undecided(open_end, "cancel.trigger")
        else:
            assert outcomes(open_end, "cancel.trigger") == in_state
            assert undecided(open_end, "cancel.trigger") == ({"insured"} if in_state else {"insured", "none"})
            assert "cancel.trigger" not in open_end.violations
        counts[" ".join(sorted(expected)) or "none"] += 1
        counts["flown"] += flown(base, record)
    assert counts == {
        "none": 616,
        "insured": 608,
        "business insured": 322,
        "business": 304,
        "airline insured": 45,
        "airline": 30,
        "airline business": 20,
        "airline business insured": 14,
        "24h": 14,
        "24h business": 10,
        "24h insured": 10,
        "24h business insured": 5,
        "24h airline": 1,
        "24h airline insured": 1,
        "flown": 714,
    }


@pytest.mark.parametrize(("age", "recent"), [(0, True), (86_399, True), (86_400, True), (86_401, False), (-1, False)])
def test_24_hours_to_the_second(library, env, base, age, recent):
    """`age` of the booking in seconds. The clock is moved, not the booking."""
    id, record = first(base, lambda r: not triggers(base, r) - {"insured"})
    now = datetime.fromisoformat(record["created_at"]) + timedelta(seconds=age)
    moved = SimpleNamespace(state=env.state, initial=env.initial, now=now.isoformat())
    judgement = library.judge(moved, "cancel_reservation", {"reservation_id": id}, {"reason": "other"})
    assert outcomes(judgement, "cancel.trigger") == ({"24h"} if recent else {"none"})


# ---------------------------------------------------------------------------------------------------------- totality


def test_every_policy_has_an_outcome_for_every_call(library, env):
    """For calls that the tools accept, whatever the dialogue told: each policy that can be broken says something."""
    for action, operator in library.operators.items():
        policies = {guard.policy_id for guard in operator.guards if guard.verdict == "deny" and guard.enforced_by == "policy"}
        for arguments in candidates.calls(library, env, action, 300, random.Random(0)):
            judgement = library.judge(env, action, arguments)
            if judgement.rejections:
                continue
            open_end = {unit.policy_id for unit in judgement.units} | {entry.policy_id for entry in judgement.undetermined}
            assert policies <= open_end, (action, arguments, policies - open_end)
            told = possible(library, env, action, arguments)
            assert [policy for policy in policies if frozenset() in told[policy]] == [], (action, arguments)


def test_every_policy_has_an_allow_and_a_deny_branch(library):
    for operator in library.operators.values():
        if operator.kind == "write":
            verdicts = {}
            for guard in operator.guards:
                verdicts.setdefault(guard.policy_id, set()).add(guard.verdict)
            charges = {policy for policy, both in verdicts.items() if both == {"allow"}}
            assert charges <= {"flights.price", "bags.price"}  # what a call costs, no condition of it


def test_the_library_cites_the_whole_policy(library, env):
    sentences = Sentences(env.policy)
    cited = [quote for operator in library.operators.values() for guard in operator.guards for quote in guard.cites]
    quotes = cited + [entry.sentence for entry in library.not_operational]
    assert [quote for quote in quotes if not sentences.places(quote)] == []
    assert sentences.uncovered(quotes) == []
    assert {tool["function"]["name"] for tool in env.tools} == set(library.operators)
