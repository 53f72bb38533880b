"""One executed notebook as an HTML fragment that needs nothing from outside it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import bleach
import nbformat
from bs4 import BeautifulSoup
from markupsafe import Markup
from nbconvert import HTMLExporter

# Code is there to be looked up, not to be read first.
TEMPLATE = """
{%- extends 'basic/index.html.j2' -%}
{% block input %}<details class="code"><summary>code</summary>{{ super() }}</details>{% endblock %}
"""
DROPPED = ["script", "style", "iframe", "object", "embed", "link", "meta", "base", "form"]  # with all they hold
TAGS = set(
    """a abbr b blockquote br caption code col colgroup dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6
    hr i img kbd li ol p pre q s small span strong sub summary sup table tbody td tfoot th thead tr u ul""".split()  # noqa: SIM905
)
SHOWN = {
    "text/plain",
    "text/html",
    "text/markdown",
    "image/png",
    "image/jpeg",
    "image/svg+xml",
}  # no scripts, no widgets
LONG = 44  # characters: longer texts in a table may wrap
ATTRIBUTES = {"*": ["class", "id", "title", "colspan", "rowspan", "scope", "align"], "a": ["href"]}


@dataclass(frozen=True)
class Page:
    """A rendered notebook: its first heading, the first paragraph below it (plain text), and its body (HTML)."""

    title: str
    description: str
    body: Markup


def page(nb: nbformat.NotebookNode, link: Callable[[BeautifulSoup], None] = lambda soup: None) -> Page:
    """Render an executed notebook. Scripts, styles, and images from elsewhere are taken out of what the cells show.

    `link` may change the page last: it puts links on the cells of tables.
    """
    nb = nbformat.from_dict(nb)
    if any("injected-parameters" in cell.metadata.get("tags", []) for cell in nb.cells):
        nb.cells = [cell for cell in nb.cells if "parameters" not in cell.metadata.get("tags", [])]  # the defaults
    for cell in nb.cells:
        cell.metadata.setdefault("alt", "figure")  # for a figure without its own; the sentence after it reads it
        for output in cell.get("outputs", []):
            if "data" in output:
                output.data = {kind: value for kind, value in output.data.items() if kind in SHOWN}
    nb.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    exporter = HTMLExporter(
        raw_template=TEMPLATE,
        filters={"clean_html": _clean},
        sanitize_html=True,
        embed_images=True,
        exclude_anchor_links=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    body, _ = exporter.from_notebook_node(nb)
    soup = BeautifulSoup(body, "html.parser")
    for table in soup.find_all("table"):
        if "dataframe" in table.get("class", []):
            _plain(table)
        table.wrap(soup.new_tag("div", attrs={"class": "scroll"}))
    for image in soup.find_all("img", src=False):
        image.decompose()
    link(soup)
    heading = soup.find(re.compile("h[1-6]"))
    paragraph = heading.find_next("p") if heading else soup.find("p")
    return Page(_text(heading) or "Untitled", _text(paragraph), Markup(str(soup)))


def _plain(table) -> None:
    """Show a polars table as a reader expects it: no shape, no quotes around texts, texts to the left, long ones wrapped."""
    if (shape := table.find_previous_sibling("small")) and shape.get_text().startswith("shape:"):
        shape.decompose()
    rows = [row.find_all("td") for row in (table.find("tbody") or table).find_all("tr")]
    texts: dict[int, bool] = {}
    for row in rows:
        for column, cell in enumerate(row):
            text = cell.get_text()
            quoted = len(text) > 1 and text[0] == '"' and text[-1] in '"…'  # polars cuts a long text
            texts[column] = texts.get(column, True) and (quoted or text == "null")
            if quoted:
                cell.string = text[1:].removesuffix('"')
                cell["class"] = "text long" if len(text) > LONG else "text"
    for row in table.find_all("tr"):
        for column, heading in enumerate(row.find_all("th")):
            if texts.get(column):
                heading["class"] = "text"


def _clean(html: str) -> str:
    soup = BeautifulSoup(html.decode() if isinstance(html, bytes) else str(html), "html.parser")
    for tag in soup(DROPPED):
        tag.decompose()
    attributes = {**ATTRIBUTES, "img": _image_attribute}
    return bleach.clean(str(soup), tags=TAGS, attributes=attributes, protocols=["http", "https", "mailto", "data"], strip=True)


def _image_attribute(tag: str, name: str, value: str) -> bool:
    return name in ("alt", "width", "height") or (name == "src" and value.startswith("data:image/"))


def _text(tag) -> str:
    return " ".join(tag.get_text().split()) if tag else ""
