"""docs/fidelity.md: every row names code and a test that exist, nothing of the paper is left out, values are the ones given."""

import ast
import functools
import importlib
import re
from operator import attrgetter
from pathlib import Path

import pytest
import yaml

from selfevolve import fidelity, paths

TESTS = Path(__file__).parent
PAPER = paths.ROOT.parent / "shared" / "papers" / "synco.txt"
HEADER = ["paper", "what it says", "code", "test"]


def rows() -> dict[str, list[list[str]]]:
    """The tables with columns code and test, by the heading above them: the cells of every row."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in fidelity.PAGE.read_text().partition(fidelity.HEADING)[0].splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == len(HEADER) and cells != HEADER and not set(cells[0]) <= {"-"}:
            found.setdefault(heading, []).append(cells)
    return found


ROWS = [row for table in rows().values() for row in table]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@functools.cache
def names_in(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


@functools.cache
def profile() -> dict:
    return yaml.safe_load(paths.PARAMS.read_text())["profiles"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_code_and_test_of_every_row_exist(row):
    assert row[1], "says nothing"
    assert quoted(row[2]) and quoted(row[3])
    for reference in quoted(row[2]):
        if "=" in reference:
            key, value = reference.split(" = ")
            found = functools.reduce(lambda tree, name: tree[name], key.split("."), profile())
            assert float(found) == float(value) if value[0].isdigit() else found == yaml.safe_load(value), reference
        else:
            module, symbol = reference.split(":")
            attrgetter(symbol)(importlib.import_module(f"selfevolve.{module}"))
    for reference in quoted(row[3]):
        file, _, name = reference.partition("::")
        assert (TESTS / file).is_file(), reference
        assert not name or name in names_in(TESTS / file), reference


def test_every_equation_table_and_figure_is_there():
    first = {heading: " ".join(row[0] for row in table) for heading, table in rows().items()}
    equations = {int(number) for number in re.findall(r"\d+", first["Equations"])}
    assert equations == set(range(1, 26))
    shown = re.findall(r"(Table|Figure) (\d+)", first["Tables and figures"])
    assert sorted(shown) == sorted([*(("Table", str(n)) for n in range(1, 9)), *(("Figure", str(n)) for n in range(2, 8))])


def test_every_number_of_the_papers_settings_is_there():
    """B.2's rewards and C.3's training settings, as the paper prints them."""
    text = " ".join(row[1] for row in rows()["Constants (B.2, C.2, C.3)"])
    said = [
        "1.0",
        "0.9",
        "0 otherwise",
        "-0.5",
        "0.1",
        "8B",
        "4B",
        "32",
        "K = 4",
        "1e-6",
        "10 warm-up",
        "No KL",
        "0.95",
        "0.6",
        "2,940",
    ]
    assert [number for number in said if number not in text] == []
    if PAPER.is_file():
        settings = PAPER.read_text().partition("C.3 Implementation Details")[2].partition("C.4 Agent")[0]
        printed = [
            "Qwen3-8B",
            "Qwen3-4B",
            "32 synthesized",
            "K=4",
            "10-step warm-up",
            "decay of 0.1",
            "no KL",
            "1.0 and 0.9",
            "0.95",
            "0.6",
        ]
        assert [number for number in printed if number not in settings] == []


def test_the_generated_section_is_up_to_date():
    assert fidelity.PAGE.read_text() == fidelity.written(), "run `python -m selfevolve.fidelity`"


def test_paragraphs_that_name_a_deviation_are_collected(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        '"""One line on the paper.\n\nPlain words.\n\nDeviations:\n\n* first,\n  because.\n* second\n\nMore words.\n\nThe size is not stated.\n"""\n'
    )
    assert fidelity.paragraphs(path) == ["Deviations:", "* first,\n  because.\n* second", "The size is not stated."]
    path.write_text('"""Table 1 of Gradus.\n\nDeviations: many.\n"""\n')
    assert fidelity.paragraphs(path) == []
    path.write_text("x = 1\n")
    assert fidelity.paragraphs(path) == []
