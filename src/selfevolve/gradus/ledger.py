"""The coverage ledger: how often each branch, and each set of state-changing actions, occurs in the blueprints so far.

Paper: Gradus 2.1 ("prioritizing underrepresented outcomes and interactions"), 2.3 ("A shared coverage ledger tracks all the (policy, outcome)
pairs of all operators represented in generated blueprints") and A.2 (maximise F(D), a sum of a concave utility of the counts).

Choices the paper leaves open: the utility is log(1 + n); the counted combinations are sets of performed write actions, as in Figure 2. Gaps
are looked for among the branches that a request can bring about (`askable`): one that nobody can ask for would stay a gap for ever.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Collection

from selfevolve.gradus.askable import askable
from selfevolve.gradus.blueprints import Blueprint
from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.operators import Library


class Ledger:
    """Counts over blueprints.

    Attributes:
        universe: the branches that a blueprint can require, in the library's order.
        branches: counts per branch, over blueprints that have it among their requirements.
        action_sets: counts per set of performed write actions.
    """

    def __init__(self, library: Library):
        self._guards = askable(library)
        self.universe = tuple(self._guards)
        self.branches: Counter[Branch] = Counter()
        self.action_sets: Counter[frozenset[str]] = Counter()
        self._writes = {action for action, operator in library.operators.items() if operator.kind == "write"}

    def add(self, blueprint: Blueprint) -> None:
        """Count a blueprint."""
        self.branches.update(blueprint.branches)
        self.action_sets[frozenset(blueprint.actions) & frozenset(self._writes)] += 1

    def least_covered(
        self, n: int, seed: int, actions: Collection[str] | None = None, beside: Collection[str] = ()
    ) -> list[Branch]:
        """Up to `n` branches of the universe, those with the smallest counts first; of equal ones first those that would make the rarest set
        of performed write actions; then in a seeded order.

        Args:
            actions: only branches of these.
            beside: actions that are performed anyway.
        """
        found = [branch for branch in self.universe if actions is None or branch.action in actions]
        random.Random(seed).shuffle(found)
        return sorted(found, key=lambda branch: (self.branches[branch], self._sets_with(branch, beside)))[:n]

    def _sets_with(self, branch: Branch, beside: Collection[str]) -> int:
        performed = {branch.action} if self._guards[branch].verdict == "allow" else set[str]()
        return self.action_sets[frozenset((performed | set(beside)) & self._writes)]

    @property
    def value(self) -> float:
        """F of A.2: the sum of log(1 + n) over branches and action sets."""
        return sum(math.log1p(count) for counts in (self.branches, self.action_sets) for count in counts.values())
