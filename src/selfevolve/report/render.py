"""The `report` stage: every executed notebook as one page, the runs behind them, and an index that opens with the headline numbers."""

import functools
import json
import shutil

import jinja2
import nbformat
from markupsafe import Markup
from pygments.formatters import HtmlFormatter

from selfevolve import paths, pipeline
from selfevolve.analysis import variants
from selfevolve.report import links, trace
from selfevolve.report.page import Page, page
from selfevolve.report.provenance import provenance

LABELS = variants.LABELS | {
    "vanilla": "vanilla (before training)",
    "static_pool": "static pool",
    "frozen": "frozen Synthesizer",
    "synco": "SynCo (co-training)",
}


def render() -> None:
    """Write `reports/`: `index.html`, a page per notebook, `runs.html`, and `metrics.json`: the analysis's and, under `gradus`, the
    headline of every domain.

    Raises FileNotFoundError naming the stage to run if an executed notebook or the metrics are missing.
    """
    origins, kept = trace.origins(), trace.kept()
    table_links = links.Links(origins, kept)
    pages = _pages(table_links)
    metrics_path = paths.ARTIFACTS / "analysis" / "metrics.json"
    metrics = json.loads(_existing(metrics_path, "analysis").read_text(encoding="utf-8"))
    metrics["gradus"] = {
        path.parent.name: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((paths.ARTIFACTS / "gradus").glob("*/headline.json"))
    }
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("selfevolve.report", "."), autoescape=True, undefined=jinja2.StrictUndefined
    )
    for format in (share, points, number, label, size):
        environment.filters[format.__name__] = environment.globals[format.__name__] = format
    shared = {
        "pages": pages,
        "provenance": provenance(),
        "style": Markup(environment.get_template("style.css").render() + _code_style()),
    }
    shutil.rmtree(paths.REPORTS, ignore_errors=True)
    paths.REPORTS.mkdir()
    (paths.REPORTS / "metrics.json").write_text(json.dumps(metrics, indent=1) + "\n", encoding="utf-8")
    _write(environment.get_template("index.html.j2"), "index.html", metrics=metrics, anchor=table_links.named, **shared)
    for file, (_, content) in pages.items():
        _write(environment.get_template("page.html.j2"), file, page=content, **shared)
    anchors = {"origins": origins, "kept": kept, "pairs": table_links.pairs}
    _write(environment.get_template("runs.html.j2"), links.PAGE, **anchors, **shared)  # last: the others fill `pairs`


def share(value: float | None) -> str:
    """A share in [0, 1] as a percentage."""
    return "–" if value is None else f"{100 * value:.1f}%"


def points(value: float | None) -> str:
    """A difference of shares in percentage points, signed."""
    return "–" if value is None else f"{100 * value:+.1f}"


def number(value: float | None) -> str:
    """A plain number to three significant digits."""
    return "–" if value is None else f"{value:.3g}"


def size(count: int) -> str:
    """A number of bytes, rounded."""
    return f"{count} B" if count < 1000 else f"{count / 1000:,.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:,.1f} MB"


def label(name: str) -> str:
    """How a system, or a difference of two, is called in a table."""
    return " − ".join(LABELS.get(part, part.replace("_", " ")) for part in name.split("_minus_"))


def _pages(table_links: links.Links) -> dict[str, tuple[str, Page]]:
    """File name -> (name in the navigation, page), in the order of `dvc.yaml`."""
    pages = {}
    for stage in pipeline.stages():
        if pipeline.notebook(stage) is None:
            continue
        for item in pipeline.items(stage):
            path = _existing(paths.ROOT / pipeline.out(stage, item) / "notebook.ipynb", stage)
            name, home = " ".join([stage, *item.values()]).replace("_", " "), trace.identity(stage, item)
            link = functools.partial(table_links.link, home=home)
            pages[f"{home}.html"] = (name, page(nbformat.read(path, 4), link))
    return pages


def _existing(path, stage: str):
    if not path.is_file():
        raise FileNotFoundError(f"report: {path.relative_to(paths.ROOT)} is missing; run `dvc repro {stage}` first")
    return path


def _write(template: jinja2.Template, file: str, **values) -> None:
    html = "\n".join(line.rstrip() for line in template.render(file=file, **values).splitlines())
    (paths.REPORTS / file).write_text(html + "\n", encoding="utf-8")


def _code_style() -> str:
    light = HtmlFormatter(style="friendly").get_style_defs(".highlight")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    return f"\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n.highlight {{ background: none; }}\n"
