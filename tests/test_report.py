"""The reports: complete, readable without a network, safe against what the data holds, and stable under a commit."""

import base64
import hashlib
import json
import re
import textwrap

import polars as pl
import pytest
from bs4 import BeautifulSoup
from nbformat import v4, write
from small_repository import SmallRepository

from selfevolve import report
from selfevolve.analysis.runs import FILES, Run
from selfevolve.report import page as page_module
from selfevolve.report import trace
from selfevolve.report.provenance import provenance

HOSTILE = '<script src="https://evil.example/x.js"></script><img src="https://evil.example/y.png" onerror="z()">'
PNG = base64.b64encode(b"\x89PNG").decode()
INTERVAL = {"value": 0.5, "low": 0.4, "high": 0.6}
NOTHING = {"value": None, "low": None, "high": None}
METRICS = {
    "profile": "tiny",
    "seeds": [0, 1],
    "statement": [f"These are toys. {HOSTILE}"],
    "accuracy": {"vanilla": {**INTERVAL, "n": 128}, "synco": {**NOTHING, "n": None}},
    "gain": {"synco_minus_vanilla": {"value": 0.105, "low": -0.01, "high": 0.2}, "synco_minus_static_pool": NOTHING},
    "iteration_seconds": {"synco": 1.23456},
    "acceptance_rate": 0.8,
    "true_key_rate": None,
    "gradient_bearing_rate": {"synco": {"first": 0.3, "last": None}, "frozen": {"first": None, "last": None}},
}


GRADUS = {"roles": "**Roles were scripted**.", "proposed": 9, "accepted": 7, "recovered": 2, "rollouts": 3, "harder": INTERVAL}
PER_SEED = pl.DataFrame({"variant": ["synco", "synco", "static_pool"], "seed": [1, None, 7], "rate": [0.5, 0.6, 0.7]})
COMPARED = pl.DataFrame(
    {"system": ["synco", "vanilla", "elsewhere"], "reference": ["static_pool", "synco", "vanilla"], "value": [0.1, None, 0.2]}
)
ACROSS = pl.DataFrame({"run": ["this run (tiny)", "big"], "system": ["synco", "synco"], "value": [0.1, 0.2]})
PAPERS = pl.DataFrame({"system": ["synco"], "value": [0.9], "source": ["SynCo, Table 1"]})
PLAIN = pl.DataFrame({"reason": ["duplicate"], "len": [3]})


def analysed() -> v4.nbbase.NotebookNode:
    """An executed notebook with the kinds of tables the analysis shows."""
    sources = {"table(run.memory)": PER_SEED, "gains(run.predictions)": COMPARED, "scales(runs)": ACROSS, "reference.t()": PAPERS}
    cells = [v4.new_markdown_cell("# Analysis")]
    for source, frame in {**sources, "plain": PLAIN}.items():
        output = v4.new_output("display_data", data={"text/html": frame._repr_html_()})
        cells.append(v4.new_code_cell(source, execution_count=1, outputs=[output]))
    return v4.new_notebook(cells=cells)


def executed(title: str) -> v4.nbbase.NotebookNode:
    """An executed notebook with every kind of output, and hostile text in each."""
    style = "<style>\n.dataframe { color: red }</style>"
    frame = f"<div>{style}<table border='1' class='dataframe'><tr><td>cell</td></tr></table></div>"
    outputs = [
        v4.new_output("stream", name="stdout", text=HOSTILE),
        v4.new_output("execute_result", data={"text/html": frame + HOSTILE, "text/plain": "x"}, execution_count=2),
        v4.new_output("display_data", data={"text/markdown": "**bold** " + HOSTILE}),
        v4.new_output("display_data", data={"image/png": PNG, "text/plain": "<Figure>"}),
        v4.new_output("display_data", data={"application/javascript": "alert(1)", "text/plain": "<js>"}),
    ]
    return v4.new_notebook(
        cells=[
            v4.new_markdown_cell(f"# {title}\n\nWhat is *asked* here. See [the paper](https://arxiv.org/abs/1).\n\nMore."),
            v4.new_code_cell("out = 'the default'", metadata={"tags": ["parameters"]}, execution_count=1),
            v4.new_code_cell("out = 'the value'", metadata={"tags": ["injected-parameters"]}, execution_count=2),
            v4.new_code_cell("show('<b>code</b>')", execution_count=3, outputs=outputs),
            v4.new_markdown_cell(HOSTILE),
        ]
    )


@pytest.fixture
def rendered(repository: SmallRepository, root):
    """A committed small repository with its reports rendered."""
    variants = {name: {"source": name} for name in ("synco", "static_pool", "other")}
    cotraining = {"seeds": [0, 1], "iterations": 3, "variants": variants}
    repository.write(
        "params.yaml", json.dumps({"profile": "tiny", "profiles": {"tiny": {"a": {"steps": 3}, "cotraining": cotraining}}})
    )
    repository.stage("synthesis", [])
    outs = ["artifacts/cotraining/${item.variant}", "artifacts/timings/${item.variant}.csv"]
    keys = ["profile", "profiles.${profile}.cotraining"]
    matrix = {"variant": ["synco", "static_pool"]}
    repository.stage("cotraining", [], matrix=matrix, params=keys, outs=outs, deps=["artifacts/synthesis"])
    repository.stage("evaluation", [], deps=["artifacts/cotraining"])
    repository.stage("gradus", [], matrix={"domain": ["desk"]}, outs=["artifacts/gradus/${item.domain}"])
    repository.stage("report", [])
    (root / "notebooks/05_report.ipynb").unlink()
    for folder in ("synthesis", "cotraining/synco", "cotraining/static_pool", "gradus/desk"):
        repository.write(f"artifacts/{folder}/notebook.ipynb", "")
        write(executed(f"About {folder}"), root / f"artifacts/{folder}/notebook.ipynb")
    repository.write("artifacts/evaluation/notebook.ipynb", "")
    write(analysed(), root / "artifacts/evaluation/notebook.ipynb")
    repository.write("artifacts/cotraining/synco/memory.parquet", "rows")
    repository.write("artifacts/cotraining/synco/seed-0/reasoner/config.json", "{}")
    repository.write("artifacts/cotraining/synco/seed-1/reasoner/model.safetensors", "weights")
    repository.write("artifacts/timings/synco.csv", "times")
    kept = trace.Kept(name="big", profile="paper", models=f"large {HOSTILE}", commit="abc", origins=trace.origins())
    repository.write("runs/big/run.json", "")
    trace.write(kept, root / "runs/big/run.json")
    repository.write("artifacts/analysis/metrics.json", json.dumps(METRICS))
    repository.write("artifacts/gradus/desk/headline.json", json.dumps(GRADUS))
    repository.write("data.dvc", "outs:\n- md5: 0123abcd.dir\n  path: data\n")
    repository.write(".gitignore", "/artifacts/\n")
    repository.write("reports/old.html", "from an earlier run")
    repository.git("init", "-q")
    repository.git("add", ".")
    repository.git("commit", "-qm", "one")
    report.render()
    return root / "reports"


def soups(folder) -> dict[str, BeautifulSoup]:
    return {path.name: BeautifulSoup(path.read_text(), "html.parser") for path in sorted(folder.glob("*.html"))}


def outside(soup: BeautifulSoup) -> list[str]:
    """Everything a browser would load by itself from somewhere else."""
    found = [str(tag) for tag in soup(["script", "link", "iframe", "object", "embed", "base"])]
    for tag in soup(True):
        found += [tag[name] for name in ("src", "srcset", "data", "poster") if not tag.get(name, "data:").startswith("data:")]
        found += [f"{name} of {tag.name}" for name in tag.attrs if name.startswith("on")]
    for style in [tag.get_text() for tag in soup("style")] + [tag["style"] for tag in soup(style=True)]:
        found += re.findall(r"@import[^;]*|url\((?!['\"]?data:)[^)]*\)|https?://\S+", style)
    return found


def test_the_offline_check_finds_what_it_should():
    """The check below would pass on anything if this one did not fail on these."""
    for html in (
        "<script>1</script>",
        '<link rel="stylesheet" href="x.css">',
        '<img src="http://x/y.png">',
        '<img src="y.png">',
        '<style>@import "x.css";</style>',
        "<style>@font-face { src: url(https://x/y) }</style>",
        '<p style="background: url(y.png)">',
        '<p onclick="x()">',
    ):
        assert outside(BeautifulSoup(html, "html.parser")), html
    assert not outside(BeautifulSoup('<a href="https://x">x</a><img src="data:image/png;base64,AA">', "html.parser"))


def test_every_page_stands_alone(rendered):
    pages = soups(rendered)
    own = ["synthesis.html", "cotraining-synco.html", "cotraining-static_pool.html", "evaluation.html", "gradus-desk.html"]
    assert sorted(pages) == sorted(["index.html", "runs.html", *own])
    for name, soup in pages.items():
        assert outside(soup) == [], name
        shown = [link["href"] for link in soup.nav("a")]
        assert shown == ["index.html", *own, "runs.html"]
        assert [link["href"] for link in soup.nav("a", attrs={"aria-current": "page"})] == [name]


def test_outputs_survive_and_hostile_text_is_text(rendered):
    soup = soups(rendered)["synthesis.html"]
    assert soup.find("img")["src"] == f"data:image/png;base64,{PNG}"
    assert "scroll" in soup.find("table", class_="dataframe").parent["class"]
    assert soup.find("strong", string="bold")
    assert "color: red" not in soup.main.get_text()
    assert HOSTILE in soup.main.find("div", class_="output_stdout").get_text(), "printed text is shown as printed"
    codes = [details.get_text() for details in soup("details")]
    assert any("show('<b>code</b>')" in code for code in codes)
    assert any("the value" in code for code in codes) and not any("the default" in code for code in codes)
    assert soup.find("a", href="https://arxiv.org/abs/1")
    assert soup.title.get_text() == "About synthesis · selfevolve"


def test_the_index_shows_the_numbers_with_intervals_and_links_every_report(rendered):
    soup = soups(rendered)["index.html"]
    rows = [[cell.get_text(" ", strip=True) for cell in row(["th", "td"])] for row in soup("tr")]
    assert ["vanilla (before training)", "50.0%", "[40.0%, 60.0%]", "128"] in rows
    assert ["SynCo (co-training)", "–", "–", "–"] in rows
    assert ["SynCo (co-training) − vanilla (before training)", "+10.5", "[-1.0, +20.0]"] in rows
    assert ["SynCo (co-training)", "30.0%", "–", "1.23"] in rows
    assert ["frozen Synthesizer", "–", "–", "–"] in rows
    assert ["desk", "9", "7", "2", "+50.0", "[+40.0, +60.0]"] in rows and "Gradus: Roles were scripted." in soup.main.get_text()
    text = soup.main.get_text()
    assert "These are toys. <script" in text and "What is asked here. See the paper." in text
    found = {link["href"].partition("#")[0] for link in soup.main("a")}
    own = {"synthesis.html", "cotraining-synco.html", "cotraining-static_pool.html", "evaluation.html", "gradus-desk.html"}
    assert found == own | {"metrics.json", "runs.html"}
    assert json.loads((rendered / "metrics.json").read_text()) == METRICS | {"gradus": {"desk": GRADUS}}
    assert not (rendered / "old.html").exists()


def targets(table) -> list[list[str]]:
    """The anchor behind every cell of a table, row by row."""
    rows = [row("td") for row in table.tbody("tr")]
    return [[cell.a["href"].removeprefix("runs.html#") for cell in row] for row in rows]


def test_every_cell_of_every_table_leads_to_its_run(rendered):
    pages = soups(rendered)
    anchors = {tag["id"] for tag in pages["runs.html"](id=True)}
    cells = [
        cell for soup in pages.values() for table in soup("table", class_="dataframe") for cell in (table.tbody or table)("td")
    ]
    cells += [cell for table in pages["index.html"]("table") for cell in table("td")]
    assert len(cells) > 30
    for cell in cells:
        page, _, anchor = cell.a["href"].partition("#")
        assert page == "runs.html" and anchor in anchors, cell
        assert cell.a.get_text() == cell.get_text()


def test_rows_lead_to_the_variant_the_seed_or_both_sides_of_a_comparison(rendered):
    per_seed, compared, across, papers, plain = soups(rendered)["evaluation.html"]("table", class_="dataframe")
    synco, pool = "cotraining-synco", "cotraining-static_pool"
    assert targets(per_seed) == [[f"{synco}-seed-1"] * 3, [synco] * 3, [pool] * 3]  # the pool was not run with seed 7
    assert targets(compared) == [
        [synco, pool, f"{synco}_minus_{pool}"],
        ["synthesis", synco, f"synthesis_minus_{synco}"],
        ["evaluation", "synthesis", "evaluation_minus_synthesis"],  # a released checkpoint
    ]
    assert targets(across) == [[synco] * 3, [f"big--{synco}"] * 3]
    assert targets(papers) == [["paper"] * 3] and "reference" in papers["class"]
    assert targets(plain) == [["evaluation"] * 2]
    assert [cell.a.get("tabindex") for cell in plain.tbody("td")] == [None, "-1"]


def test_a_table_names_the_files_it_was_computed_from(rendered):
    lines = [line.get_text() for line in soups(rendered)["evaluation.html"](class_="from")]
    assert lines == ["from artifacts/cotraining/<variant>/memory.parquet", "from artifacts/evaluation/predictions.parquet"]


def test_a_run_shows_its_parameters_seeds_and_files(rendered):
    soup = soups(rendered)["runs.html"]
    section = soup.find(id="cotraining-synco")
    assert section.find(class_="parameters").get_text().splitlines() == [
        "profile: tiny",
        "cotraining:",
        "  seeds:",
        "  - 0",
        "  - 1",
        "  iterations: 3",
        "  variants:",
        "    synco:",
        "      source: synco",
    ]
    assert section.find("a", href="#synthesis")
    assert "training seeds 0, 1" in section.p.get_text()
    rows = [[cell.get_text() for cell in row("td")] for row in section.find("table")("tr")[1:]]
    digest = hashlib.sha256(b"rows").hexdigest()[:16]
    assert ["artifacts/cotraining/synco/memory.parquet", "4 B", digest] in rows
    assert "artifacts/timings/synco.csv" in [row[0] for row in rows]
    assert "model.safetensors" in soup.find(id="cotraining-synco-seed-1").get_text()
    assert "model.safetensors" not in soup.find(id="cotraining-synco-seed-0").get_text()
    assert soup.find(id="big--cotraining-synco-seed-1") and "large <script" in soup.get_text()


def test_a_damaged_record_of_a_kept_run_is_named(rendered, repository):
    path = repository.write("runs/big/run.json", "{}")
    with pytest.raises(ValueError, match=re.escape(f"{path}: not a record of a kept run")):
        report.render()


def test_the_fields_that_are_traced_are_those_of_a_run():
    assert set(FILES) < set(Run._fields)


def test_the_footer_is_the_same_after_the_reports_are_committed(rendered, repository, root):
    before = {path.name: path.read_bytes() for path in rendered.iterdir()}
    commit = repository.git("rev-parse", "HEAD")[:12]
    text = soups(rendered)["index.html"].footer.get_text(" ", strip=True)
    assert f"commit {commit} profile tiny parameters sha256" in text and "data.dvc md5 0123abcd.dir" in text
    assert "python 3.11" in text and "torch" in text
    repository.write("dvc.lock", "stages: {}\n")
    report.render()
    assert {path.name: path.read_bytes() for path in rendered.iterdir()} == before, "dvc.lock is not a change"
    repository.git("add", ".")
    repository.git("commit", "-qm", "reports")
    report.render()
    assert {path.name: path.read_bytes() for path in rendered.iterdir()} == before

    repository.write("src/new.py", "")
    assert provenance()["commit"] == f"{commit} with uncommitted changes"
    repository.git("add", ".")
    repository.git("commit", "-qm", "code")
    assert provenance()["commit"] == repository.git("rev-parse", "HEAD")[:12]


def test_the_hash_of_the_parameters_is_that_of_the_active_profile(repository, root):
    def written(tiny: int, smol: int) -> str:
        repository.write("params.yaml", f"profile: tiny\nprofiles: {{tiny: {{a: {tiny}}}, smol: {{a: {smol}}}}}\n")
        return provenance()["parameters"]

    assert written(1, 1) == written(1, 2) != written(2, 2)


def test_without_git_or_data_the_footer_says_so(repository, root):
    facts = provenance()
    assert facts["commit"] == "unknown: not a git checkout" and facts["inputs"] == "none (no data.dvc)"
    repository.git("init", "-q")
    assert provenance()["commit"] == "none yet with uncommitted changes"


def test_a_missing_notebook_names_the_stage_to_run(repository, root):
    repository.stage("synthesis", [])
    expected = "report: artifacts/synthesis/notebook.ipynb is missing; run `dvc repro synthesis` first"
    with pytest.raises(FileNotFoundError, match=re.escape(expected)):
        report.render()


def test_polars_frames_and_lists_render():
    frame = pl.DataFrame({"system": ["synco"], "text": ["<b>x</b>"], "accuracy": [0.5]})
    cell = v4.new_code_cell("frame", outputs=[v4.new_output("display_data", data={"text/html": frame._repr_html_()})])
    notes = v4.new_markdown_cell(textwrap.dedent("# T\n\n- one\n- two\n\n| a | b |\n| - | - |\n| 1 | 2 |\n"))
    soup = BeautifulSoup(page_module.page(v4.new_notebook(cells=[notes, cell])).body, "html.parser")
    headers = [cell.get_text() for cell in soup.find("table", class_="dataframe")("th")]
    assert headers == ["system", "text", "accuracy"]
    assert '"' not in soup.find("table", class_="dataframe").get_text()  # a text is shown without its quotes
    assert "shape" not in soup.get_text()
    assert [cell.get("class") for cell in soup.find("table", class_="dataframe")("th")] == [["text"], ["text"], None]
    assert "<b>x</b>" in soup.get_text() and soup.find("li", string="two") and len(soup("table")) == 2
