"""Keep the run that is in `artifacts/` for comparison with others: `python -m selfevolve.keep <name>`.

Another profile, or another setting, replaces what is in `artifacts/`. What a comparison across scales needs (the predictions; and the
parameters, seeds and hashes of every file of the run) is small and is copied to `runs/<name>/`, which the analysis and the reports read
on the next `dvc repro`. Remove the folder to forget the run.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

from selfevolve import params, paths
from selfevolve.analysis.runs import load_runs
from selfevolve.analysis.scales import PREDICTIONS
from selfevolve.report import trace
from selfevolve.report.provenance import provenance


def keep(name: str) -> Path:
    """Copy the finished run to `runs/<name>/` and return that folder.

    Raises ValueError for a name that is not plain or already taken, FileNotFoundError if the run is not finished.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(f"name {name!r}: lower-case letters and digits, with single hyphens between, such as smol-overnight")
    folder = paths.RUNS / name
    if folder.exists():
        raise ValueError(f"{folder} exists: choose another name, or remove the folder to forget that run")
    settings = params.load()
    run = load_runs(settings)
    commit = provenance()["commit"]
    record = trace.Kept(name=name, profile=settings.profile, models=run.models, commit=commit, origins=trace.origins())
    folder.mkdir(parents=True)
    shutil.copyfile(paths.ARTIFACTS / "evaluation" / PREDICTIONS, folder / PREDICTIONS)
    trace.write(record, folder / "run.json")
    return folder


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m selfevolve.keep", description=__doc__.splitlines()[0])
    parser.add_argument("name", help="what the run is called in the tables, e.g. smol-overnight")
    try:
        folder = keep(parser.parse_args(argv).name)
    except (ValueError, FileNotFoundError, params.ParamsError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"kept in {folder.relative_to(paths.ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
