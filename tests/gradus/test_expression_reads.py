from __future__ import annotations

from dataclasses import replace

import pytest

from selfevolve.gradus.expressions import Expression, Let, Scope, define

BASE = Scope(frozenset({"flights", "reservations", "users"}), frozenset({"reason", "user_id"}), parameters=("rid", "flights"))


def scope() -> Scope:
    result = BASE
    for head, body in [
        ("status(s)", "flights[s.flight_number].dates[s.date].status"),
        ("statuses(r)", "[status(s) for s in r.flights]"),
    ]:
        definition = define(head, body, result)
        result = replace(result, definitions={**result.definitions, definition.name: definition})
    lets = [("r", "reservations[rid]"), ("user", "users[r.user_id]"), ("told", "facts.reason == 'x' and r.cabin == 'y'")]
    for index, (name, text) in enumerate(lets):
        result = replace(result, lets={**result.lets, name: Let(index, Expression(text, result))})
    return result


SCOPE = scope()
R, F = "reservations.*", "flights.*.dates.*.status"
TRIP = {f"{R}.flights", f"{R}.flights.*.flight_number", f"{R}.flights.*.date", F}


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("1 + 2", set()),
        ("rid == 'x' and now == 'y' and facts.reason == 'z'", set()),
        ("reservations[rid].cabin == 'business'", {f"{R}.cabin"}),
        ("reservations[rid].flights[0].date", {f"{R}.flights.*.date"}),
        ("rid in reservations", {"reservations"}),
        ("len(reservations)", {"reservations"}),
        ("r.cabin", {f"{R}.cabin"}),
        ("user.membership == 'gold'", {f"{R}.user_id", "users.*.membership"}),
        ("told", {f"{R}.cabin"}),
        ("initial.reservations[rid].cabin != r.cabin", {f"initial.{R}.cabin", f"{R}.cabin"}),
        ("[f.n for f in flights]", set()),  # the parameter
        ("[f.n for f in values(state.flights)]", {"flights", "flights.*.n"}),
        ("status(r.flights[0])", {f"{R}.flights.*.flight_number", f"{R}.flights.*.date", F}),
        ("'landed' in statuses(r)", TRIP),
        ("any(x == 'landed' for x in statuses(r))", TRIP),
        (
            "any(p.amount > 3 for q in values(reservations) for p in q.payments)",
            {"reservations", f"{R}.payments", f"{R}.payments.*.amount"},
        ),
        ("[k for k in reservations]", {"reservations", R}),
        ("[k for k in keys(reservations)]", {"reservations"}),
        ("[v.cabin for k, v in items(reservations) if k != rid]", {"reservations", f"{R}.cabin"}),
        ("[b.date for a, b in zip(r.flights, r.flights[1:])]", {f"{R}.flights", f"{R}.flights.*.date"}),
        ("[s.date for i, s in enumerate(r.flights)]", {f"{R}.flights", f"{R}.flights.*.date"}),
        ("sorted([s.date for s in r.flights])[0]", {f"{R}.flights", f"{R}.flights.*.date"}),
        ("get(users, r.user_id, user).name", {"users.*.name", f"{R}.user_id"}),
        ("default(r.a, r.b)", {f"{R}.a", f"{R}.b"}),
        ("(r if rid == 'x' else user).name", {f"{R}.name", "users.*.name", f"{R}.user_id"}),
        ("[r, user][0].name", {f"{R}.name", f"{R}.user_id"}),
        ("[x.name for x in [r, user]]", {f"{R}.name", "users.*.name", f"{R}.user_id"}),
        ("[x.name for x in [r] + [user]]", {R, f"{R}.name", "users.*", "users.*.name", f"{R}.user_id"}),
        ("[x[1:][0].name for x in [[user, r]]]", {f"{R}.name", "users.*.name", f"{R}.user_id"}),
        ("{'a': r}['a'].name", {f"{R}.name"}),
        ("r.flights == []", {f"{R}.flights"}),
        ("sum(r.payments)", {f"{R}.payments"}),
        ("r", {R}),
    ],
)
def test_reads(text: str, reads: set[str]) -> None:
    assert Expression(text, SCOPE).reads == reads


def test_facts_and_arguments_through_lets_and_definitions() -> None:
    expression = Expression("told or user.id == facts.user_id", SCOPE)
    assert expression.facts == {"reason", "user_id"}
    assert expression.arguments == {"rid"}
    assert Expression("[f for f in flights]", SCOPE).arguments == {"flights"}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("r.cabin", f"{R}.cabin"),
        ("reservations[rid]", R),
        ("user.payment_methods[rid].amount", "users.*.payment_methods.*.amount"),
        ("state.flights[rid].dates['x']", "flights.*.dates.*"),
        ("initial.reservations[rid]", f"initial.{R}"),
        ("rid", None),
        ("now", None),
        ("facts.reason", None),
        ("flights[0].date", None),  # of the argument
        ("r.a + 1", None),
        ("default(r.a, r.b)", None),
        ("status(r)", None),
        ("told", None),
    ],
)
def test_path_of_one_place(text: str, path: str | None) -> None:
    assert Expression(text, SCOPE).path == path


def test_an_analysis_never_grows_beyond_the_file() -> None:
    """Lists in lists are followed a few levels; below, their paths are recorded as read."""
    deep = Expression("[[[[[[[r]]]]]]][0][0][0][0][0][0][0].cabin", SCOPE)
    assert R in deep.reads
