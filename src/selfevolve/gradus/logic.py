"""Evaluation in three values: the closures of and, or, not, if-else, comparisons, calls and displays.

Paper: Gradus A.7: a trigger "insurance = yes and covered reason" is plainly false for an uninsured booking, whatever the
reason; it waits for the reason otherwise.

`and`, `or`, `not`, `any`, `all` give True, False or unknown, never an operand. They go left to right and stop at the first
operand that decides, so `x in table and table[x].y` is safe. How a missing look-up combines (outcome sets, see `values`):

* `missing and x`, `missing or x`, any operand of a comparison, calculation or call: missing, even beside an unknown fact;
* `false and missing` is false, `true or missing` true: the look-up never happens;
* `unknown and missing` may be false or missing: as a guard it does not apply, no completion of the facts makes it hold;
* `unknown or missing` may be true or missing: undetermined.

So missing look-ups win over unknown facts except where a completion of the facts would keep the look-up from happening.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from selfevolve.gradus.context import Context, Run
from selfevolve.gradus.functions import FAILURES
from selfevolve.gradus.values import (
    ABSENT,
    ANY,
    FALSE,
    NO_FACTS,
    SCALARS,
    TRUE,
    Missing,
    Unknown,
    bits,
    contains,
    equal,
    flat,
    settle,
)  # fmt: skip


def decide(values: Iterable[Any], stop: int) -> Any:
    """`or` of the values (`stop` TRUE) or `and` (`stop` FALSE), drawn until one decides; drawing may raise Missing."""
    go = stop ^ (TRUE | FALSE)
    stops = stop == TRUE
    seen, facts = 0, NO_FACTS  # the outcomes at which evaluation may have ended already
    try:
        for value in values:
            if type(value) is Unknown:
                facts |= value.facts
                seen |= value.can & ~go
                if not value.can & go:
                    return settle(seen, facts)
            elif bool(value) is stops:
                return settle(seen | stop, facts)
    except Missing:
        if not seen:
            raise
        return settle(seen | ABSENT, facts)
    return settle(seen | go, facts)


def hasty(values: Iterator[Any], stop: int) -> Any:
    """`decide`, faster while the values are known: no outcome set is kept before the first unknown one."""
    stops = stop == TRUE
    for value in values:
        if type(value) is Unknown:
            return decide(chain((value,), values), stop)
        if bool(value) is stops:
            return stops
    return not stops


def connective(parts: Sequence[Run], stop: int) -> Run:
    """`or` of the parts (`stop` TRUE) or `and` (`stop` FALSE)."""
    return lambda frame: hasty((part(frame) for part in parts), stop)


def negation(part: Run) -> Run:
    """`not part`."""

    def run(frame: list) -> Any:
        value = part(frame)
        if type(value) is not Unknown:
            return not value
        can = value.can & ABSENT | (TRUE if value.can & FALSE else 0) | (FALSE if value.can & TRUE else 0)
        return settle(can, value.facts)

    return run


def choice(test: Run, then: Run, otherwise: Run) -> Run:
    """`then if test else otherwise`; with an unknown test the value both branches agree on, else unknown."""

    def run(frame: list) -> Any:
        decided = test(frame)
        if type(decided) is not Unknown:
            return then(frame) if decided else otherwise(frame)
        can, facts, values = decided.can & ABSENT, decided.facts, []
        for bit, branch in ((TRUE, then), (FALSE, otherwise)):
            if decided.can & bit:
                try:
                    values.append(branch(frame))
                except Missing:
                    can |= ABSENT
        for value in values:
            can |= bits(value)
            facts |= value.facts if type(value) is Unknown else NO_FACTS
        if can == ABSENT:
            raise Missing
        known = not can & ABSENT and not any(type(value) is Unknown for value in values)
        if known and all(equal(values[0], value, frame[0].charge) for value in values):
            return values[0]
        return Unknown(facts, can)

    return run


def default(part: Run, otherwise: Run) -> Run:
    """`default(part, otherwise)`: the part, or `otherwise` where a look-up in it is missing."""

    def run(frame: list) -> Any:
        try:
            value = part(frame)
        except Missing:
            return otherwise(frame)
        if type(value) is not Unknown or not value.can & ABSENT:
            return value
        can, facts = value.can & ~ABSENT, value.facts
        try:
            other = otherwise(frame)
        except Missing:
            return value
        return Unknown(facts | other.facts if type(other) is Unknown else facts, can | bits(other))

    return run


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Context, Any, Any], bool]:
    """An order of scalars or lists of scalars of one type, or the inclusion of sets."""

    def run(context: Context, left: Any, right: Any) -> bool:
        context.charge(weight(left))
        if not (flat(left) and flat(right) or isinstance(left, frozenset) and isinstance(right, frozenset)):
            raise Missing
        try:
            return compare(left, right)
        except TypeError:
            raise Missing from None

    return run


COMPARISONS: dict[type[ast.cmpop], Callable[[Context, Any, Any], bool]] = {
    ast.Eq: lambda context, left, right: equal(left, right, context.charge),
    ast.NotEq: lambda context, left, right: not equal(left, right, context.charge),
    ast.Lt: _ordered(operator.lt),
    ast.LtE: _ordered(operator.le),
    ast.Gt: _ordered(operator.gt),
    ast.GtE: _ordered(operator.ge),
    ast.In: lambda context, left, right: contains(right, left, context.charge),
    ast.NotIn: lambda context, left, right: not contains(right, left, context.charge),
}
_TOTAL = (COMPARISONS[ast.Eq], COMPARISONS[ast.NotEq])
_MEMBERSHIP = (COMPARISONS[ast.In], COMPARISONS[ast.NotIn])


def _undecided(compare: Callable, left: Any, right: Any) -> Unknown:
    """A comparison with an unknown operand; whether it may turn out to be of a wrong type is known for some."""
    facts, absent = merge(left, right)
    if compare in _TOTAL:
        return Unknown(facts, TRUE | FALSE | absent)
    if compare in _MEMBERSHIP and isinstance(right, list | tuple | set | frozenset | Mapping):
        return Unknown(facts, TRUE | FALSE | absent)
    return Unknown(facts, ANY)


def comparison(first: Run, rest: Sequence[tuple[Callable, Run]]) -> Run:
    """`first < second <= third ...`: each operand evaluated once, from left to right until a comparison is false."""
    if len(rest) == 1:
        compare, second = rest[0]

        def run(frame: list) -> Any:
            left, right = first(frame), second(frame)
            if type(left) is Unknown or type(right) is Unknown:
                return _undecided(compare, left, right)
            return compare(frame[0], left, right)

        return run

    def links(frame: list) -> Iterator[Any]:
        left = first(frame)
        for compare, part in rest:
            right = part(frame)
            unknown = type(left) is Unknown or type(right) is Unknown
            yield _undecided(compare, left, right) if unknown else compare(frame[0], left, right)
            left = right

    return lambda frame: hasty(links(frame), FALSE)


def against_constant(part: Run, scalars: Iterable[Any], wanted: bool) -> Run:
    """`part in scalars` (constants; one for ==) if `wanted`, else its negation."""
    values = frozenset(scalars)

    def run(frame: list) -> Any:
        value = part(frame)
        if type(value) is Unknown:
            return Unknown(value.facts, TRUE | FALSE | value.can & ABSENT)
        return (type(value) in SCALARS and value in values) is wanted

    return run


def merge(*values: Any) -> tuple[frozenset[str], int]:
    """The facts the unknown ones among the values depend on (none: all are known), and ABSENT if one may be missing."""
    facts, absent = NO_FACTS, 0
    for value in values:
        if type(value) is Unknown:
            facts |= value.facts
            absent |= value.can & ABSENT
    return facts, absent


def binary(compute: Callable[[Any, Any], Any], left: Run, right: Run) -> Run:
    """An arithmetic operation; unknown with an unknown operand."""

    def run(frame: list) -> Any:
        a, b = left(frame), right(frame)
        if type(a) is Unknown or type(b) is Unknown:
            return Unknown(merge(a, b)[0])
        result = compute(a, b)
        frame[0].charge(weight(result))
        return result

    return run


def strict(call: Callable[..., Any], parts: Sequence[Run], whole: bool = True) -> Run:
    """A function of values; unknown with an unknown argument, missing where the function fails.

    `whole`: it reads its arguments whole, so their lengths count as steps.
    """

    def run(frame: list) -> Any:
        values = [part(frame) for part in parts]
        facts, _ = merge(*values)
        if facts:
            return Unknown(facts)
        charge = frame[0].charge
        if whole:
            for value in values:
                charge(weight(value))
        try:
            result = call(*values)
        except FAILURES:
            raise Missing from None
        charge(weight(result))
        return result

    return run


def display(build: Callable[[list], Any], parts: Sequence[Run]) -> Run:
    """A list, tuple, set or dict (keys and values alternate) of the parts; unknown as a whole with an unknown part."""
    full = TRUE if parts else FALSE

    def run(frame: list) -> Any:
        values = [part(frame) for part in parts]
        facts, absent = merge(*values)
        return Unknown(facts, full | absent) if facts else build(values)

    return run


def weight(value: Any) -> int:
    """The steps a value costs a function: its length, 0 if it has none."""
    return len(value) if hasattr(value, "__len__") else 0
