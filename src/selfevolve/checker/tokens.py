"""Tokens of a formula, and a cursor over them."""

import re

from selfevolve.checker.normalise import WORD_CLOSE, WORD_OPEN

MAX_TOKENS = 800


class Unreadable(ValueError):
    """The text is not a formula of our grammar."""


FUNCTIONS = {
    **{
        name: name
        for name in ["sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "exp", "ln", "log", "lg"]
    },
    **{f"{arc}{name}": f"arc{name}" for arc in ("arc", "a") for name in ["sin", "cos", "tan", "cot", "sec", "csc"]},
    **{f"{arc}{name}h": f"arc{name}h" for arc in ("arc", "ar", "a") for name in ["sin", "cos", "tan"]},
    "sqrt": "sqrt",
    "abs": "abs",
    "floor": "floor",
    "ceil": "ceil",
}
GREEK = frozenset(
    [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "varepsilon",
        "zeta",
        "eta",
        "theta",
        "vartheta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "rho",
        "varrho",
        "sigma",
        "tau",
        "upsilon",
        "phi",
        "varphi",
        "chi",
        "psi",
        "omega",
        "Gamma",
        "Delta",
        "Theta",
        "Lambda",
        "Xi",
        "Pi",
        "Sigma",
        "Phi",
        "Psi",
        "Omega",
        "hbar",
        "ell",
        "odot",
        "nabla",
        "partial",
        "mathbb",
        "aleph",
    ]
)
_TOKEN = re.compile(
    rf"\s++|(?P<number>(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]{{1,4}}(?![0-9.]))?)"
    rf"|(?P<command>\\[A-Za-z]++)|{WORD_OPEN}(?P<word>[^{WORD_CLOSE}]*+){WORD_CLOSE}|(?P<letters>[A-Za-z]++)"
    r"|(?P<mark>\*\*|\\[{}|]|[-+*/^_(){}\[\]|!=',°])"
)


def tokenise(text: str) -> list[tuple[str, str]]:
    """(kind, text) tokens: number, command, word, letter, mark. Raises Unreadable on anything else or on too many."""
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if not match or len(tokens) > MAX_TOKENS:
            raise Unreadable("character outside the grammar, or too long")
        position = match.end()
        kind = match.lastgroup
        if kind == "letters":
            subscript = [token[1] for token in tokens[-2:]] == ["_", "{"]
            tokens += _letters(match.group(), subscript)
        elif kind == "command":
            tokens.append(("command", match.group()[1:]))
        elif kind:
            tokens.append((kind, match[kind]))
    return tokens


def _letters(run: str, subscript: bool) -> list[tuple[str, str]]:
    if run in FUNCTIONS or run in GREEK or run == "pi":
        return [("command", run)]
    for cut in range(1, len(run) - 1):  # 2xsin(t), but only whole function names at the end
        if run[cut:] in FUNCTIONS and len(run) - cut > 2:
            return [("letter", letter) for letter in run[:cut]] + [("command", run[cut:])]
    if run in ("inf", "infty", "infinity", "Infinity"):
        return [("command", "infty")]
    if len(run) > 3 and not subscript:
        raise Unreadable(f"the word {run[:20]}")
    return [("letter", letter) for letter in run]


class Cursor:
    """A position in a list of tokens."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.here = 0

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        at = self.here + ahead
        return self.tokens[at] if at < len(self.tokens) else ("end", "")

    def mark(self, *texts: str) -> bool:
        kind, text = self.peek()
        return kind == "mark" and text in texts

    def take(self, text: str) -> None:
        if not self.mark(text):
            raise Unreadable(f"expected {text}")
        self.here += 1

    def raw_group(self) -> str:
        """Text of the next group or token, without braces."""
        kind, text = self.peek()
        self.here += 1
        if (kind, text) != ("mark", "{"):
            if kind == "end":
                raise Unreadable("nothing after a subscript")
            return text
        parts, level = [], 1
        while level:
            kind, text = self.peek()
            if kind == "end":
                raise Unreadable("unclosed group")
            self.here += 1
            level += (text == "{") - (text == "}")
            if kind != "mark" or text not in "{}":
                parts.append(text.replace(" ", ""))
        return "".join(parts)
