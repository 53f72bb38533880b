from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from selfevolve.environments.snapshots import apply, difference

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.sampled_from(["", "a", "=", "+"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc=+"), inner, max_size=3),
    max_leaves=8,
)
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def same(one, other):
    return difference(one, other) is None


@UNTIMED
@given(JSON, JSON)
def test_patches_are_exact(old, new):
    assert same(apply(old, difference(old, new)), new)


@UNTIMED
@given(st.lists(st.dictionaries(st.sampled_from("ab"), JSON), max_size=5))
def test_small_changes_give_small_patches(old):
    new = [dict(item) for item in old] + [{"a": 1}]
    assert len(str(difference(old, new))) < 40


def test_types_and_order_count():
    assert not same(1, 1.0) and not same(0, False) and not same({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert same(float("nan"), float("nan")) and not same(0.0, -0.0)
