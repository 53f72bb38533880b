"""What a request can bring about, and what only the agent's own conduct does."""

import pytest

from selfevolve.gradus import operators
from selfevolve.gradus.askable import askable
from selfevolve.gradus.judgement import Branch


@pytest.mark.parametrize(
    ("domain", "inside", "outside"),
    [
        (
            "desk",
            [("cancel", "cancel.looked", "looked"), ("cancel", "cancel.status", "held"), ("look", "look.booking", "unknown")],
            [
                ("cancel", "cancel.looked", "not_looked"),  # nobody asks the agent not to look
                ("look", "look.booking", "again"),
                ("refuse", "refuse.reason", "gone"),
                ("done", "done.requests", "early"),
            ],
        ),
        (
            "tau2/airline",
            [("cancel_reservation", "cancel.confirmation", "no"), ("send_certificate", "certificate.asked", "not_asked")],
            [("send_certificate", "certificate.facts", "not_confirmed"), ("book_reservation", "book.quota", "used_up")],
        ),
        (
            "tau2/retail",
            [("cancel_pending_order", "cancel.identity", "nothing"), ("cancel_pending_order", "cancel.checked", "yes")],
            [("cancel_pending_order", "cancel.checked", "no"), ("calculate", "calculate.expression", "number")],
        ),
        (
            "tau2/telecom",
            [("toggle_data", "service", "restored"), ("send_payment_request", "identity", "unidentified")],
            [("send_payment_request", "payment.checked", "unchecked")],
        ),
    ],
)
def test_breaches_of_conduct_and_the_agents_own_actions_are_left_out(domain, inside, outside):
    found = askable(operators.load(domain))
    assert all(Branch(*branch) in found for branch in inside)
    assert not any(Branch(*branch) in found for branch in outside)


def test_guards_are_those_of_the_library_in_its_order():
    library = operators.load("desk")
    found = askable(library)
    assert all(guard.expression is not None and guard.unit == branch.unit for branch, guard in found.items())
    every = [Branch(action, *guard.unit) for action, operator in library.operators.items() for guard in operator.guards]
    assert list(found) == [branch for branch in every if branch in found]
