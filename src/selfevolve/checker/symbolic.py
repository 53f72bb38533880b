"""Computer algebra, in workers only: sympy on our trees, Math-Verify's LaTeX parser on what our grammar leaves out.

`decide` settles what numerical evaluation in the caller's process left open. `decide_all` is the slow path for every
formula: sympy first, by its own evaluation and simplification, and none of the short cuts of `formulas.numerically`;
the tests hold the two to the same verdicts.
"""

import re
from fractions import Fraction

import sympy

from selfevolve.checker.evaluate import digest
from selfevolve.checker.exact import MAX_BITS, TooLarge, is_odd_root
from selfevolve.checker.formulas import numerically
from selfevolve.checker.kinds import Answer, Assignment, Expression, Number, Opaque, Relation
from selfevolve.checker.trees import canonical, has_bars, has_infinity

_FUNCTIONS = {
    **{
        name: getattr(sympy, name)
        for name in ["sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "exp", "log", "floor"]
    },
    **{f"arc{name}": getattr(sympy, f"a{name}") for name in ["sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh"]},
    "ln": sympy.log,
    "lg": lambda value: sympy.log(value, 10),
    "sqrt": sympy.sqrt,
    "abs": sympy.Abs,
    "ceil": sympy.ceiling,
    "binom": sympy.binomial,
}
_DIGITS = 40


class Unparsable(ValueError):
    """Not mathematics to Math-Verify's parser either."""


def _bits(value) -> int:
    return int(value.p).bit_length() + int(value.q).bit_length() if value.is_Rational else 64


def to_sympy(tree: tuple, signed: bool) -> sympy.Expr:
    """A tree of `syntax` as a sympy expression over positive (real if `signed`) symbols. Raises TooLarge."""
    kind = tree[0]
    if kind == "n":
        return sympy.Rational(tree[1].numerator, tree[1].denominator)
    if kind == "s":
        return sympy.Symbol(tree[1], real=True) if signed else sympy.Symbol(tree[1], positive=True)
    if kind == "k":
        return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "inf": sympy.oo}[tree[1]]
    if kind == "-":
        return -to_sympy(tree[1], signed)
    if kind == "+":
        return sympy.Add(*(to_sympy(part, signed) for part in tree[1]))
    if kind == "*":
        return sympy.Mul(*(to_sympy(part, signed) for part in tree[1]))
    if kind == "/":
        return to_sympy(tree[1], signed) / to_sympy(tree[2], signed)
    if kind == "^":
        return _power(to_sympy(tree[1], signed), to_sympy(tree[2], signed), tree[2])
    if kind == "!":
        value = to_sympy(tree[1], signed)
        if value.is_number and not (value.is_Rational and abs(value) <= 2500):
            raise TooLarge
        return sympy.factorial(value)
    return _FUNCTIONS[tree[1]](*(to_sympy(arg, signed) for arg in tree[2]))


def _power(base: sympy.Expr, power: sympy.Expr, tree: tuple) -> sympy.Expr:
    if power.is_number and base.is_number:
        size = power.evalf(15)
        if not size.is_finite or abs(size) * max(_bits(base), 1) > MAX_BITS:
            raise TooLarge
        if base.is_real and base.is_negative and is_odd_root(tree):
            return -((-base) ** power)
    return base**power


def parse_latex(source: str) -> sympy.Basic:
    """Math-Verify's LaTeX parser. Raises Unparsable."""
    from latex2sympy2_extended import latex2sympy
    from latex2sympy2_extended.latex2sympy2 import ConversionConfig

    try:
        parsed = latex2sympy(
            source,
            conversion_config=ConversionConfig(interpret_as_mixed_fractions=False, lowercase_symbols=False),
        )
    except MemoryError:
        raise
    except Exception as error:  # the generated parser raises many types
        raise Unparsable(f"{type(error).__name__}: {error}") from None
    if not isinstance(parsed, sympy.Basic | sympy.MatrixBase):
        raise Unparsable("not an expression")
    if parsed.has(sympy.zoo, sympy.nan):
        raise Unparsable("without a value")
    return _with_our_names(parsed)


def _with_our_names(parsed):
    """Free symbols as ours (x_0, i the imaginary unit, positive), floats as the decimals they were."""
    changes = {number: sympy.Rational(str(number)) for number in parsed.atoms(sympy.Float)}
    for symbol in parsed.free_symbols:
        if symbol.is_Symbol:
            name = re.sub(r"[{}\\\s]", "", symbol.name)
            changes[symbol] = sympy.I if name == "i" else sympy.Symbol(name, positive=True)
    return parsed.xreplace(changes)


def readable(answer: Answer) -> bool:
    """Whether an answer left to Math-Verify's parser is one."""
    if isinstance(answer, Opaque):
        try:
            parse_latex(answer.source)
        except Unparsable:
            return False
    return True


def decide(gold: Answer, other: Answer) -> bool | None:
    """Like `formulas.numerically`, with computer algebra where that has no verdict."""
    same = None if Opaque in (type(gold), type(other)) else numerically(gold, other)
    return _algebra(gold, other) if same is None else same


def decide_all(gold: Answer, other: Answer) -> bool | None:
    """The slow path: computer algebra for every formula that is not a literal number."""
    if isinstance(gold, Number) and isinstance(other, Number):
        return numerically(gold, other)
    same = _algebra(gold, other)
    if same is not True and Opaque not in (type(gold), type(other)) and _has_decimal(gold, other):
        return numerically(gold, other)  # the precision of a decimal is a rule, not algebra
    return same


def _has_decimal(*answers: Answer) -> bool:
    return any(isinstance(answer, Number) and answer.grain is not None for answer in answers)


def _algebra(gold: Answer, other: Answer) -> bool | None:
    trees = [_tree(answer) for answer in (gold, other)]
    signed = all(tree is not None for tree in trees) and any(map(has_bars, trees))
    try:
        a, b = (
            parse_latex(answer.source) if tree is None else _convert(answer, tree, signed)
            for answer, tree in zip((gold, other), trees, strict=True)
        )
    except Unparsable:
        return False
    except TooLarge:
        return canonical(trees[0]) == canonical(trees[1]) if None not in trees else False
    if None not in trees and any(map(has_infinity, trees)):
        return a == b
    if isinstance(a, sympy.Expr) and isinstance(b, sympy.Expr):
        return _same(a, b)
    if isinstance(a, sympy.Eq) and isinstance(b, sympy.Eq):
        ratio = sympy.simplify((a.lhs - a.rhs) / (b.lhs - b.rhs))
        return bool(ratio.is_number and ratio.is_nonzero)
    if isinstance(a, sympy.Eq) and isinstance(b, sympy.Expr):
        return bool(a.lhs.is_Symbol) and _same(a.rhs, b)
    if isinstance(b, sympy.Eq) and isinstance(a, sympy.Expr):
        return bool(b.lhs.is_Symbol) and _same(a, b.rhs)
    if isinstance(a, sympy.MatrixBase | sympy.MatrixExpr) and isinstance(b, sympy.MatrixBase | sympy.MatrixExpr):
        a, b = (sympy.Matrix(matrix.doit()) for matrix in (a, b))
        return a.shape == b.shape and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return a == b


def _tree(answer: Answer) -> tuple | None:
    if isinstance(answer, Number) and answer.value is not None:
        return ("n", answer.value)
    if isinstance(answer, Assignment | Relation):
        return answer.tree if isinstance(answer, Assignment) else answer.difference
    return answer.tree if isinstance(answer, Expression) else None


def _convert(answer: Answer, tree: tuple, signed: bool) -> sympy.Basic:
    expression = to_sympy(tree, signed)
    if isinstance(answer, Assignment) or (isinstance(answer, Relation) and answer.operator == "="):
        return sympy.Eq(expression, 0, evaluate=False)
    return expression


def _same(a: sympy.Expr, b: sympy.Expr) -> bool | None:
    a, b = a.doit(), b.doit()
    if a == b:
        return True
    by_value = _same_values(a, b)
    if by_value is not None:
        return by_value
    difference = sympy.simplify(a - b)
    if difference == 0:
        return True
    same = difference.equals(0)
    return None if same is None else bool(same)


def _same_values(a: sympy.Expr, b: sympy.Expr) -> bool | None:
    """Equality of values at fixed points; None where sympy finds none."""
    names = sorted((a.free_symbols | b.free_symbols), key=lambda symbol: symbol.name)
    signed = any(symbol.is_positive is not True for symbol in names)
    seen = 0
    for point in range(4 if names else 1):
        values = {symbol: _value(symbol.name, point, signed) for symbol in names}
        x, y = (expression.subs(values).doit().evalf(_DIGITS) for expression in (a, b))
        if not (x.is_number and y.is_number and x.is_finite and y.is_finite):
            continue
        if not all(part.is_Float or part.is_Integer or part.is_Rational for v in (x, y) for part in v.as_real_imag()):
            continue
        size, gap = max(abs(x), abs(y)), abs(x - y)
        if gap > size * sympy.Float(10, _DIGITS) ** -25 and gap > sympy.Float(10, _DIGITS) ** -30:
            return False
        if gap != 0 and size < sympy.Float(10, _DIGITS) ** -25:
            return None
        seen += 1
    return True if seen else None


def _value(name: str, point: int, signed: bool) -> sympy.Rational:
    raw = digest(name, point)
    value = Fraction(raw % 10**12, 10**12) * 2 + Fraction(1, 5)
    return sympy.Rational(-value if signed and raw & 1 else value)
