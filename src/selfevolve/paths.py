"""Every path of the repository, named once.

The root is the nearest folder at or above the current one that holds both `params.yaml` and `dvc.yaml`; so the same
installed package serves a clone, a DVC experiment's temporary copy, and a test's small repository. Elsewhere (a script
started from another folder) the root is the checkout this package was installed from.
"""

import hashlib
from pathlib import Path

MARKERS = ("params.yaml", "dvc.yaml")


def find_root(start: Path) -> Path:
    """The root `start` lies in: the nearest folder at or above it with both `MARKERS`, else the package's checkout."""
    for folder in (start.resolve(), *start.resolve().parents):
        if all((folder / name).is_file() for name in MARKERS):
            return folder
    return Path(__file__).resolve().parents[2]


ROOT = find_root(Path.cwd())
PARAMS = ROOT / "params.yaml"
PIPELINE = ROOT / "dvc.yaml"
LOCK = ROOT / "requirements.lock"
NOTEBOOKS = ROOT / "notebooks"
DATA = ROOT / "data"
ARTIFACTS = ROOT / "artifacts"
REPORTS = ROOT / "reports"
RUNS = ROOT / "runs"  # finished runs kept for comparison
WORK = ROOT / ".work"


def keyed(folder: Path, *identity: str | Path) -> Path:
    """A subfolder of `folder` named by a digest of `identity`: texts, and the contents of files.

    What a notebook can resume from lives in one, so that half-finished work of other settings or inputs is never taken up.
    Raises FileNotFoundError for a file that is not there.
    """
    digest = hashlib.sha256()
    for part in identity:
        if isinstance(part, Path) and not part.is_file():
            raise FileNotFoundError(f"{part} is missing: `dvc repro` runs the stage that writes it")
        digest.update(hashlib.sha256(part.read_bytes() if isinstance(part, Path) else part.encode()).digest())
    return folder / digest.hexdigest()[:12]
