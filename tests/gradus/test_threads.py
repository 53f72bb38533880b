import threading
import time

import pytest

from selfevolve.gradus.threads import each


@pytest.mark.parametrize("workers", [1, 4])
def test_results_come_in_the_order_of_the_items(workers):
    def slow_first(item: int) -> int:
        time.sleep(0.02 if item == 0 else 0)
        return item * item

    assert list(each(slow_first, range(6), workers)) == [0, 1, 4, 9, 16, 25]


def test_items_are_made_at_the_same_time():
    together = threading.Barrier(3, timeout=5)
    assert len(list(each(lambda item: together.wait(), range(3), 3))) == 3


@pytest.mark.parametrize("workers", [1, 2])
def test_after_a_failure_nothing_new_begins(workers):
    begun = []

    def fails(item: int) -> int:
        begun.append(item)
        if item == 1:
            raise LookupError("no")
        time.sleep(0.01)
        return item

    made = []
    with pytest.raises(LookupError):
        for item in each(fails, range(50), workers):
            made.append(item)
    assert made == [0] and len(begun) < 10


def test_nothing_new_begins_when_the_caller_stops():
    begun = []

    def slow(item: int) -> int:
        begun.append(item)
        time.sleep(0.01)
        return item

    made = each(slow, range(50), 2)
    assert next(made) == 0
    made.close()
    assert len(begun) < 10
