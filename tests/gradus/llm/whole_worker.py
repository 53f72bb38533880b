"""The whole method on the desk with a model behind an address: `python whole_worker.py ADDRESS FOLDER`; writes FOLDER/curriculum.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from selfevolve.environments import load
from selfevolve.gradus import kernels, operators, recovery, search
from selfevolve.gradus.journal import Journal
from selfevolve.gradus.llm.accounting import Report
from selfevolve.gradus.llm.client import Client
from selfevolve.gradus.llm.roles import LlmRoles
from selfevolve.gradus.pool import Pool
from selfevolve.gradus.settings import Arm, LlmSettings, Recovery, Sampling, Search

SEED, WORKERS = 1, 4
SEARCH = Search(per_operator=1, children=2, depths=(0.4, 0.4, 0.2), wave=4, gaps=4, interaction=0.5)
RECOVERY = Recovery(rounds=3, branches=2, attempts=2, revisions=1, max_turns=60, scouts=1)
ARM = Arm(blueprints=6)


def run(url: str, folder: Path) -> tuple[dict[str, Any], Report]:
    """Search and recovery; what is in the folder is taken up. The curriculum as JSON, and the client's report."""
    settings = LlmSettings(
        backend="endpoint", model="m", base_url=url, api_key_env=None, sampling=Sampling(temperature=1.0, top_p=None, max_tokens=500),
        time_limit_s=3.0, attempts=8, max_wait_s=0.5, probes=2, concurrency=8,
    )  # fmt: skip
    library = operators.load("desk")
    with Journal(folder / "journal.jsonl") as journal, Client(settings, folder / "calls") as client:
        roles = LlmRoles(client, library, load("desk"))
        blueprints, refused = search.evolve(roles, library, kernels.load(), SEARCH, ARM, SEED, journal, WORKERS)
        outcomes = recovery.recover_all(
            blueprints, roles, Pool("desk").lend, library, RECOVERY, "full", SEED, journal, workers=WORKERS
        )
        report = client.report()
    made = {"blueprints": blueprints, "refused": refused, "outcomes": outcomes}
    return {name: [record.model_dump(mode="json") for record in records] for name, records in made.items()}, report


if __name__ == "__main__":
    curriculum, report = run(sys.argv[1], Path(sys.argv[2]))
    print(report.text())
    (Path(sys.argv[2]) / "curriculum.json").write_text(json.dumps(curriculum))
