"""The search for calls: every branch that the base state can show is found, judged as wanted, and bounded in work."""

from __future__ import annotations

import random

import pytest
from playing import DOMAINS, environments, library

from selfevolve.gradus.judgement import Unit
from selfevolve.gradus.scripted.satisfying import Satisfier, Wanted

FOUND = {
    "desk": 75,
    "tau2/airline": 140,
    "tau2/retail": 165,
    "tau2/telecom": 140,
}  # branches of the base state, by one search each


@pytest.mark.parametrize("domain", DOMAINS)
def test_calls_are_as_wanted(domain: str) -> None:
    env, operators, satisfier = environments(domain)[0], library(domain), Satisfier(library(domain))
    env.reset()
    found = 0
    for action, operator in operators.operators.items():
        for guard in operator.guards:
            if guard.expression is None or guard.unreachable or (domain == "desk" and guard.policy_id.endswith(".looked")):
                continue
            wanted = Wanted(action, frozenset([guard.unit]), guard.verdict == "allow")
            for arguments, facts in satisfier.calls(env, wanted, {}, random.Random(1), checks=200):
                found += 1
                judged = operators.judge(env, action, arguments, facts)
                assert guard.unit in judged.units, (action, arguments, facts)
                denied = {policy for policy in judged.violations + judged.rejections if not policy.endswith(".looked")}
                assert denied <= ({guard.policy_id} if guard.verdict == "deny" else set()), (action, arguments, facts)
                break
    assert found >= FOUND[domain]


def test_what_is_told_holds_and_what_is_needed_besides_is_found() -> None:
    env, satisfier = environments("tau2/airline")[0], Satisfier(library("tau2/airline"))
    env.reset()
    wanted = Wanted("cancel_reservation", frozenset([Unit("cancel.trigger", "none")]), False)
    reservations = env.state["users"]["mei_ito_6207"].reservations
    arguments, facts = next(satisfier.calls(env, wanted, {"user_id": "mei_ito_6207"}, random.Random(0), reservations))
    assert arguments["reservation_id"] in reservations and facts["confirmed"] is True and "user_id" not in facts
    other = Wanted("cancel_reservation", frozenset([Unit("cancel.identity", "other")]), False)
    assert next(satisfier.calls(env, other, {"user_id": "mei_ito_6207"}, random.Random(0), reservations), None) is None


def test_a_refusal_may_be_for_more_than_what_is_wanted_if_it_must() -> None:
    env, satisfier = environments("tau2/telecom")[0], Satisfier(library("tau2/telecom"))
    env.reset()
    units, told = frozenset([Unit("customer.exists", "unknown")]), {"customer_id": "C1001"}
    clean, loose = (Wanted("resume_line", units, False, clean) for clean in (True, False))
    assert next(satisfier.calls(env, clean, told, random.Random(0)), None) is None
    arguments, _ = next(satisfier.calls(env, loose, told, random.Random(0)))
    assert arguments["customer_id"] == "C9999"


def test_the_work_is_bounded() -> None:
    env, satisfier = environments("tau2/airline")[0], Satisfier(library("tau2/airline"))
    env.reset()
    wanted = Wanted("cancel_reservation", frozenset([Unit("cancel.live", "cancelled")]), False)
    assert list(satisfier.calls(env, wanted, {}, random.Random(0), checks=50)) == []
    looked = []
    entities = (looked.append(id) or id for id in env.state["reservations"])
    assert list(satisfier.calls(env, wanted, {}, random.Random(0), list(entities)[:200], checks=20)) == []
