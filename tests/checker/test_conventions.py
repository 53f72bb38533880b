"""The table of conventions in docs/checker.md says what the checker does."""

from pathlib import Path

import pytest

from selfevolve.checker import check

PAGE = Path(__file__).resolve().parents[2] / "docs" / "checker.md"


def _rows() -> list[tuple[str, str, bool]]:
    rows = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.replace("\\|", "\0").split("|")]
        if len(cells) == 6 and cells[4] in ("yes", "no"):
            gold, answer = (cell.strip("`").replace("\0", "|") for cell in cells[2:4])
            rows.append((gold, answer, cells[4] == "yes"))
    return rows


@pytest.mark.parametrize(("gold", "answer", "equal"), _rows())
def test_row(gold, answer, equal):
    for text in (f"\\boxed{{{answer}}}", f"So it is $\\boxed{{{answer}}}$.", f"The answer is ${answer}$."):
        assert check(text, gold).correct is equal


def test_the_table_is_there():
    assert len(_rows()) > 50
