"""Names in formulas: subscripts, primes, dots, derivatives, and names applied to an argument.

A derivative is a name: x', \\dot{x} and \\frac{dx}{dt} are one and the same, whatever the variable; the second has ''.
"""

import re

from selfevolve.checker.tokens import Cursor, Unreadable

_POWER = r"(?:\^ (?:{ )?(\d)(?: })? )?"
_DERIVATIVE = re.compile(
    rf"{{ (?:d|partial) {_POWER}((?!\^)[^ ]+(?: _ (?:{{[^{{}}]*}}|[^ ]+))?) }} {{ (?:d|partial) [a-zA-Z]+ {_POWER}}}"
)

_OPERATOR = re.compile(r"{ (d|partial) (?:\^ (?:{ )?\d(?: })? )?} { \1 [a-zA-Z]")


class Names(Cursor):
    """The part of the parser that reads names."""

    def symbol(self, base: str, primes: str = "") -> tuple:
        """A name with its subscript, primes and, where it is clearly applied, its argument."""
        name = base
        while True:
            if self.mark("_"):
                self.here += 1
                name += "_" + self.raw_group()
            elif self.mark("'"):
                self.here += 1
                primes += "'"
            elif self.mark("^") and self.prime_group():
                primes += "'" * self.raw_group().count("prime")
            else:
                break
        name += primes
        if name in ("pi", "e", "i"):
            return ("k", name)
        if self.mark("("):
            applied = self.application(name[0] in "fghFGHu" and not name[1:2].isalpha())
            if applied:
                return ("s", name + applied)
        return ("s", name)

    def prime_group(self) -> bool:
        if self.peek(1) == ("command", "prime") or (self.peek(1)[1] == "{" and self.peek(2) == ("command", "prime")):
            self.here += 1
            return True
        return False

    def application(self, any_argument: bool) -> str | None:
        """`(t)`, `(0)`: a name before one symbol or number is a function of it; f, g, h, u take any argument."""
        depth, at, parts = 0, self.here, []
        while True:
            kind, text = self.tokens[at] if at < len(self.tokens) else ("end", "")
            if kind == "end":
                return None
            depth += (text == "(") - (text == ")")
            parts.append(text)
            at += 1
            if depth == 0:
                break
        single = len(parts) == 3 and self.tokens[self.here + 1][0] in ("letter", "number", "command")
        if not (single or any_argument):
            return None
        self.here = at
        return "".join(parts)

    def derivative(self) -> str | None:
        """\\frac{dM}{dt} is the name M'; \\frac{d}{dx} is an operator, for computer algebra."""
        tokens = self.tokens[self.here : self.here + 24]
        text = " ".join(token[1].replace(" ", "") for token in tokens)
        if _OPERATOR.match(text):
            raise Unreadable("a derivative to be taken")
        match = _DERIVATIVE.match(text)
        if not match or match[1] != match[3] or not re.match(r"[A-Za-z]", match[2]):
            return None
        self.here += len(match.group().split(" "))
        return re.sub(r"[{} ]", "", match[2]) + "'" * int(match[1] or 1)
