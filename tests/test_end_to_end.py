"""The whole pipeline, for real and small: `dvc repro` in a copy of the repository, twice, and once killed in the middle.

The copy's tiny profile starts from the fixture Synthesizer instead of random weights, trains briefly and runs few iterations.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
DVC = str(BIN / "dvc")
VARIANTS = ("synco", "frozen", "static_pool")
DOMAINS = ("airline", "desk")


def make_small(path: Path) -> None:
    content = yaml.safe_load(path.read_text())
    tiny = content["profiles"]["tiny"]
    tiny["models"]["base"] = {"kind": "pretrained", "path": "tests/fixtures/synthesizer"}
    brief = {"batch_size": 8, "micro_batch_size": 8, "checkpoint_every": 10}
    tiny["synthesis"]["synthesizer"].update(steps=0)
    tiny["synthesis"]["reasoner"].update(steps=40, **brief)
    tiny["synthesis"].update(pool_size=24, pool_candidates=256)
    tiny["cotraining"].update(seeds=[0, 1], iterations=8, tasks=8, checkpoint_every=2)
    tiny["evaluation"].update(draws=2)
    tiny["analysis"].update(resamples=200)
    gradus = tiny["gradus"]
    gradus["arms"] = {name: gradus["arms"][name] | {"blueprints": 12} for name in ("full", "no_ledger", "model_prior")}
    gradus["recovery"].update(scouts=2)
    path.write_text(yaml.safe_dump(content))


def run(folder: Path, *command: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800)


def digests(folder: Path) -> dict[str, str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    """A copy of the tracked and new files with the small profile, after one `dvc repro`."""
    folder = tmp_path_factory.mktemp("pipeline") / "repository"
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file() and not name.startswith("reports/") and name != "dvc.lock":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    make_small(folder / "params.yaml")
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    for command in (("git", "init", "-q"), ("git", "add", "-A"), ("git", *identity, "commit", "-qm", "small")):
        assert run(folder, *command).returncode == 0
    assert run(folder, DVC, "pull", "-q", "data.dvc").returncode == 0
    done = run(folder, DVC, "repro")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder


def test_the_reports_are_there_and_offline(repository):
    pages = sorted(path.name for path in (repository / "reports").glob("*.html"))
    assert pages == sorted(
        [
            "index.html",
            "synthesis.html",
            "evaluation.html",
            "analysis.html",
            "runs.html",
            *[f"cotraining-{v}.html" for v in VARIANTS],
            *[f"gradus-{domain}.html" for domain in DOMAINS],
        ]
    )
    index = (repository / "reports" / "index.html").read_text()
    for page in pages:
        assert page == "index.html" or f'href="{page}"' in index
        html = (repository / "reports" / page).read_text()
        assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=[\"']https?:", html)
    assert "tiny" in index and "not evidence" in index


def test_every_cell_of_every_table_leads_to_the_run_it_comes_from(repository):
    pages = {path.name: BeautifulSoup(path.read_text(), "html.parser") for path in (repository / "reports").glob("*.html")}
    anchors = {tag["id"] for tag in pages["runs.html"](id=True)}
    cells = [cell for soup in pages.values() for table in soup("table", class_="dataframe") for cell in table.tbody("td")]
    assert len(cells) > 1000
    for cell in cells:
        page, _, anchor = cell.a["href"].partition("#")
        assert page == "runs.html" and anchor in anchors, cell
    run = pages["runs.html"].find(id="cotraining-synco-seed-1")
    weights = repository / "artifacts" / "cotraining" / "synco" / "seed-1" / "reasoner" / "model.safetensors"
    assert hashlib.sha256(weights.read_bytes()).hexdigest() in {code.get("title") for code in run("code")}
    assert "learning_rate" in run.parent.find(class_="parameters").get_text()


def test_the_headline_numbers_have_the_promised_keys(repository):
    metrics = json.loads((repository / "reports" / "metrics.json").read_text())
    assert metrics["profile"] == "tiny" and metrics["seeds"] == [0, 1]
    for system in ("vanilla", *VARIANTS):
        entry = metrics["accuracy"][system]
        assert 0 <= entry["low"] <= entry["value"] <= entry["high"] <= 1 and entry["n"] == 300
    for gain in ("synco_minus_vanilla", "synco_minus_frozen"):
        assert metrics["gain"][gain]["low"] <= metrics["gain"][gain]["value"] <= metrics["gain"][gain]["high"]
    assert metrics["iteration_seconds"]["synco"] > 0 and metrics["iteration_seconds"]["frozen"] > 0
    assert 0 < metrics["acceptance_rate"] < 1 and 0 < metrics["true_key_rate"] <= 1
    for variant in VARIANTS:
        assert all(0 <= metrics["gradient_bearing_rate"][variant][end] <= 1 for end in ("first", "last"))
    shown = run(repository, DVC, "metrics", "show", "--json")
    assert "gain" in shown.stdout


def test_a_second_repro_does_nothing(repository):
    started = time.monotonic()
    again = run(repository, DVC, "repro")
    assert again.returncode == 0 and "Running stage" not in again.stdout
    assert "up to date" in again.stdout + again.stderr
    assert time.monotonic() - started < 60  # a machine that is busy with other tests; 3 s on an idle one


def test_tracked_notebooks_have_no_outputs_and_one_parameters_cell():
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells), path
        tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
        assert len(tagged) == 1, path


def test_kill_9_in_the_middle_of_cotraining_then_repro_gives_the_same_bytes(repository):
    out = repository / "artifacts" / "cotraining" / "synco"
    undisturbed = digests(out)
    assert {"memory.parquet", "metrics.csv", "notebook.ipynb", "seed-1/synthesizer/model.safetensors"} <= set(undisturbed)
    command = [DVC, "repro", "--force", "--single-item", "--no-run-cache", "cotraining@synco"]
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    killed = subprocess.Popen(
        command, cwd=repository, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )

    def iterations_done() -> list[int]:
        states = (repository / ".work" / "cotraining" / "synco").glob("*/*/seed-*/state.json")
        return [json.loads(path.read_text())["iteration"] for path in states]

    deadline = time.monotonic() + 300
    while not any(iterations_done()) and killed.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)  # DVC alone: its children must notice by themselves
    killed.wait()
    assert any(0 < done < 8 for done in iterations_done()), "the stage ended before it could be killed"
    again = run(repository, *command)
    assert again.returncode == 0, again.stderr[-3000:]
    assert "resuming" in again.stdout + again.stderr
    assert digests(out) == undisturbed


def test_a_typo_in_params_stops_before_any_work(repository):
    path = repository / "params.yaml"
    text = path.read_text()
    try:
        path.write_text(text.replace("rollouts:", "rollout:", 1))
        failed = run(repository, sys.executable, "-m", "selfevolve.stage", "synthesis")
    finally:
        path.write_text(text)
    assert failed.returncode == 2
    assert "rollout" in failed.stderr and "unknown key" in failed.stderr
