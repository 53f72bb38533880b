"""Fixtures for the tests of the pipeline: a small repository with the shape of this one."""

from pathlib import Path

import pytest
from small_repository import SmallRepository

from selfevolve import paths


@pytest.fixture
def repository(tmp_path: Path) -> SmallRepository:
    return SmallRepository(tmp_path)


@pytest.fixture
def root(repository: SmallRepository, monkeypatch) -> Path:
    """The small repository's root, with `selfevolve.paths` pointing into it."""
    old = paths.ROOT
    for name, value in list(vars(paths).items()):
        if isinstance(value, Path):
            monkeypatch.setattr(paths, name, repository.root / value.relative_to(old))
    return repository.root
