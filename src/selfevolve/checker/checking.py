"""`check` and `check_batch`: extraction, typing, comparison, and workers for what needs computer algebra."""

from collections import OrderedDict
from collections.abc import Sequence

from selfevolve.checker import workers
from selfevolve.checker.compare import equal
from selfevolve.checker.extract import Extraction, extract
from selfevolve.checker.formulas import numerically
from selfevolve.checker.kinds import (
    Answer,
    Assignment,
    Based,
    Collection,
    Expression,
    Matrix,
    Number,
    Opaque,
    Quantity,
    Ratio,
    Region,
    Relation,
    Text,
    Tuple,
)
from selfevolve.checker.literals import same_number
from selfevolve.checker.reading import read
from selfevolve.checker.verdict import Verdict

_MAX_SENT = 100_000  # characters of an answer sent to a worker; no longer one can be read but as a plain number
TIMEOUT_S = 5.0  # wall time of one pair in a worker


def check(text: str, reference: str) -> Verdict:
    """Whether `text`, a completion, gives the answer `reference`. Never raises on any two strings, never hangs.

    Most pairs are decided here in microseconds; what needs computer algebra goes to a worker process, started on first
    use, under a cap of `TIMEOUT_S` and 1 GiB.
    """
    return check_batch(((text, reference),))[0]


def check_batch(pairs: Sequence[tuple[str, str]], timeout_s: float = TIMEOUT_S) -> list[Verdict]:
    """Verdicts on (text, reference) pairs, in order. `timeout_s`: wall time a pair may spend in a worker, > 0."""
    return _judge(pairs, timeout_s, False)


def check_slowly(pairs: Sequence[tuple[str, str]], timeout_s: float = TIMEOUT_S) -> list[Verdict]:
    """The same verdicts by the slow path: every pair in a worker, every formula through computer algebra."""
    return _judge(pairs, timeout_s, True)


def _judge(pairs: Sequence[tuple[str, str]], timeout_s: float, slowly: bool) -> list[Verdict]:
    verdicts: list[Verdict | None] = []
    open_pairs: list[tuple[int, Extraction]] = []
    tasks: list[workers.Task] = []
    for at, (text, reference) in enumerate(pairs):
        found, verdict = _attempt(text, reference, slowly)
        verdicts.append(verdict)
        if verdict is None:
            open_pairs.append((at, found))
            answer = found.answer if found.answer and len(found.answer) <= _MAX_SENT else ""
            tasks.append(workers.Task(reference, answer, slowly))
    if tasks:
        for (at, found), outcome in zip(open_pairs, workers.solve(tasks, timeout_s), strict=True):
            correct, method = outcome.correct, outcome.method
            _remember(pairs[at][1], correct, method)
            if found.answer is None and correct is not None:
                correct, method = False, "no answer"
            verdicts[at] = Verdict(correct, found.boxed, found.answer, method)
    return verdicts


def _attempt(text: str, reference: str, slowly: bool) -> tuple[Extraction, Verdict | None]:
    """A defect of ours on a strange text costs that pair its verdict, not a training run; the method tells."""
    found = Extraction(None, False, "none")
    try:
        found = _for_kind(extract(text), reference)
        return found, _quick(found, reference, slowly)
    except RecursionError:  # called from deep down the caller's stack
        return found, Verdict(False, found.boxed, found.answer, "too deep")
    except Exception:
        return found, Verdict(False, found.boxed, found.answer, "error")


def _for_kind(found: Extraction, reference: str) -> Extraction:
    """Where the answer is words that hold a number, a reference that is not words is met by the number."""
    if found.number is None or isinstance(read(reference), Text) or not isinstance(read(found.answer), Text):
        return found
    return Extraction(found.number, found.boxed, found.how)


def _quick(found: Extraction, reference: str, slowly: bool) -> Verdict | None:
    """The verdict, if it takes no computer algebra."""
    gold = read(reference)
    if gold is None:
        return Verdict(None, found.boxed, found.answer, "reference")
    if isinstance(gold, Opaque):
        known = _opaque_references.get(reference)
        if known is None:
            return None  # whether this reference can be read at all is for a worker to say
        if not known:
            return Verdict(None, found.boxed, found.answer, "reference")
    if found.answer is None:
        return Verdict(False, found.boxed, None, "no answer")
    other = read(found.answer)
    if other is None:
        return Verdict(False, found.boxed, found.answer, "unreadable")
    if slowly:
        return None
    outcome = equal(gold, other, numerically)
    if outcome is None:
        return None
    return Verdict(outcome, found.boxed, found.answer, _method(gold, other, outcome))


_opaque_references: OrderedDict[str, bool] = OrderedDict()  # beyond our grammar: could Math-Verify's parser read it?


def _remember(reference: str, correct: bool | None, method: str) -> None:
    if method in ("timeout", "memory", "crash") or not isinstance(read(reference), Opaque):
        return
    _opaque_references[reference] = correct is not None
    if len(_opaque_references) > 4096:
        _opaque_references.popitem(last=False)


_METHODS = {
    Expression: "symbolic",
    Based: "base",
    Region: "interval",
    Tuple: "tuple",
    Collection: "set",
    Matrix: "matrix",
    Assignment: "equation",
    Relation: "equation",
    Text: "text",
    Ratio: "ratio",
    Quantity: "unit",
    Opaque: "algebra",
}


def _method(gold: Answer, other: Answer, outcome: bool) -> str:
    if isinstance(gold, Number):
        if outcome and isinstance(other, Number) and gold.grain is not None and not same_number(gold, other):
            return "rounded"
        return "decimal" if gold.grain is not None else "integer" if gold.is_integer or gold.decimal else "rational"
    return _METHODS[type(gold)]
