"""What the checker's tests share."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of inputs beside the repository; tests that need it skip where it is absent."""
    folder = Path(__file__).resolve().parents[3] / "shared"
    if not (folder / "checker").is_dir():
        pytest.skip(f"needs {folder}, the inputs beside the repository")
    return folder


@pytest.fixture(scope="session")
def golds(shared: Path) -> Callable[[str], list[str]]:
    """golds(benchmark) -> its reference answers, in file order."""

    def load(benchmark: str) -> list[str]:
        lines = (shared / "benchmarks" / f"{benchmark}.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["answer"] for line in lines]

    return load
