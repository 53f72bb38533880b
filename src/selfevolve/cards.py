r"""Task cards: the nine-field record a Synthesizer writes, and the strict reading of it from model output.

Paper: SynCo section 3.2 (Eq. 4, the structured task card) and appendix C.4 (output schema, "output valid JSON only").

Deviations and choices the paper leaves open:

* A number where the schema shows a string is accepted for `final_answer` and `difficulty_estimate` and becomes its own
  text, digit for digit; every other field must be a string.
* LaTeX survives a forgotten backslash. JSON reads `\frac`, `\times`, `\beta`, `\neq`, `\rho` as form feed, tab,
  backspace, newline and carriage return. Before parsing, a backslash is doubled when it can only begin LaTeX (`\(`,
  `\alpha`: no JSON escape) and when it is followed by the name of a LaTeX command (`COMMANDS`) that starts with one of
  the letters b, f, n, r, t, u. As in TeX, a name is the whole run of letters, so `\nu` is the Greek letter and
  `\nunder`, `\nThen`, `\n2.` stay newlines. The cost, accepted: a newline before a lone "u", "e", "i", "less" or "mid"
  (and a few rarer words) is read as `\nu`, `\ne`, `\ni`, `\nless`, `\nmid`.
* `\\`, `\"`, `\/` and `\u` with four hexadecimal digits are always JSON escapes.
* A field may hold newlines and tabs, written as escapes. All other control characters (C0, DEL, C1) are refused however
  they are written, and raw ones, newline and tab included, are refused inside strings as JSON demands.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, NoReturn

from pydantic import BaseModel, ConfigDict, StringConstraints

Text = Annotated[str, StringConstraints(pattern=r"\S")]


class TaskCard(BaseModel):
    """One synthesized task (Eq. 4): nine non-blank texts, in the order of the wire schema.

    The Reasoner sees `problem` alone; the rest serves verification, rewards and analysis.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    teaching_intent: Text
    target_reasoning_style: Text
    expected_reasoner_weakness: Text
    difficulty_estimate: Text
    problem: Text
    solution: Text
    final_answer: Text
    verification_notes: Text
    novelty_notes: Text


FIELDS: tuple[str, ...] = tuple(TaskCard.model_fields)
NUMERIC_FIELDS = frozenset({"final_answer", "difficulty_estimate"})
MAX_CHARS = 65_536  # of the card itself, thinking and fence removed; about ten times the longest honest card

REASONS: dict[str, str] = {
    "empty": "nothing is left once the thinking and the fence are removed",
    "prose": "text stands before or after the object",
    "not_object": "the output is another JSON value, such as a list",
    "two_objects": "a second object follows the first",
    "truncated": "the output ends inside the thinking, the fence or the object",
    "too_long": f"the card is longer than {MAX_CHARS} characters",
    "too_deep": "values are nested too deeply to read",
    "malformed": "not JSON for another reason",
    "control_character": "a control character, raw or as an escape (newline and tab escapes are fine)",
    "surrogate": "half of a UTF-16 pair",
    "missing_key": "one of the nine keys is absent",
    "unknown_key": "a key outside the schema",
    "repeated_key": "a key occurs twice",
    "null_value": "a field is null",
    "blank_value": "a field is empty or only white space",
    "wrong_type": "a field is a list, an object, a boolean, or a number where text is due",
    "not_finite": "a field is NaN or infinite",
}


class CardError(ValueError):
    """Model output that is not exactly one task card. `reason`, a key of `REASONS`, feeds the rejection summary."""

    def __init__(self, reason: str, message: str):
        if reason not in REASONS:
            raise KeyError(f"unknown card reason {reason!r}: add it to selfevolve.cards.REASONS")
        super().__init__(f"{reason}: {message}")
        self.reason = reason


# The commands that a JSON escape would swallow, by first letter. A name missing here costs a rejected card or a stray
# newline or tab; a name too many would eat a real newline, so only commands of LaTeX, AMS and common packages are here.
_NAMES = """
backslash backprime backsim bar barwedge bcancel because begin beta beth between bf bfseries big bigcap bigcirc bigcup
bigg biggl biggm biggr bigl bigm bigodot bigoplus bigotimes bigr bigskip bigsqcup bigstar bigtriangledown bigtriangleup
biguplus bigvee bigwedge binom blacksquare blacktriangle bm bmod boldmath boldsymbol bot bowtie box boxdot boxed
boxminus boxplus boxtimes bra braket breve bullet bumpeq
fallingdotseq fbox fcolorbox fill flat floor footnote footnotesize forall frac frak framebox frown
nLeftarrow nLeftrightarrow nRightarrow nVDash nVdash nabla natural ncong ne nearrow neg neq newcommand newline nexists
ngeq ngeqq ngeqslant ngtr ni nicefrac nleftarrow nleftrightarrow nleq nleqq nleqslant nless nmid nobreak noindent
nolimits nonumber norm normalsize not notag notin nparallel nprec npreceq nrightarrow nshortmid nsim nsubset nsubseteq
nsucc nsucceq nsupset nsupseteq ntriangleleft ntriangleright nu num nvDash nvdash nwarrow
raggedright raise raisebox rangle rank rbrace rbrack rceil real ref renewcommand restriction rfloor rgroup rho rhd
right rightangle rightarrow rightarrowtail rightharpoondown rightharpoonup rightleftarrows rightleftharpoons
rightrightarrows rightsquigarrow risingdotseq rlap rm rmoustache root rtimes rule rvert rVert
tag tan tanh tau tbinom tcolorbox texorpdfstring text textbf textbackslash textbullet textcircled textcolor textdegree
textdollar textgreater textit textless textmd textnormal textrm textsc textsf textsl textstyle textsubscript
textsuperscript texttt textup tfrac therefore theta thickapprox thicksim thickspace thinspace tilde times tiny to top
triangle triangledown triangleleft trianglelefteq triangleq triangleright trianglerighteq tt ttfamily twoheadleftarrow
twoheadrightarrow
ulcorner uline underbar underbrace underbracket underleftarrow underleftrightarrow underline underrightarrow underset
unicode union unit unlhd unrhd upalpha uparrow upbeta updownarrow upharpoonleft upharpoonright uplus uppi upsilon
upuparrows urcorner url uwave
"""
COMMANDS = frozenset(_NAMES.split())
_SYMBOLS = frozenset("()[]{},;:! _%$&#|-<>")  # \( \, \{ \% ...: TeX control symbols that are no JSON escape
_BACKSLASH = re.compile(r"\\(u[0-9a-fA-F]{4}|[A-Za-z]+|.)", re.DOTALL)
_FENCE = re.compile(r"```(?:json)?(?=[\s{\[])", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SPACE = " \t\r\n"


def parse_card(text: str) -> TaskCard:
    """Read exactly one task card from a model's output.

    Args:
        text: the raw output: the JSON object alone, in one code fence, or either of the two after `</think>`.

    Returns:
        The card, its texts as written (not stripped), undoubled LaTeX intact.

    Raises:
        CardError: for anything else, whatever the input; `reason` is a key of `REASONS`.
    """
    body = text.strip(_SPACE)
    thinking, closed, rest = body.partition("</think>")
    if closed and not _is_whole(body, _Object):  # a card may quote the tag inside a string
        body = rest.strip(_SPACE)
    elif body.startswith("<think>"):
        raise CardError("truncated", "the thinking is not closed with </think>")
    return _card(_pairs(_unfence(body)))


class _Number(str):
    """A JSON number, kept as its text so that no digit is lost."""


class _Object(list):
    """The (key, value) pairs of a JSON object, repeated keys included."""


def _not_finite(name: str) -> NoReturn:
    raise CardError("not_finite", f"{name} is not a value of any field; write a finite number or text")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Object, parse_int=_Number, parse_float=_Number, parse_constant=_not_finite, strict=True
)


def _is_whole(body: str, kind: type) -> bool:
    if len(body) > MAX_CHARS:
        return False
    source = _BACKSLASH.sub(_escape, body)
    try:
        value, end = _DECODER.raw_decode(source)
    except (ValueError, RecursionError):
        return False
    return end == len(source) and isinstance(value, kind)


def _unfence(body: str) -> str:
    opening = _FENCE.match(body)
    if not opening:
        return body
    inside, closing, after = body[opening.end() :].rpartition("```")
    if not closing:
        raise CardError("truncated", "the code fence is not closed")
    if after:
        raise CardError("prose", f"text after the code fence: {_short(after)}")
    return inside.strip(_SPACE)


def _escape(match: re.Match[str]) -> str:
    """Double the backslash of one escape if it begins LaTeX (module docstring)."""
    whole, after = match[0], match[1]
    if after[0] in "bfnrtu" and after.isalpha():
        return "\\" + whole if after in COMMANDS else whole
    if after in _SYMBOLS or (after.isascii() and after.isalpha()):
        return "\\" + whole
    return whole


def _pairs(body: str) -> _Object:
    """The pairs of the one object that `body` is."""
    if not body:
        raise CardError("empty", "no card; write one JSON object with the nine keys")
    if len(body) > MAX_CHARS:
        raise CardError("too_long", f"{len(body)} characters; at most {MAX_CHARS}")
    if body[0] != "{":
        reason = "not_object" if _is_whole(body, object) else "prose"
        raise CardError(reason, f"expected '{{' first, found {_short(body)}")
    source = _BACKSLASH.sub(_escape, body)
    try:
        value, end = _DECODER.raw_decode(source)
    except RecursionError:
        raise CardError("too_deep", "a value is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise CardError(_fault(error), f"{error.msg} at character {error.pos}: {_short(source[error.pos :])}") from None
    after = source[end:].strip(_SPACE)
    if after:
        raise CardError("two_objects" if after[0] == "{" else "prose", f"text after the object: {_short(after)}")
    return value


def _fault(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos :].strip(_SPACE)
    if error.msg.startswith("Invalid control character"):
        return "control_character"
    if error.msg.startswith("Unterminated") or not rest or any(w.startswith(rest) for w in ("true", "false", "null")):
        return "truncated"
    if error.msg.startswith("Invalid \\") and len(rest) < 6 and '"' not in rest:  # cut inside \uXXXX
        return "truncated"
    return "malformed"


def _card(pairs: _Object) -> TaskCard:
    values: dict[str, Any] = dict(pairs)
    names = [name for name, _ in pairs]
    if len(values) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise CardError("repeated_key", f"{_short(twice)} occurs more than once")
    for name in FIELDS:
        if name not in values:
            raise CardError("missing_key", f"{name!r} is absent")
    for name in names:
        if name not in FIELDS:
            raise CardError("unknown_key", f"{_short(name)} is not one of {', '.join(FIELDS)}")
    return TaskCard(**{name: _text(name, values[name]) for name in FIELDS})


def _text(name: str, value: Any) -> str:
    if value is None:
        raise CardError("null_value", f"{name!r} is null")
    if not isinstance(value, str) or (isinstance(value, _Number) and name not in NUMERIC_FIELDS):
        raise CardError("wrong_type", f"{name!r} must be a string, not {_short(value)}")
    if not value.strip():
        raise CardError("blank_value", f"{name!r} is blank")
    if control := _CONTROL.search(value):
        raise CardError("control_character", f"{name!r} holds U+{ord(control[0]):04X}; double the backslash of LaTeX")
    if _SURROGATE.search(value):
        raise CardError("surrogate", f"{name!r} holds half of a UTF-16 pair")
    return str(value)


def _short(value: object) -> str:
    """A printable excerpt for messages, whatever the value."""
    try:
        shown = ascii(value[:40] if isinstance(value, (str, list)) else value)
    except RecursionError:
        return f"a deeply nested {type(value).__name__}"
    return shown if len(shown) <= 60 else shown[:57] + "..."
