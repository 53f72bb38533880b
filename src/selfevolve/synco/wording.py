r"""Rules on the words of a task card: completeness, well-posedness, format of the answer, leakage of the answer.

Paper: SynCo section 3.2 (task validity), appendix B.2 (schema completeness, problem validity, output format; "rule-
based checks rather than an LLM judge") and C.4 (self-contained, no diagrams, one problem, the statement must not reveal
the answer). The paper's own rules are in a supplement that is not public; these are ours. Each returns a score in
[0, 1] and the code of the first rule broken, "" if none; they err towards admitting.
"""

from __future__ import annotations

import re

from selfevolve.cards import FIELDS, TaskCard
from selfevolve.synco.contamination import tokens

_PLACEHOLDER = re.compile(
    r"\W*|n/?a|null|tbd|todo|placeholder|lorem ipsum.*|your .{1,40} here"
    r"|[<\[{]\s*(?:insert|your|the|a|an|problem|solution|answer|text|string)\b[a-z _-]{0,40}[>\]}]",
    re.IGNORECASE | re.DOTALL,
)
_BLANKS = re.compile(r"[<\[]\s*(?:insert|your|fill)\b[a-z _-]{1,40}[>\]]|lorem ipsum|\bTODO\b|\byour (?:problem|text) here", re.I)
_CUT_PROBLEM = re.compile(r"(?:[,(\[{+*/<-]|\b(?:and|or|the|an|of|is|are|to|with|if|that|than|has|have))$", re.IGNORECASE)
_CUT_SOLUTION = re.compile(r"(?:[(\[{+*/<=-]|\b(?:and|or|the|an|of|is|are|to|with|if|that|than))$", re.IGNORECASE)


def completeness(card: TaskCard, min_problem_chars: int) -> tuple[float, str]:
    """Share of the nine fields with substance; "placeholder", "short" (problem) or "truncated" (problem, solution)."""
    hollow = [name for name in FIELDS if _hollow(name, getattr(card, name))]
    score = 1.0 - len(hollow) / len(FIELDS)
    problem, solution = card.problem.strip(), card.solution.strip()
    if hollow:
        return score, "placeholder"
    if len(problem) < min_problem_chars:
        return score, "short"
    cut_off = problem.endswith(("...", "…")) and not re.search(r",\s*(?:\.{3}|…)$", problem)  # "2, 4, 8, ..." is whole
    if cut_off or _CUT_PROBLEM.search(problem) or _CUT_SOLUTION.search(solution):
        return score, "truncated"
    return score, ""


def _hollow(name: str, value: str) -> bool:
    value = value.strip()
    if not any(c.isalnum() for c in value):
        return not (name == "final_answer" and re.search(r"\\[A-Za-z]+|[∞∅]", value))
    if value.lower().replace("_", " ") == name.replace("_", " ") or _PLACEHOLDER.fullmatch(value):
        return True
    return name in ("problem", "solution") and bool(_BLANKS.search(value))


_ASKS = re.compile(
    r"\?|\b(?:find|compute|calculate|determine|evaluate|solve|simplify|express|prove|show|give|write|convert|factor|expand"
    r"|state|name|list|estimate|count|derive|obtain|report|answer|enter|round|sketch|what|which|who|when|where|how)\b",
    re.IGNORECASE,
)
_FIGURE = re.compile(
    r"\[asy\]|\\includegraphics|\\begin\{tikzpicture\}|!\[[^\]]{0,200}\]\("
    r"|\b(?:in|from|see|consider|use|using|to|on) (?:the|this) (?:\w+ )?(?:figure|diagram|picture|image|drawing)\b"
    r"(?! of| with| that)"
    r"|\b(?:figure|diagram|picture|image|graph|chart|drawing)s? (?:\w+ )?(?:below|above|shows?|shown|depicts?)\b"
    r"|\bas (?:shown|pictured|depicted|illustrated)\b|\bshown (?:below|above|here)\b|\b(?:figure|fig\.) \d",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"\b(?i:problem|question|task|part|exercise) (?:2|II|ii|B|b|[Tt]wo)\b[:.)]|(?:^|\s)\(b\)\s")


def validity(problem: str) -> tuple[float, str]:
    """Share of four rules kept; "no_question", "figure", "several_problems" or "unbalanced" (TeX delimiters)."""
    broken = [
        code
        for code, bad in (
            ("no_question", not _ASKS.search(problem)),
            ("figure", bool(_FIGURE.search(problem))),
            ("several_problems", len(re.findall(r"\?+", problem)) > 1 or bool(_SEVERAL.search(problem))),
            ("unbalanced", not balanced(problem)),
        )
        if bad
    ]
    return 1.0 - len(broken) / 4, broken[0] if broken else ""


def balanced(text: str) -> bool:
    r"""Whether braces, `\( \)`, `\[ \]`, `\left \right`, environments and `$` pair up. `$5` may be money, so an odd
    number of `$` counts only where none touches a digit."""
    depth = 0
    plain = re.sub(r"\\[{}$\\]", "", text)
    for brace in re.findall(r"[{}]", plain):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    pairs = ((r"\(", r"\)"), (r"\[", r"\]"), (r"\begin{", r"\end{"))
    if depth or any(plain.count(a) != plain.count(b) for a, b in pairs):
        return False
    if len(re.findall(r"\\left(?![A-Za-z])", plain)) != len(re.findall(r"\\right(?![A-Za-z])", plain)):
        return False
    return plain.count("$") % 2 == 0 or bool(re.search(r"\$\s?[\d.]|\d\$", plain))


_DECORATED = re.compile(r"^\$.*\$$|^\\[(\[].*\\[)\]]$|[.;]$|^\\?[A-Za-z]\w*\s*=[^=]", re.DOTALL)
_SENTENCE = re.compile(r"\banswer\b|\b(?:is|are|was|were|equals|because|therefore|so|since)\b", re.IGNORECASE)
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")


def answer_format(answer: str, max_chars: int) -> tuple[float, str]:
    r"""1 for a bare value, 0.5 for one wrapped in `$`, named (`x = 5`), with a unit or a full stop, 0 for a fault.

    Faults: "box" (`\boxed` belongs to rollouts), "sentence", "several_lines", "long_answer" (over `max_chars`),
    "unbalanced".
    """
    value = answer.strip()
    words = _WORD.findall(re.sub(r"\\[A-Za-z]+", " ", value))
    for code, bad in (
        ("box", "boxed" in value),
        ("several_lines", "\n" in value),
        ("sentence", len(words) > 4 or bool(_SENTENCE.search(value))),
        ("long_answer", len(value) > max_chars),
        ("unbalanced", not balanced(value)),
    ):
        if bad:
            return 0.0, code
    number_with_words = bool(words) and any(c.isdigit() for c in value)
    return (0.5 if number_with_words or _DECORATED.search(value) else 1.0), ""


_STATED = re.compile(
    r"\banswer\b(?:\s*(?:\bis\b|\bequals\b|\b(?:will|should|must) be\b|[:=]))*"
    r"|\b(?:solution|result)\b(?:\s*(?:\bis\b|\bequals\b|\b(?:will|should|must) be\b|[:=]))+",
    re.IGNORECASE,
)
_WRAPPING = " \t\n$\\()[]{}.,;:!?'\"*"


def leaks(card: TaskCard) -> bool:
    r"""Whether the problem states its answer: a box, "answer is 14", the solution, or the solution's last equation.

    That the answer's digits are among the givens is no leak.
    """
    problem, answer = card.problem, card.final_answer.strip(_WRAPPING)
    if "\\boxed" in problem:
        return True
    for stated in _STATED.finditer(problem):
        claim = problem[stated.end() : stated.end() + len(card.final_answer) + 8].lstrip(_WRAPPING)
        if answer and claim.startswith(answer) and not re.match(r"\w|[.,/]\d", claim[len(answer) :]):
            return True
    told, solved = " ".join(tokens(problem)), tokens(card.solution)
    if len(solved) >= 5 and f" {' '.join(solved)} " in f" {told} ":
        return True
    equation = tokens(re.split(r"[;\n]|\.\s", card.solution.strip(" .;\n"))[-1])
    asserts = "=" in equation and len(equation) >= 5 and any(sign in equation for sign in "+-*/^")
    return asserts and f" {' '.join(equation)} " in f" {told} "
