"""Is a library right about its environment? The check that every library must pass, whoever wrote it.

Paper: Gradus section 2.2: a model extracts the operators from tools, state schema and policy, and nothing checks them. Here
a library is checked against the tools, the schema and the text (`contract`), and its guards against executed calls
(`exploration`, `trial`), and every problem says what to change, so that a model that extracts a library can repair it.

`python -m selfevolve.gradus.validation <domain or file>` prints the problems and ends with status 1 if there are any.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from selfevolve.environments import Environment, load
from selfevolve.gradus import contract, operators
from selfevolve.gradus.exploration import Branch, Budget, Exploration, Witness
from selfevolve.gradus.operators import Library, LibraryError
from selfevolve.gradus.problems import KINDS, Problem, at, shown

__all__ = ["KINDS", "Problem", "Report", "check", "main"]


@dataclass(frozen=True)
class Report:
    """What a validation found.

    `witnesses`: for every branch that was reached, (action, policy_id, outcome), how. `judged`, `executed`: calls.
    """

    domain: str
    problems: tuple[Problem, ...]
    branches: int
    witnesses: dict[Branch, Witness] = field(default_factory=dict, repr=False)
    judged: int = 0
    executed: int = 0
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems]
        counts = Counter(problem.kind for problem in self.problems)
        lines += [f"{count} x {kind}: {KINDS[kind]}" for kind, count in counts.most_common()]
        depths = Counter(len(witness.earlier) for witness in self.witnesses.values())
        reached = ", ".join(f"{depths[depth]} after {depth} earlier calls" for depth in sorted(depths)) or "none"
        lines.append(
            f"{self.domain}: {len(self.problems)} problems; {len(self.witnesses)} of {self.branches} branches reached ({reached}); "
            f"{self.judged:,} calls judged, {self.executed:,} executed, {self.seconds:.0f} s"
        )
        return "\n".join(lines)


def check(library: Library, env: Environment, seed: int = 0, budget: Budget | None = None) -> Report:
    """Check a library against its environment, which is reset. The same arguments give the same report.

    Args:
        seed: of the candidate calls.
        budget: how many of these are tried; the default finds every branch of the libraries in `data/operators`.
    """
    started = time.monotonic()
    problems = contract.check(library, env)
    uncallable = {problem.operator for problem in problems if problem.kind in ("tool", "parameter") and problem.operator}
    search = Exploration(library, env, random.Random(seed), budget or Budget(), set_aside=uncallable)
    if library.domain == env.name:  # else no call means anything
        search.run()
        problems += search.problems.values()
        problems += _reached(library, search)
    return Report(
        domain=library.domain,
        problems=tuple(problems),
        branches=sum(guard.expression is not None for operator in library.operators.values() for guard in operator.guards),
        witnesses=search.witnesses,
        judged=search.judged,
        executed=search.executed,
        seconds=time.monotonic() - started,
    )


def _reached(library: Library, search: Exploration) -> list[Problem]:
    problems = []
    for operator, guard in search.missing():
        if guard.unreachable is None:
            reason = (
                "no candidate call holds, after up to two earlier calls: correct the condition, let `values` (or a situation) give "
                "what it needs, or say under `unreachable` why no state and call can"
            )
            problems.append(Problem(kind="unreached", reason=reason, **at(guard, operator.action, "when")))
    for operator in library.operators.values():
        for guard in operator.guards:
            witness = search.witnesses.get((operator.action, *guard.unit))
            if guard.unreachable is not None and witness is not None:
                reason = f"it says {guard.unreachable!r}, but {_path(operator.action, witness)} reaches it: remove `unreachable`"
                problems.append(Problem(kind="reached", reason=reason, **at(guard, operator.action, "unreachable")))
    return problems


def _path(action: str, witness: Witness) -> str:
    calls = [*witness.earlier, (action, witness.arguments)]
    text = ", then ".join(shown(name, arguments) for name, arguments in calls)
    return (f"in situation {witness.situation}, " if witness.situation else "") + text


def main(arguments: list[str]) -> int:
    """Validate the domains or files named. Returns the exit status."""
    if not arguments:
        print("usage: python -m selfevolve.gradus.validation <domain or file> ...", file=sys.stderr)
        return 2
    status = 0
    for name in arguments:
        try:
            library = operators.load_file(name) if Path(name).is_file() else operators.load(name)
            report = check(library, load(library.domain))
        except (LibraryError, FileNotFoundError, ValueError) as error:
            print(error)
            status = 1
            continue
        print(report)
        status = status or int(not report.ok)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
