"""A bounded parser for scalar formulas in LaTeX, plain or code-like notation.

Trees are nested tuples: ("n", Fraction), ("s", name), ("k", "pi" | "e" | "i" | "inf"), ("+", items), ("*", items),
("/", a, b), ("^", a, b), ("-", a), ("!", a), ("f", function, args), ("pm", sign, a, b) for a ± b (1) or a ∓ b (-1).
Nothing is evaluated here. What the grammar does not cover raises `Unreadable` and is left to Math-Verify's parser.
"""

import re
from fractions import Fraction

from selfevolve.checker.names import Names
from selfevolve.checker.tokens import FUNCTIONS, GREEK, Unreadable, tokenise

MAX_DEPTH = 160
_INVERSE = {name: "arc" + name for name in ["sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh"]}
_ALIASES = {"varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi", "varrho": "rho"}
_ACCENTS = {"hat": "hat ", "bar": "bar ", "overline": "bar ", "tilde": "tilde ", "widehat": "hat ", "vec": ""}
_DERIVATIVE = re.compile(r"(?<![A-Za-z\\])(d|\\partial )\s*([a-zA-Z])\s*/\s*\1\s*([a-zA-Z])(?![A-Za-z])")


def parse(text: str) -> tuple:
    """Tree of a whole formula. Raises Unreadable."""
    if _DERIVATIVE.search(text):
        text = _DERIVATIVE.sub(r"\\frac{\1\2}{\1\3}", text)
    parser = _Parser(tokenise(text))
    tree = parser.sum(0)
    if parser.here < len(parser.tokens):
        raise Unreadable("something is left over")
    return tree


class _Parser(Names):
    """Recursive descent. `bars` counts the open |...|."""

    bars = 0

    def sum(self, depth: int) -> tuple:
        if depth > MAX_DEPTH:
            raise Unreadable("nested too deep")
        kind, text = self.peek()
        if kind == "command" and text in ("pm", "mp"):
            self.here += 1
            tree = ("pm", 1 if text == "pm" else -1, ("n", Fraction(0)), self.product(depth + 1))
            items = [tree]
        else:
            items = [self.product(depth + 1)]
        while True:
            kind, text = self.peek()
            if kind == "mark" and text in "+-":
                self.here += 1
                item = self.product(depth + 1)
                items.append(item if text == "+" else ("-", item))
            elif kind == "command" and text in ("pm", "mp"):
                self.here += 1
                left = items[0] if len(items) == 1 else ("+", tuple(items))
                items = [("pm", 1 if text == "pm" else -1, left, self.product(depth + 1))]
            else:
                return items[0] if len(items) == 1 else ("+", tuple(items))

    def product(self, depth: int) -> tuple:
        if depth > MAX_DEPTH:
            raise Unreadable("nested too deep")
        negative = False
        while self.mark("+", "-"):
            negative ^= self.peek()[1] == "-"
            self.here += 1
        tree = self.power(depth + 1)
        factors = [tree]
        while True:
            if self.mark("*"):
                self.here += 1
                factors.append(self.signed(depth + 1))
            elif self.mark("/"):
                self.here += 1
                factors.append(("/", ("n", Fraction(1)), self.signed(depth + 1)))
            elif self.starts_operand():
                if self.peek()[0] == "number" and factors[-1][0] == "n":
                    raise Unreadable("two numbers side by side")
                factors.append(self.power(depth + 1))
            else:
                break
        tree = factors[0] if len(factors) == 1 else ("*", tuple(factors))
        return ("-", tree) if negative else tree

    def signed(self, depth: int) -> tuple:
        negative = False
        while self.mark("+", "-"):
            negative ^= self.peek()[1] == "-"
            self.here += 1
        tree = self.power(depth)
        return ("-", tree) if negative else tree

    def starts_operand(self) -> bool:
        kind, text = self.peek()
        if kind == "mark":
            return text in ("(", "[", "{") or (text == "|" and self.bars == 0)
        return kind in ("number", "letter") or (kind == "command" and text not in _NOT_OPERANDS)

    def power(self, depth: int) -> tuple:
        tree = self.postfix(self.primary(depth + 1))
        if self.mark("^", "**"):
            self.here += 1
            tree = ("^", tree, self.exponent(depth + 1))
            return self.postfix(tree)
        return tree

    def postfix(self, tree: tuple) -> tuple:
        factorial = False
        while self.mark("!", "°"):
            if self.peek()[1] == "!":
                if factorial:
                    raise Unreadable("double factorial")
                factorial = True
                tree = ("!", tree)
            else:
                tree = ("*", (tree, ("/", ("k", "pi"), ("n", Fraction(180)))))
            self.here += 1
        return tree

    def exponent(self, depth: int) -> tuple:
        if depth > MAX_DEPTH:
            raise Unreadable("nested too deep")
        if self.mark("{"):
            return self.group(depth)
        if self.mark("+", "-"):
            negative = self.peek()[1] == "-"
            self.here += 1
            tree = self.exponent(depth + 1)
            return ("-", tree) if negative else tree
        return self.power(depth + 1)  # right associative: 9^9^9

    def group(self, depth: int) -> tuple:
        self.take("{")
        bars, self.bars = self.bars, 0
        tree = self.sum(depth + 1)
        self.bars = bars
        self.take("}")
        return tree

    def argument(self, depth: int) -> tuple:
        """A LaTeX argument: a group, or one token (a digit of a longer number, as TeX reads \\frac12)."""
        if self.mark("{"):
            return self.group(depth)
        kind, text = self.peek()
        if kind == "number" and text.isdigit() and len(text) > 1:
            self.tokens[self.here] = ("number", text[1:])
            return ("n", Fraction(int(text[0])))
        return self.primary(depth + 1)

    def primary(self, depth: int) -> tuple:
        if depth > MAX_DEPTH:
            raise Unreadable("nested too deep")
        kind, text = self.peek()
        self.here += 1
        if kind == "number":
            return ("n", _fraction(text))
        if kind == "letter":
            return self.symbol(text)
        if kind == "command":
            return self.command(text, depth)
        if kind == "word":
            return ("s", " ".join(text.split()))
        if kind == "mark" and text in ("(", "["):
            bars, self.bars = self.bars, 0
            tree = self.sum(depth + 1)
            self.bars = bars
            self.take(")" if text == "(" else "]")
            return tree
        if kind == "mark" and text == "{":
            self.here -= 1
            return self.group(depth)
        if kind == "mark" and text in ("|", "\\|"):
            self.bars += 1
            tree = self.sum(depth + 1)
            self.bars -= 1
            self.take(text)
            return ("f", "abs", (tree,))
        raise Unreadable(f"cannot start with {text!r}")

    def command(self, name: str, depth: int) -> tuple:
        if name == "frac":
            return self.fraction(depth)
        if name == "sqrt":
            return self.root(depth)
        if name in FUNCTIONS:
            return self.function(FUNCTIONS[name], depth)
        if name in ("binom", "choose"):
            top = self.argument(depth + 1)
            return ("f", "binom", (top, self.argument(depth + 1)))
        if name in ("lfloor", "lceil"):
            tree = self.sum(depth + 1)
            if self.peek() != ("command", "r" + name[1:]):
                raise Unreadable("unclosed floor or ceiling")
            self.here += 1
            return ("f", "floor" if name == "lfloor" else "ceil", (tree,))
        if name in ("angle", "triangle", "measuredangle"):
            start = self.here
            while self.peek()[0] == "letter":
                self.here += 1
            return ("s", f"{name} " + "".join(text for _, text in self.tokens[start : self.here]))
        if name == "infty":
            return ("k", "inf")
        if name == "pi":
            return self.symbol("pi")
        if name == "ldots":
            return ("s", "...")
        if name in ("dot", "ddot") or name in _ACCENTS:
            braced = self.mark("{")
            inner = self.argument(depth + 1)
            if inner[0] != "s" and not (braced and name in ("overline", "vec") and inner[0] == "*"):
                raise Unreadable("accent over a formula")
            base = inner[1] if inner[0] == "s" else "".join(str(item[1]) for item in inner[1])
            if name in ("dot", "ddot"):
                return self.symbol(base, "'" * (1 if name == "dot" else 2))
            return self.symbol(_ACCENTS[name] + base)
        if name == "mathbb":
            inner = self.argument(depth + 1)
            return ("s", f"mathbb {inner[1]}")
        if name in GREEK:
            return self.symbol(_ALIASES.get(name, name))
        raise Unreadable(f"command {name}")

    def fraction(self, depth: int) -> tuple:
        start = self.here
        name = self.derivative()
        if name:
            return ("s", name)
        self.here = start
        top = self.argument(depth + 1)
        return ("/", top, self.argument(depth + 1))

    def root(self, depth: int) -> tuple:
        index = ("n", Fraction(2))
        if self.mark("["):
            self.here += 1
            index = self.sum(depth + 1)
            self.take("]")
        # \sqrt3, \sqrt 17, \sqrt(2) take what follows
        inside = self.group(depth + 1) if self.mark("{") else self.primary(depth + 1)
        return ("f", "sqrt", (inside,)) if index == ("n", 2) else ("^", inside, ("/", ("n", Fraction(1)), index))

    def function(self, name: str, depth: int) -> tuple:
        power, base = None, None
        while self.mark("^", "_", "**"):
            mark = self.peek()[1]
            self.here += 1
            if mark == "_":
                base = self.argument(depth + 1)
            else:
                power = self.exponent(depth + 1) if not self.mark("{") else self.group(depth + 1)
        if power == ("-", ("n", Fraction(1))) and name in _INVERSE:
            name, power = _INVERSE[name], None
        args = (self.function_argument(depth + 1),)
        if base is not None:
            if name != "log":
                raise Unreadable("subscript on a function")
            args += (base,)
        tree = ("f", name, args)
        return tree if power is None else ("^", tree, power)

    def function_argument(self, depth: int) -> tuple:
        if depth > MAX_DEPTH:
            raise Unreadable("nested too deep")
        if self.mark("(", "{", "[", "|"):
            return self.primary(depth + 1)
        negative = self.mark("-")
        if negative:
            self.here += 1
        factors = [self.power(depth + 1)]
        while self.starts_operand():
            kind, text = self.peek()
            if (kind == "command" and text in FUNCTIONS and text != "sqrt") or (kind == "mark" and text != "{"):
                break
            factors.append(self.power(depth + 1))
        tree = factors[0] if len(factors) == 1 else ("*", tuple(factors))
        return ("-", tree) if negative else tree


_NOT_OPERANDS = frozenset({"pm", "mp", "rfloor", "rceil", "in", "le", "ge", "ne", "approx", "cup", "cap", "setminus"})


def _fraction(text: str) -> Fraction:
    if len(text) > 4000:
        raise Unreadable("number too long for a formula")
    mantissa, _, power = text.lower().partition("e")
    whole, _, part = mantissa.partition(".")
    return Fraction(int(whole + part)) * Fraction(10) ** (int(power or 0) - len(part))
