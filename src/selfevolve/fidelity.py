"""The generated part of docs/fidelity.md: every deviation from the SynCo paper, as the module that makes it states it.

    python -m selfevolve.fidelity        # writes the section anew; a test fails while it is out of date

A module says in its docstring what differs from the paper and why. Here those paragraphs are collected, so that the page cannot drift from
the code.
"""

import ast
import re
from pathlib import Path

from selfevolve import paths

PAGE = paths.ROOT / "docs" / "fidelity.md"
HEADING = "## Deviations and choices\n"
INTRODUCTION = """
Collected by `python -m selfevolve.fidelity` from the docstrings of the modules: what differs from the paper or is left open by it, and why.
"""
PACKAGES = ("synco", "models", "evaluation", "analysis", "checker")
MODULES = ("cards", "families")
_SAYS = re.compile(
    r"\bDeviations?\b|\bOurs\b|\bours\b|\bnot stated\b|\bdiffers?\b|[Nn]ot (?:in|from) the paper|Paper: none|\b[Tt]he paper (?:does not|gives no|leaves)\b"
)


def section() -> str:
    """The whole section, its heading included."""
    source = paths.ROOT / "src" / "selfevolve"
    files = [source / f"{name}.py" for name in MODULES]
    files += [path for package in PACKAGES for path in sorted((source / package).glob("*.py"))]
    parts = [HEADING, INTRODUCTION]
    for path in files:
        if found := paragraphs(path):
            parts.append(f"\n### `{path.relative_to(source).as_posix()}`\n\n" + "\n\n".join(found) + "\n")
    return "".join(parts)


def paragraphs(path: Path) -> list[str]:
    """The paragraphs of a module's docstring that name a deviation or a choice; a list goes with the paragraph that opens it."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    if "Gradus" in docstring.partition("\n")[0]:
        return []
    chosen: list[str] = []
    blocks = docstring.split("\n\n")[1:]
    for before, block in zip([""] + blocks, blocks, strict=False):
        opened = bool(chosen) and chosen[-1] == before and before.endswith(":") and block.startswith("* ")
        if _SAYS.search(block) or opened:
            chosen.append(block)
    return [block.replace("``", "`") for block in chosen]


def written() -> str:
    """docs/fidelity.md with the section as it should be."""
    return PAGE.read_text(encoding="utf-8").partition(HEADING)[0] + section()


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
