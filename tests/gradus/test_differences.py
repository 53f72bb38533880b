"""Views of a state and the places where two of them differ."""

import toy
from hypothesis import given
from hypothesis import strategies as st

from selfevolve.gradus.differences import ABSENT, Change, changes, value_at, view


def after(*calls):
    env = toy.Toy()
    before = view(env.state)
    for name, arguments, requestor in calls:
        assert env.call(name, arguments, requestor).ok
    return env, changes(before, env.state)


def test_a_field_a_new_record_and_a_longer_list():
    env, changed = after(
        ("pay", {"parcel_id": "p2", "amount": 1}, "assistant"),
        ("register", {"owner": "bob"}, "assistant"),
        ("ring", {}, "user"),
    )
    new = env.state["parcels"]["p4"]
    assert changed == [
        Change(("parcels", "p2", "fee"), 2, 1),
        Change(("parcels", "p4"), ABSENT, new),
        Change(("log", 0), ABSENT, "ring"),
    ]
    assert [change.path for change in changed] == ["parcels.*.fee", "parcels.*", "log.*"]
    assert value_at(env.state, ("parcels", "p4", "owner")) == "bob"
    assert value_at(env.state, ("parcels", "p5", "owner")) is ABSENT
    assert value_at(env.state, ("log", 0, "x")) is ABSENT


def test_nothing_differs_after_a_restore():
    env = toy.Toy()
    env.call("pay", {"parcel_id": "p2", "amount": 1})
    before = view(env.state)
    env.restore(env.snapshot())
    assert changes(before, env.state) == []


def test_places_below_a_path():
    change = Change(("parcels", "p2", "fee"), 2, 1)
    assert all(change.below(path) for path in ("parcels", "parcels.*", "parcels.*.fee", "parcels.p2.fee"))
    assert not any(change.below(path) for path in ("owners", "parcels.*.note", "parcels.*.fee.x", "parcels.p3"))


def test_numbers_of_another_type_differ():
    assert changes({"a": 1}, {"a": 1.0}) == [Change(("a",), 1, 1.0)]
    assert changes({"a": True}, {"a": 1}) == [Change(("a",), True, 1)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(
    before=st.dictionaries(st.text(max_size=2), JSON, max_size=3), after=st.dictionaries(st.text(max_size=2), JSON, max_size=3)
)
def test_the_places_explain_the_difference(before, after):
    changed = changes(before, after)
    assert (changed == []) == (repr(_sorted(before)) == repr(_sorted(after)))
    for change in changed:
        assert value_at(before, change.place) is change.before or value_at(before, change.place) == change.before
        assert value_at(after, change.place) is change.after or value_at(after, change.place) == change.after


def _sorted(value):
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
