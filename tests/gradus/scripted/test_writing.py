"""The scripted writer: what it asks for, how it extends a scenario, and where it declines."""

from collections import Counter

import polars as pl
import pytest

from selfevolve.environments import load
from selfevolve.gradus import graph, kernels, operators
from selfevolve.gradus.askable import askable
from selfevolve.gradus.blueprints import Blueprint, Step
from selfevolve.gradus.judgement import Branch, Unit
from selfevolve.gradus.roles import Declined
from selfevolve.gradus.scripted.binding import Binder
from selfevolve.gradus.scripted.permitting import Permits
from selfevolve.gradus.scripted.rehearsing import Rehearsal
from selfevolve.gradus.scripted.writing import Writer

KERNELS = {kernel.name: kernel for kernel in kernels.load()}
NONE = pl.DataFrame(schema=graph.SCHEMA)


def edges(*rows: tuple[str, str, str, str, str, str, str]) -> pl.DataFrame:
    """Rows: source, path, target, policy, outcome, verdict, relation."""
    return pl.DataFrame([(*row, 9) for row in rows], schema=graph.SCHEMA, orient="row")


@pytest.fixture(scope="module")
def measured():
    return graph.edges(operators.load("desk"), load("desk"), executed=9, judged=4)


def trying(library, known) -> Writer:
    return Writer(library, known, rehearsal=Rehearsal(library, Permits(library), Binder(library), load("desk")))


@pytest.fixture(scope="module")
def desk(measured):
    """Library, environment, and a writer that knows the measured edges and can try things out."""
    library = operators.load("desk")
    return library, load("desk"), trying(library, measured)


@pytest.fixture(scope="module")
def airline():
    """Library and a writer with the edges of A.7; it can try nothing out."""
    library = operators.load("tau2/airline")
    source, cancel, flights = "update_reservation_flights", "cancel_reservation", "update_reservation_flights"
    known = edges(
        (source, "reservations.*.cabin", cancel, "cancel.trigger", "business", "allow", "enables"),
        (source, "reservations.*.cabin", cancel, "cancel.trigger", "none", "deny", "disables"),
        (cancel, "reservations.*.status", flights, "flights.live", "cancelled", "deny", "enables"),
        (cancel, "reservations.*.status", cancel, "cancel.live", "cancelled", "deny", "enables"),
        (source, "users.*.payment_methods.*.amount", "update_reservation_baggages", "bags.balance", "enough", "allow", "enables"),
    )
    return library, Writer(library, known)


def plan(library, *steps: tuple, depth: int = 1) -> Blueprint:
    """Steps: action, entity, decision, policy, outcome, and the steps before that it needs."""
    made = [Step(action=a, entity=e, decision=d, units=(Unit(p, o),), after=tuple(after)) for a, e, d, p, o, *after in steps]
    return Blueprint(domain=library.domain, parent=None, depth=depth, kernels=(), interactions=(), goal="g", steps=tuple(made))


def words(steps) -> list[str]:
    return [f"{step.decision} {step.action} {step.entity} {step.units[0].outcome} {list(step.after)}" for step in steps]


def evolved(writer, parent, kernel, gaps=(), seeds=range(12)):
    made = [writer.evolve(parent, KERNELS[kernel], gaps, seed) for seed in seeds]
    return [each for each in made if isinstance(each, Blueprint)], [each for each in made if isinstance(each, Declined)]


# -------------------------------------------------------------------------------------------------------------------- writing
@pytest.mark.parametrize("domain", ["desk", "tau2/airline", "tau2/retail", "tau2/telecom"])
def test_every_decision_is_the_verdict_of_a_branch_that_can_be_asked_for(domain):
    library = operators.load(domain)
    writer, known = Writer(library, NONE), askable(library)
    made = [each for action in library.operators for each in writer.write((action,), (), 3, 1)]
    made += [each for seed in range(20) for each in writer.write((), (), 2, seed)]
    assert len({each.steps[0].action for each in made}) > 5
    for step in (step for each in made for step in each.steps):
        verdict = known[Branch(step.action, *step.units[0])].verdict
        assert step.decision == ("perform" if verdict == "allow" else "refuse") and step.action not in library.conduct.actions
    kinds = {action: operator.kind for action, operator in library.operators.items()}
    assert all(any(step.decision == "refuse" or kinds[step.action] == "write" for step in each.steps) for each in made)


def test_gaps_are_met_first_and_each_scenario_meets_another(airline):
    _, writer = airline
    gaps = [Branch("cancel_reservation", "cancel.trigger", outcome) for outcome in ("insured", "airline", "none")]
    made = writer.write(("cancel_reservation",), gaps, 3, 0)
    assert [next(iter(each.branches)) for each in made] == gaps and {each.depth for each in made} == {1}
    assert gaps[0] in writer.write((), gaps, 1, 0)[0].branches


def test_left_to_itself_it_repeats_what_comes_first(airline):
    library, writer = airline
    made = [each for seed in range(200) for each in writer.write((), (), 1, seed)]
    first, last = Counter(step.action for each in made for step in each.steps), list(library.operators)
    assert first[last[0]] > 3 * first["send_certificate"] and len({each.steps for each in made}) < len(made)
    assert {each.depth for each in made} >= {1, 2, 3} and all(each.depth == len({s.entity for s in each.steps}) for each in made)


def test_the_same_request_gets_the_same_answer_whatever_was_asked_before(desk, measured):
    library, _, writer = desk
    fresh = trying(library, measured)
    parent = writer.write(("swap",), (), 1, 3)[0]
    assert fresh.evolve(parent, KERNELS["causal"], (), 5) == writer.evolve(parent, KERNELS["causal"], (), 5)
    assert fresh.write((), (), 4, 7) == writer.write((), (), 4, 7) != writer.write((), (), 4, 8)


def test_a_path_of_actions_is_taken_in_its_order(airline):
    _, writer = airline
    path = ("update_reservation_baggages", "cancel_reservation", "book_reservation")
    for made in writer.write(path, (), 4, 0):
        assert made.actions == path and made.depth == 3 and [step.entity for step in made.steps] == ["A", "B", "C"]


# ---------------------------------------------------------------------------------------------------------- causal extension
def test_what_is_refused_is_enabled_and_then_performed(airline):
    library, writer = airline
    parent = plan(library, ("cancel_reservation", "A", "refuse", "cancel.trigger", "none"))
    children, _ = evolved(writer, parent, "causal", [Branch("cancel_reservation", "cancel.trigger", "business")])
    assert children
    for child in children:
        assert (
            child.steps[0] == parent.steps[0] and child.parent == parent.id and child.depth == 2 and child.kernels == ("causal",)
        )
        source, target = child.steps[1:]
        assert (source.action, source.entity, source.decision) == ("update_reservation_flights", "A", "perform")
        assert words([target]) == ["perform cancel_reservation A business [1]"]


def test_what_an_action_makes_impossible_is_asked_for_after_it_on_the_same_record(airline):
    library, writer = airline
    parent = plan(library, ("cancel_reservation", "A", "perform", "cancel.trigger", "24h"))
    children, _ = evolved(writer, parent, "causal", [Branch("update_reservation_flights", "flights.live", "cancelled")])
    assert {words(child.steps)[-1] for child in children} == {"refuse update_reservation_flights A cancelled [0]"}


def test_no_call_is_refused_that_is_also_performed(airline):
    library, writer = airline
    parent = plan(library, ("cancel_reservation", "A", "perform", "cancel.trigger", "24h"))
    children, _ = evolved(writer, parent, "causal", [Branch("cancel_reservation", "cancel.live", "cancelled")])
    assert children and not any("refuse cancel_reservation" in each for child in children for each in words(child.steps))


def test_what_goes_through_the_users_account_concerns_another_record(airline):
    library, writer = airline
    parent = plan(library, ("update_reservation_flights", "A", "perform", "flights.price", "higher"))
    children, _ = evolved(writer, parent, "causal", [Branch("update_reservation_baggages", "bags.balance", "enough")])
    assert {words(child.steps)[-1] for child in children} == {"perform update_reservation_baggages B enough [0]"}


def test_without_edges_there_is_no_causal_extension(airline):
    library, _ = airline
    parent = plan(library, ("cancel_reservation", "A", "refuse", "cancel.trigger", "none"))
    children, declined = evolved(Writer(library, NONE), parent, "causal")
    assert not children and all("enable" in each.reason for each in declined)


# ------------------------------------------------------------------------------------------------------------ other extensions
def test_a_parallel_request_is_about_another_record(desk):
    _, _, writer = desk
    parent = writer.write(("swap",), (), 1, 3)[0]
    children, _ = evolved(writer, parent, "parallel")
    assert len({child.steps for child in children}) > 5
    for child in children:
        new = child.steps[len(parent.steps) :]
        assert child.steps[: len(parent.steps)] == parent.steps and {step.entity for step in new} == {"B"}


def test_a_repetition_takes_the_same_action_on_new_records_with_other_outcomes(airline):
    library, writer = airline
    parent = plan(library, ("cancel_reservation", "A", "perform", "cancel.trigger", "24h"))
    children, _ = evolved(writer, parent, "repetition", seeds=range(30))
    sizes = Counter(len(child.steps) for child in children)
    assert set(sizes) == {2, 3} and sizes[2] > sizes[3]
    for child in children:
        new = child.steps[1:]
        assert {step.action for step in new} == {"cancel_reservation"} and [step.entity for step in new] == ["B", "C"][: len(new)]
        assert parent.steps[0].units[0] not in [step.units[0] for step in new]


def test_an_action_that_names_nothing_is_not_repeated():
    library = operators.load("tau2/telecom")
    parent = plan(library, ("toggle_data", "A", "perform", "data.switch", "turns_on"))
    children, declined = evolved(Writer(library, NONE), parent, "repetition")
    assert not children and declined


def test_who_is_unknown_is_not_served_in_the_same_conversation():
    library = operators.load("tau2/retail")
    parent = plan(library, ("cancel_pending_order", "A", "refuse", "cancel.identity", "nothing"))
    children, _ = evolved(Writer(library, NONE), parent, "parallel", seeds=range(40))
    performed = {child.steps[-1].action for child in children if child.steps[-1].decision == "perform"}
    identified = {
        action for action, operator in library.operators.items() if any(g.outcome == "nothing" for g in operator.guards)
    }
    assert children and "cancel_pending_order" in identified and not performed & identified
    known = plan(library, ("cancel_pending_order", "A", "perform", "cancel.identity", "located"))
    children, _ = evolved(
        Writer(library, NONE), known, "parallel", [Branch("cancel_pending_order", "cancel.identity", "nothing")]
    )
    assert children and not any(unit.outcome == "nothing" for child in children for step in child.steps for unit in step.units)


# --------------------------------------------------------------------------------------------------- what the agent can undo
def test_a_denial_that_the_agent_can_lift_is_lifted_and_the_request_met(desk):
    _, _, writer = desk
    gap = Branch("cancel", "cancel.plan", "aged_basic")
    for seed in range(6):
        denied, *enabling, met = writer.write(("cancel",), [gap], 1, seed)[0].steps
        assert denied.decision == "refuse" and met.action == "cancel" and met.decision == "perform"
        assert [step.action for step in enabling][:2] == ["up", "pay"] and met.units[0] == Unit("cancel.plan", "plus")


def test_a_denial_that_nothing_lifts_is_refused(desk):
    _, _, writer = desk
    for outcome in ("live", "gone"):
        policy = "cancel.status" if outcome == "live" else "cancel.booking"
        (made,) = writer.write(("cancel",), [Branch("cancel", policy, outcome)], 1, 0)
        assert words(made.steps) == [f"refuse cancel A {outcome} []"]


def test_what_an_enabling_action_blocks_is_undone_before_the_next_step(desk):
    library, _, writer = desk
    parent = plan(library, ("free", "A", "perform", "free.booking", "held"))
    children, _ = evolved(writer, parent, "causal", [Branch("cancel", "cancel.plan", "plus")])
    chains = [[step.action for step in child.steps[1:]] for child in children]
    assert ["up", "pay", "cancel"] in chains and ["up", "cancel"] not in chains


def test_what_no_start_offers_together_is_not_combined(desk):
    library, _, writer = desk
    vip = plan(library, ("free", "A", "perform", "free.hold", "vip"))
    children, _ = evolved(writer, vip, "parallel", [Branch("up", "up.tier", "new_to_gold")])
    assert children and not any(
        unit.outcome == "new_to_gold" for child in children for step in child.steps for unit in step.units
    )


def test_most_of_what_it_writes_can_be_bound(desk):
    library, env, writer = desk
    made = [each for seed in range(20) for each in writer.write((), (), 1, seed)]
    children = [child for each in made for child in evolved(writer, each, "causal", seeds=range(1))[0]]
    binder = Binder(library)
    bound = [next(binder.bind(each.steps, env, 0), None) is not None for each in made + children]
    assert len(bound) >= 35 and sum(bound) >= 0.85 * len(bound)


# ---------------------------------------------------------------------------------------------------------------- the ablation
def test_without_operators_verdicts_are_guessed_and_no_edges_known(desk, measured):
    library, _, _ = desk
    known, writer = askable(library), Writer(library, measured, knows=0.7)
    made = [each for seed in range(120) for each in writer.write((), (), 1, seed)]
    guards = {Branch(a, *guard.unit): guard for a, operator in library.operators.items() for guard in operator.guards}
    steps = [step for each in made for step in each.steps]
    right = [
        step.decision == ("perform" if guards[Branch(step.action, *step.units[0])].verdict == "allow" else "refuse")
        for step in steps
    ]
    assert 0.6 < sum(right) / len(right) < 0.8
    assert any(Branch(step.action, *step.units[0]) not in known for step in steps)
    assert not evolved(writer, made[0], "causal")[0]


# ------------------------------------------------------------------------------------------------------------------- variation
def test_a_variation_changes_the_goal_and_keeps_the_requirements(desk):
    _, _, writer = desk
    plain = writer.write(("cancel",), (), 1, 0)[0]
    for name in ("indirect_reference", "ambiguity", "pressure", "reasoning"):
        varied = writer.vary(plain, KERNELS[name], 0)
        assert varied.interactions == (name,) and varied.goal != plain.goal and plain.goal.removesuffix(".") in varied.goal
        kept = {"steps", "depth", "kernels", "context", "known"}
        assert varied.model_dump(include=kept) == plain.model_dump(include=kept)
        assert (varied.unknown != plain.unknown) is (name == "ambiguity")


def test_what_names_nothing_can_be_pressed_for_but_not_described():
    library = operators.load("tau2/telecom")
    parent = plan(library, ("toggle_data", "A", "perform", "data.switch", "turns_on"))
    writer = Writer(library, NONE)
    assert isinstance(writer.vary(parent, KERNELS["indirect_reference"], 0), Declined)
    assert writer.vary(parent, KERNELS["pressure"], 0).interactions == ("pressure",)


# ------------------------------------------------------------------------------------------------------------------- in words
def test_a_blueprint_says_what_is_wanted_what_is_so_and_what_the_user_knows(airline):
    library, writer = airline
    parent = plan(library, ("cancel_reservation", "A", "refuse", "cancel.trigger", "none"))
    child = evolved(writer, parent, "causal", [Branch("cancel_reservation", "cancel.trigger", "business")])[0][0]
    assert child.goal == "The user wants to cancel reservation (A) and update reservation flights (A)."
    assert "A: the cabin is business" in child.context or "business" in child.context
    assert child.known[0] == "which record A stands for"
    assert child.unknown == ("that cancel reservation (A) is denied as things stand",)


def test_what_the_agent_does_of_its_own_accord_is_not_among_the_wishes(desk):
    _, _, writer = desk
    made = writer.write(("cancel",), [Branch("cancel", "cancel.due", "owing")], 1, 0)[0]
    assert [step.action for step in made.steps] == ["cancel", "pay", "cancel"] and made.goal == "The user wants to cancel (A)."
