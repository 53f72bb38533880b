"""Text-level clean-up that keeps the meaning: Unicode to ASCII/LaTeX, LaTeX spelling variants to one spelling.

After `clean`, words that stood in `\\text{}` and the like are wrapped in WORD_OPEN ... WORD_CLOSE (private-use
characters that cannot come from the input, which loses its own), a dollar sign is DOLLAR, and degrees are "°".
"""

import re
import unicodedata

WORD_OPEN, WORD_CLOSE, DOLLAR = "\ue000", "\ue001", "\ue002"

_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩϕϵ",
        [
            "alpha",
            "beta",
            "gamma",
            "delta",
            "epsilon",
            "zeta",
            "eta",
            "theta",
            "iota",
            "kappa",
            "lambda",
            "mu",
            "nu",
            "xi",
            "pi",
            "rho",
            "sigma",
            "tau",
            "upsilon",
            "phi",
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
            "phi",
            "epsilon",
        ],
        strict=True,
    )
)
_CHARACTERS = {
    **dict.fromkeys("−–—‐‑‒―﹣－", "-"),
    **dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    **dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad" + WORD_OPEN + WORD_CLOSE + DOLLAR, ""),
    **dict.fromkeys("×✕✖⋅·∙•∗", "*"),
    **dict.fromkeys("÷∕⁄", "/"),
    **dict.fromkeys("≤⩽≦", r"\le "),
    **dict.fromkeys("≥⩾≧", r"\ge "),
    **dict.fromkeys("≈≃≅", r"\approx "),
    **dict.fromkeys("º˚∘", "°"),
    **dict.fromkeys("’′‘", "'"),
    **dict.fromkeys("“”", '"'),
    "∶": ":",
    "∖": r"\setminus ",
    "≠": r"\ne ",
    "±": r"\pm ",
    "∓": r"\mp ",
    "√": r"\sqrt ",
    "∛": r"\sqrt[3]",
    "∜": r"\sqrt[4]",
    "∞": r"\infty ",
    "∈": r"\in ",
    "∪": r"\cup ",
    "∩": r"\cap ",
    "∅": r"\emptyset ",
    "ℝ": r"\mathbb{R}",
    "ℤ": r"\mathbb{Z}",
    "ℕ": r"\mathbb{N}",
    "ℚ": r"\mathbb{Q}",
    "ℂ": r"\mathbb{C}",
    "∑": r"\sum ",
    "∫": r"\int ",
    "∏": r"\prod ",
    "⌊": r"\lfloor ",
    "⌋": r"\rfloor ",
    "⌈": r"\lceil ",
    "⌉": r"\rceil ",
    "…": r"\ldots ",
    **{letter: f"\\{name} " for letter, name in _GREEK.items()},
}
_TABLE = str.maketrans(_CHARACTERS)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿⁱ⁽⁾", "0123456789+-ni()")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋", "0123456789+-")
_SUPERSCRIPT_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿⁱ⁽⁾]+")
_SUBSCRIPT_RUN = re.compile("[₀₁₂₃₄₅₆₇₈₉₊₋]+")
_VULGAR = re.compile("([0-9]?)([¼-¾⅐-⅞↉])")

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def plain_unicode(text: str) -> str:
    """Typographic characters to ASCII or LaTeX: minus signs, spaces, full-width digits, ², ½, √, ≤, π and the like."""
    if text.isascii():
        return text
    text = _SUPERSCRIPT_RUN.sub(lambda run: "^{" + run.group().translate(_SUPERSCRIPTS) + "}", text)
    text = _SUBSCRIPT_RUN.sub(lambda run: "_{" + run.group().translate(_SUBSCRIPTS) + "}", text)
    text = _VULGAR.sub(_vulgar_fraction, text)
    return unicodedata.normalize("NFKC", text.translate(_TABLE)).translate(_TABLE)


def _vulgar_fraction(match: re.Match[str]) -> str:
    top, bottom = unicodedata.normalize("NFKC", match[2]).split("⁄")
    return f"{match[1]} {top}/{bottom}" if match[1] else f"{top}/{bottom}"


_FUNCTION_WORDS = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "sinh",
        "cosh",
        "tanh",
        "coth",
        "arcsin",
        "arccos",
        "arctan",
        "arccot",
        "arcsec",
        "arccsc",
        "arsinh",
        "arcosh",
        "artanh",
        "asin",
        "acos",
        "atan",
        "exp",
        "ln",
        "log",
        "lg",
        "sqrt",
        "cis",
    ]
)
_REPLACEMENTS = [
    (re.compile(pattern), new)
    for pattern, new in [
        (r"\\left\s*\.|\\right\s*\.", ""),
        (r"\\(?:left|right|middle|[bB]igg?[lrm]?)(?![A-Za-z])\s*", ""),
        (r",\s*\\!\s*|\s*\{\s*,\s*\}(?:\\!)?\s*", ","),
        (r"\{\s*:\s*\}", ":"),
        (r"\\!", ""),
        (r"(?<!\\)\\(?:[,;:> ]|quad(?![A-Za-z])|qquad(?![A-Za-z])|thinspace(?![A-Za-z])|\n)|~", " "),
        (r"\\(?:displaystyle|textstyle|scriptstyle|limits|nolimits|rm|bf|it|sf)(?![A-Za-z])", ""),
        (r"\\[dtc]frac(?![A-Za-z])", r"\\frac"),
        (r"\\[dt]binom(?![A-Za-z])", r"\\binom"),
        (r"\\(?:cdot|times|ast)(?![A-Za-z])", "*"),
        (r"\\div(?![A-Za-z])", "/"),
        (r"\\(?:leqslant|leq|le)(?![A-Za-z])|<=", r"\\le "),
        (r"\\(?:geqslant|geq|ge)(?![A-Za-z])|>=|=>", r"\\ge "),
        (r"\\(?:neq|ne)(?![A-Za-z])|!=", r"\\ne "),
        (r"\\lt(?![A-Za-z])", "<"),
        (r"\\gt(?![A-Za-z])", ">"),
        (r"\\(?:approx|simeq|approxeq)(?![A-Za-z])", r"\\approx "),
        (r"\\%", "%"),
        (r"\\\$", DOLLAR),
        (r"\\_", "_"),
        (r"\^\s*\{\s*\\(?:circ|degree)\s*\}|\^\s*\\circ(?![A-Za-z])|\\(?:degree|textdegree)(?![A-Za-z])", "°"),
        (r"\\lbrace(?![A-Za-z])", r"\\{"),
        (r"\\rbrace(?![A-Za-z])", r"\\}"),
        (r"\\lbrack(?![A-Za-z])", "["),
        (r"\\rbrack(?![A-Za-z])", "]"),
        (r"\\(?:lvert|rvert|vert|mid)(?![A-Za-z])", "|"),
        (r"\\(?:varnothing|emptyset)(?![A-Za-z])", r"\\emptyset "),
        (r"\\mathbb\s*\{?\s*([A-Z])\s*\}?|\\([RZNQC])(?![A-Za-z])", r"\\mathbb{\1\2}"),
        (r"\\(?:phantom|hspace|vspace|label|tag)\s*\{[^{}]*\}", ""),
        (r"\\(?:text)?color\s*\{[^{}]*\}", ""),
        (r"^\s*\\(?:therefore|implies|Rightarrow|Longrightarrow|to)(?![A-Za-z])", ""),
        (r"\{\s*([^{}]+?)\s*\\choose(?![A-Za-z])\s*([^{}]+?)\s*\}", r"\\binom{\1}{\2}"),
        (r"\\backslash(?![A-Za-z])", r"\\setminus "),
        (r"\\colon(?![A-Za-z])", ":"),
        (r"\\(?:ldots|dots|cdots|dotsc)(?![A-Za-z])|\.\.\.", r"\\ldots "),
        (r"\b(?:np|numpy|math|sympy|sp)\.(?=[a-z])", ""),
    ]
]
_DOUBLED = re.compile(r"\\\\([A-Za-z]+|[{}])")  # \\frac from a doubly escaped string
_WRAPPED = re.compile(
    r"\\(?:text|mbox|textrm|textnormal|textsf|texttt|textit|textbf|emph|mathrm|mathbf|mathit|mathsf|mathtt|boldsymbol"
    r"|bm|operatorname\*?|underline|hbox|fbox)\s*\{([^{}]*)\}"
)
_NUMBER_STARTS = frozenset("0123456789.-$" + DOLLAR)
_UNIT_LETTERS = frozenset("msghLlNJWVAK")
_COMPOUND_UNIT = re.compile(r"[A-Za-z]+(?:\^\{?-?[0-9]\}?)?(?:[/* ][A-Za-z]+(?:\^\{?-?[0-9]\}?)?)+|[A-Za-z]{1,3}\^\{?[0-9]\}?")
_LETTERS = re.compile(r"[A-Za-z]{2}")


def _unwrap(match: re.Match[str]) -> str:
    content = match[1].strip()
    if content in _FUNCTION_WORDS:
        return f"\\{content} "
    if content[:1] in _NUMBER_STARTS:  # \text{14 apples} is 14 apples
        return f" {content} "
    low = content.lower().strip(" ,")
    if low in ("infinity", "∞"):
        return "\\infty "
    if low in ("and", "or"):
        return f" {low} "
    before = match.string[: match.start()].rstrip()[-1:]
    is_unit = before and before in "0123456789})" and (content in _UNIT_LETTERS or _COMPOUND_UNIT.fullmatch(content))
    if is_unit or (_LETTERS.search(content) and "\\" not in content):
        return WORD_OPEN + content + WORD_CLOSE
    return content


def clean(text: str) -> str:
    """`text`, one answer, in the one spelling that `reading` understands. Linear in its length."""
    text = plain_unicode(text)
    if "\\\\" in text and "\\begin" not in text:
        text = _DOUBLED.sub(r"\\\1", text)
    if "\\" in text or "{" in text or "~" in text or "=" in text or "np." in text or "math." in text or "..." in text:
        for pattern, new in _REPLACEMENTS:
            text = pattern.sub(new, text)
        for _ in range(3):  # wrappers nest at most a few deep in practice
            unwrapped = _WRAPPED.sub(_unwrap, text)
            if unwrapped == text:
                break
            text = unwrapped
    return strip_shell(text)


_SHELLS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"), ("**", "**"), ('"', '"'), ("`", "`"))


def strip_shell(text: str) -> str:
    """Remove what surrounds an answer: math delimiters, markdown, `\\boxed{}`, a final full stop."""
    for _ in range(12):
        text = text.strip()
        before = text
        for left, right in _SHELLS:
            if len(text) >= len(left) + len(right) and text.startswith(left) and text.endswith(right):
                text = text[len(left) : -len(right)].strip()
        if text.startswith("\\boxed") and text.endswith("}"):
            text = text[6:].lstrip()[1:-1]
        if text.endswith(("\\\\", "\\")):
            text = text.rstrip("\\")
        if text[-1:] in ".,;" and not text.endswith("\\."):
            text = text[:-1]
        if text == before:
            break
    if "$" in text:
        text = _lone_dollars(text)
    return text


def _lone_dollars(text: str) -> str:
    """A `$` before or after a number is money when it has no partner; every other one is a math delimiter."""
    if text.count("$") % 2:
        if re.match(r"-?\$\s*[\d.]", text):
            text = text.replace("$", DOLLAR, 1)
        elif re.search(r"\d\s*\$$", text):
            text = text[:-1] + DOLLAR
    return text.replace("$", " ").strip()
