"""The desk's library against the rules written down a second time, over every kind of booking, member and call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfevolve.environments import load
from selfevolve.environments.desk import Desk
from selfevolve.environments.desk_page import IDS, PLANS, REASONS, STATUSES, TIERS, TOOLS
from selfevolve.gradus import operators
from selfevolve.gradus.sentences import Sentences

LIBRARY = operators.load("desk")
GOALS = ("cancel", "extend", "swap", "up", "pay")
CAPS = {"basic": 2, "plus": 5, "gold": 9}
NEXT = {"basic": ("plus", 2), "plus": ("gold", 3)}


# The rules, plainly. A row is (plan, status, due, age, extended); a call is (action, amount, days or reason, or None).


def possible(row, action) -> bool:
    """Whether the desk carries the call out."""
    plan, status, due, _, _ = row
    if action in ("look", "refuse"):
        return True
    if status == "gone":
        return False
    return {"free": status == "held", "pay": due > 0, "up": plan != "gold"}.get(action, True)


def breaches(tier, row, looked, action, value=None, goal=None, days=None) -> set[str]:
    """The policies a call breaks that the desk carries out."""
    plan, status, due, age, extended = row
    broken = set()
    if action != "look" and not looked:
        broken.add(f"{action}.looked")
    if action == "free" and age > 4 and tier != "vip":
        broken.add("free.hold")
    if action == "pay" and value != due + (age > 4 and tier != "vip"):
        broken.add("pay.amount")
    if action in ("pay", "up", "extend") and status == "held":
        broken.add(f"{action}.status")
    if action in ("cancel", "swap") and status in ("held", "live"):
        broken.add(f"{action}.status")
    if action in ("up", "cancel", "extend", "swap") and due > 0:
        broken.add(f"{action}.due")
    if action == "up" and plan == "plus" and tier == "new":
        broken.add("up.tier")
    if action == "cancel" and plan == "basic" and age > 0:
        broken.add("cancel.plan")
    if action == "extend" and extended + value > CAPS[plan]:
        broken.add("extend.days")
    if action == "swap" and plan != "gold" and not (plan == "plus" and tier == "vip"):
        broken.add("swap.plan")
    if action == "refuse":
        right = reason_to_refuse(tier, row, goal, days)
        if right is None:
            broken.add("refuse.request")
        if right != value:
            broken.add("refuse.reason")
    return broken


def reason_to_refuse(tier, row, goal, days) -> str | None:
    """The first reason of P7 that applies; None if the request can be met."""
    plan, status, due, age, extended = row
    if status == "gone":
        return "gone"
    if goal in ("cancel", "swap") and status == "live":
        return "live"
    if goal == "up" and plan == "gold" or goal == "extend" and extended + days > 9:
        return "top"
    need = {"cancel": 0 if age == 0 else 1, "swap": 1 if tier == "vip" else 2, "pay": 0, "up": PLANS.index(plan) + 1}
    if goal == "extend":
        need["extend"] = min(level for level, name in enumerate(PLANS) if extended + days <= CAPS[name])
    if need[goal] == 2 and plan != "gold" and tier == "new":
        return "tier"
    if status == "held" and age > 4 and tier != "vip":
        return "held"
    return "none" if goal == "pay" and due == 0 else None


def can_be_met(tier, row, goal, days) -> bool:
    """Whether some sequence of permitted calls meets the request: a search, knowing nothing of reasons."""
    frontier, seen = [row], {row}
    while frontier:
        plan, status, due, age, extended = here = frontier.pop()
        values = {"pay": range(1, 10), "extend": [days]}

        def allowed(action, here=here, values=values):
            tried = values.get(action, [None])
            return possible(here, action) and any(not breaches(tier, here, True, action, value) for value in tried)

        if allowed(goal):
            return True
        after = []
        if allowed("free"):
            after.append((plan, "open", due, age, extended))
        if allowed("pay"):
            after.append((plan, status, 0, age, extended))
        if allowed("up") and goal != "pay":  # a request to pay is about what is due now
            higher, price = NEXT[plan]
            after.append((higher, status, due + price, age, extended))
        frontier += [one for one in after if one not in seen]
        seen.update(after)
    return False


def rows(dues=(0, 3, 8), ages=(0, 1, 4, 5), extended=(0,)) -> list[tuple]:
    return list(product(PLANS, STATUSES, dues, ages, extended))


def facts_of(goal: str) -> list[dict]:
    return [{"goal": goal, "days": days} for days in range(1, 10)] if goal == "extend" else [{"goal": goal}]


REQUESTS = [facts for goal in GOALS for facts in facts_of(goal)]


SOME = [facts for facts in REQUESTS if facts.get("days", 9) == 9]


def desks(tier: str, all_rows: list[tuple], looked: bool) -> Iterator[tuple[Desk, dict[str, tuple]]]:
    """Desks that together hold all rows, thirty at a time."""
    for start in range(0, len(all_rows), len(IDS)):
        env, held = load("desk"), dict(zip(IDS, all_rows[start : start + len(IDS)], strict=False))
        actions = [
            {"func_name": "set_booking", "arguments": {"id": id, "plan": p, "status": s, "due": d, "age": a}}
            for id, (p, s, d, a, _) in held.items()
        ]
        actions.append({"func_name": "set_member", "arguments": {"tier": tier}})
        env.reset([{"env_type": "assistant", **action} for action in actions])
        for id, row in held.items():
            if looked:
                env.call("look", {"id": id})
            if row[4] and row[1] != "gone":
                env.call("extend", {"id": id, "days": row[4]})
        yield env, {id: row for id, row in held.items() if not (row[4] and row[1] == "gone")}


def state_of(env: Desk) -> dict:
    state = dict(env.state)
    return state | {"bookings": dict(state["bookings"]), "looked": list(state["looked"]), "refusals": list(state["refusals"])}


def declared(env: Desk, action: str, arguments: dict, units) -> dict:
    """The state after the call by the effects of the guards that hold, computed before it."""
    expected = state_of(env)
    context = LIBRARY.context(env, action, arguments)
    for guard in LIBRARY.operators[action].guards:
        for effect in guard.effects if guard.unit in units else ():
            value = effect.value.evaluate(context)
            table, *field = effect.path.path.split(".")
            if table == "bookings":
                id = arguments["id"]
                expected["bookings"][id] = expected["bookings"][id] | {field[-1]: value}
            else:
                expected[table] = value
    return expected


def check(env: Desk, action: str, arguments: dict, broken: set[str], runs: bool, facts: dict | None = None) -> None:
    """One call: judgement as expected, every policy decided, then executed and undone."""
    judgement = LIBRARY.judge(env, action, arguments, facts)
    outcomes = {}
    for policy, outcome in judgement.units:
        outcomes.setdefault(policy, []).append(outcome)
    operator = LIBRARY.operators[action]
    assert judgement.undetermined == ()
    assert set(judgement.violations) == broken, (env.state["member"], action, arguments, facts)
    if runs:
        assert set(outcomes) == {guard.policy_id for guard in operator.guards}
    else:
        assert len(judgement.units) == 1 and not broken
    assert all(len(found) == 1 or sorted(found) == ["vip", "young"] for found in outcomes.values()), outcomes
    before, blob = state_of(env), env.snapshot()
    expected = declared(env, action, arguments, judgement.units)
    observation = env.call(action, arguments)
    assert observation.ok is runs is (judgement.rejections == ())
    assert state_of(env) == (expected if runs else before)
    env.restore(blob)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("looked", [False, True])
def test_every_call_on_every_kind_of_booking(tier, looked):
    values = {"pay": [("amount", n) for n in range(1, 10)], "extend": [("days", n) for n in range(1, 10)]}
    for env, held in desks(tier, rows(), looked):
        for id, row in held.items():
            for action in ("look", "free", "pay", "up", "cancel", "extend", "swap"):
                for more in values.get(action, [()]):
                    arguments = {"id": id} | dict([more] if more else [])
                    runs = possible(row, action)
                    broken = breaches(tier, row, looked, action, *more[1:]) if runs else set()
                    check(env, action, arguments, broken, runs)


@pytest.mark.parametrize("tier", TIERS)
def test_every_extension_of_an_extended_booking(tier):
    for env, held in desks(tier, rows(dues=(0,), ages=(0,), extended=range(1, 10)), looked=True):
        for (id, row), days in product(held.items(), range(1, 10)):
            runs = possible(row, "extend")
            check(
                env,
                "extend",
                {"id": id, "days": days},
                breaches(tier, row, True, "extend", days) if runs else set(),
                runs,
            )


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("extended", [0, 4])
def test_every_refusal_of_every_request(tier, extended):
    for env, held in desks(tier, rows(dues=(0, 3), ages=(0, 4, 5), extended=(extended,)), looked=True):
        for (id, row), facts in product(held.items(), REQUESTS):
            for reason in REASONS:
                judgement = LIBRARY.judge(env, "refuse", {"id": id, "reason": reason}, facts)
                broken = breaches(tier, row, True, "refuse", reason, **{"days": None} | facts)
                assert set(judgement.violations) == broken, (tier, row, facts, reason)
                assert judgement.undetermined == () == judgement.rejections
                assert len(judgement.units) == len({policy for policy, _ in judgement.units}) == 4
        id, row = next(iter(held.items()))
        for reason, facts in product(REASONS, REQUESTS):
            check(
                env,
                "refuse",
                {"id": id, "reason": reason},
                breaches(tier, row, True, "refuse", reason, **{"days": None} | facts),
                True,
                facts,
            )


@pytest.mark.parametrize("looked", [False, True])
def test_a_refusal_needs_a_look(looked):
    for env, held in desks("reg", [("gold", "gone", 0, 0, 0)], looked):
        for id in held:
            check(env, "refuse", {"id": id, "reason": "gone"}, set() if looked else {"refuse.looked"}, True, {"goal": "up"})


@pytest.mark.parametrize("action", [action for action in LIBRARY.operators if action != "done"])
def test_an_unknown_booking_is_refused_by_the_desk(action):
    arguments = {"id": "b40", "amount": 1, "days": 1, "reason": "gone"}
    names = LIBRARY.operators[action].parameters
    check(load("desk"), action, {name: arguments[name] for name in names}, set(), False, {"goal": "up"})


@pytest.mark.parametrize(("pending", "broken"), [(True, {"done.requests"}), (False, set())])
def test_done_is_right_once_nothing_is_pending(pending, broken):
    check(load("desk"), "done", {}, broken, True, {"pending": pending})


@pytest.mark.parametrize("tier", TIERS)
def test_a_request_is_refused_if_and_only_if_no_permitted_calls_meet_it(tier):
    reasons = set()
    for row in rows(dues=(0, 1, 7), extended=(0, 2, 4, 9)):
        for facts in REQUESTS:
            request = facts["goal"], facts.get("days")
            reason = reason_to_refuse(tier, row, *request)
            assert (reason is None) == can_be_met(tier, row, *request), (tier, row, request)
            reasons.add(reason)
    assert reasons == {None, *REASONS} - ({"tier"} if tier != "new" else set()) - ({"held"} if tier == "vip" else set())


def test_the_base_database_realises_every_branch():
    """From the base and the library's situations, with at most one call before: a look, or an extension for a second one."""
    reached = set()
    for start in ((), *(situation.actions for situation in LIBRARY.situations)):
        env = load("desk")
        env.reset([action.model_dump() for action in start])
        for before in (None, "look", "extend"):
            for id in [*IDS, "b40"] if before is None else IDS:
                blob = env.snapshot()
                if before:
                    env.call(before, {"id": id} | ({"days": 9} if before == "extend" else {}))
                for action in LIBRARY.operators:
                    for arguments in _calls(action, id):
                        for facts in SOME if action == "refuse" else [{"pending": True}, {"pending": False}]:
                            reached |= LIBRARY.judge(env, action, arguments, facts).units
                env.restore(blob)
    assert {guard.unit for operator in LIBRARY.operators.values() for guard in operator.guards} == reached


def _calls(action: str, id: str) -> Iterator[dict]:
    values = {"id": [id], "amount": range(1, 10), "days": (1, 4, 9), "reason": REASONS}
    names = list(LIBRARY.operators[action].parameters)
    for chosen in product(*(values[name] for name in names)):
        yield dict(zip(names, chosen, strict=True))


@given(
    st.sampled_from(TIERS),
    st.sampled_from(rows()),
    st.sampled_from(GOALS),
    st.integers(1, 9),
    st.sampled_from(REASONS),
    st.sets(st.sampled_from(["goal", "days"])),
)
@settings(deadline=None)
def test_what_is_decided_without_a_fact_stays_so(tier, row, goal, days, reason, given_facts):
    env, held = next(desks(tier, [row], looked=True))
    call = ("refuse", {"id": IDS[0], "reason": reason})
    whole = {"goal": goal, "days": days}
    full = LIBRARY.judge(env, *call, whole)
    part = LIBRARY.judge(env, *call, {name: whole[name] for name in given_facts})
    open_units = {(policy, outcome) for policy, outcome, _ in part.undetermined}
    assert part.units <= full.units <= part.units | open_units
    assert full.undetermined == ()


def test_facts_are_asked_for_only_where_they_matter():
    env = load("desk")
    gone, live, locked = "b22", "b16", "b13"
    for id in (gone, live, locked):
        env.call("look", {"id": id})
    assert LIBRARY.judge(env, "refuse", {"id": gone, "reason": "gone"}).undetermined == ()
    assert LIBRARY.judge(env, "refuse", {"id": live, "reason": "gone"}).violations == ("refuse.reason",)
    assert {tuple(one) for one in LIBRARY.judge(env, "refuse", {"id": live, "reason": "live"}).undetermined} >= {
        ("refuse.reason", "live", ("goal",))
    }
    assert ("refuse.request", "impossible") in LIBRARY.judge(env, "refuse", {"id": locked, "reason": "held"}).units


def test_judging_changes_nothing():
    env = load("desk")
    before = env.snapshot()
    for action in LIBRARY.operators:
        for arguments in _calls(action, "b13"):
            LIBRARY.judge(env, action, arguments)
    assert env.snapshot() == before


def test_every_tool_has_an_operator_with_its_parameters():
    tools = {tool["function"]["name"]: set(tool["function"]["parameters"]["properties"]) for tool in TOOLS}
    assert {name: set(operator.parameters) for name, operator in LIBRARY.operators.items()} == tools


def test_every_sentence_is_cited_and_every_quote_is_in_the_policy():
    sentences = Sentences(Desk().policy)
    cites = [cite for operator in LIBRARY.operators.values() for guard in operator.guards for cite in guard.cites]
    quotes = cites + [one.sentence for one in LIBRARY.not_operational]
    assert [quote for quote in quotes if not sentences.places(quote)] == []
    assert sentences.uncovered(quotes) == []


def test_it_has_108_branches_of_34_policies():
    units = {guard.unit for operator in LIBRARY.operators.values() for guard in operator.guards}
    assert (len(units), len({policy for policy, _ in units})) == (108, 34)
