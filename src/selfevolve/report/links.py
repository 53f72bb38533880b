"""Every cell of every table in a report leads to where its number comes from: the run's parameters, seed and files on `runs.html`.

Tables are the frames of the notebooks, so a row says by its columns what it belongs to: `variant` or `system`, `reference` for the other
side of a comparison, `seed`, `run` for a kept run. A row that names none of these comes from the item whose notebook shows it. The code
of the cell above a table says which files it was computed from. Tables whose column `source` names a paper hold its numbers, are set
apart, and lead to a word on the paper.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from bs4 import BeautifulSoup, Tag

from selfevolve.analysis.runs import FILES, THIS_RUN
from selfevolve.report.trace import Kept, Origin

PAGE = "runs.html"
PAPER = "paper"
PAPERS = ("SynCo, ", "Gradus, ")  # how `source` begins in tables of a paper's numbers
SIDES = ("system", "variant", "reference")
START = "vanilla"  # the Reasoner that the stage `synthesis` makes
_READ = re.compile(r"\brun\.(" + "|".join(FILES) + r")\b")


@dataclass
class Links:
    """The anchors of `runs.html`. `pairs` collects the comparisons that were linked to, as (anchor, anchor of each side)."""

    origins: Iterable[Origin]
    kept: Iterable[Kept] = ()
    pairs: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.seeds = {origin.id: origin.seeds for origin in self.origins}
        self.seeds |= {f"{run.name}--{origin.id}": origin.seeds for run in self.kept for origin in run.origins}

    def anchor(self, row: dict[str, str | None], home: str) -> str:
        """The anchor of a table's row (column -> text), on the page of the item `home`; of a comparison, one for both sides."""
        if _is_papers(row):
            return PAPER
        run = row.get("run")
        prefix = f"{run}--" if run and not run.startswith(THIS_RUN) else ""
        name = row.get("variant") or row.get("system")
        own = self._of(name, row.get("seed"), home, prefix)
        if not (name and row.get("reference")):
            return own
        other = self._of(row["reference"], row.get("seed"), home, prefix)
        self.pairs[f"{own}_minus_{other}"] = (own, other)
        return f"{own}_minus_{other}"

    def named(self, name: str) -> str:
        """The address for a system, or a difference of two (`synco_minus_frozen`), as `metrics.json` names them."""
        left, _, right = name.partition("_minus_")
        return f"{PAGE}#{self.anchor({'system': left, 'reference': right or None}, 'evaluation')}"

    def _of(self, name: str | None, seed: str | None, home: str, prefix: str) -> str:
        place = {None: home, START: "synthesis"}.get(name, f"cotraining-{name}")
        wanted = (prefix + place, prefix + "evaluation")  # a released checkpoint was only evaluated
        anchor = next((place for place in wanted if place in self.seeds), home)
        if seed and seed.isdigit() and int(seed) in self.seeds.get(anchor, ()):
            return f"{anchor}-seed-{seed}"
        return anchor

    def link(self, soup: BeautifulSoup, home: str) -> None:
        """Link every cell of the frames in a page of the item `home`."""
        for table in soup.find_all("table", class_="dataframe"):
            names = [heading.get_text() for heading in (table.find("tr") or table)("th")]
            rows = [cells for row in (table.find("tbody") or table)("tr") if (cells := row("td"))]
            for cells in rows:
                texts = {name: cell.get_text() for name, cell in zip(names, cells, strict=False)}
                row = {name: text for name, text in texts.items() if text not in ("null", "…")}
                if _is_papers(row) and "reference" not in table["class"]:
                    table["class"] = [*table["class"], "reference"]
                whole = self.anchor(row, home)
                for number, cell in enumerate(cells):
                    side = row.get(names[number]) if row.get("reference") and names[number] in SIDES else None
                    anchor = self.anchor({**row, "variant": side, "reference": None}, home) if side else whole
                    _wrap(soup, cell, f"{PAGE}#{anchor}", number > 0)
            self._say_files(soup, table)

    def _say_files(self, soup: BeautifulSoup, table: Tag) -> None:
        """A line below the table that names the files it was computed from, if the code of its cell says so."""
        cell = table.find_parent(class_="cell")
        code = cell.find("details", class_="code") if cell else None
        fields = dict.fromkeys(_READ.findall(code.get_text())) if code else {}
        if fields and "reference" not in table["class"]:
            line = soup.new_tag("p", attrs={"class": "from"})
            line.string = "from " + ", ".join(FILES[name] for name in fields)
            (table.find_parent(class_="scroll") or table).insert_after(line)


def _is_papers(row: dict[str, str | None]) -> bool:
    """Whether a row holds numbers of a paper (`analysis/reference.py`)."""
    return (row.get("source") or "").startswith(PAPERS)


def _wrap(soup: BeautifulSoup, cell: Tag, href: str, skipped: bool) -> None:
    """Put the cell's content into a link; only the first of a row is a stop of the tabulator key."""
    link = soup.new_tag("a", href=href)
    if skipped:
        link["tabindex"] = "-1"
    for content in list(cell.contents):
        link.append(content.extract())
    cell.append(link)
