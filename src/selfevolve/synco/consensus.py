"""The consensus check: independent solutions must support a card's reference answer (SynCo 3.2, B.2, C.3).

Paper: "an additional consensus check independently solves the generated problem and rejects tasks whose inferred answers do not
support the Synthesizer-provided reference". It does not say who solves, how often, or how many must agree; the code released with it
has no such check. Ours: the untrained Reasoner solves each card `consensus.solutions` times with the rollouts' sampling, and a card is
rejected if fewer than `consensus.min_agreement` of the solutions agree. Unlike the current Reasoner, the untrained one sets the same
standard from the first iteration to the last, and its verdict is not another reading of the success rate that the reward is made of.

A card rejected here has passed every rule, so it stays in the recent pool: a later copy is a duplicate.
"""

from collections.abc import Sequence

from selfevolve.models.generation import Sampling
from selfevolve.models.policy import Policy
from selfevolve.synco.settings import ConsensusParams
from selfevolve.synco.verifier import Report
from selfevolve.synco.voting import agreement, solve

REASON = "no_consensus"


class Consensus:
    """The check with its solver; `solver` is never trained."""

    def __init__(self, solver: Policy, prompts: str, sampling: Sampling, params: ConsensusParams):
        self.solver, self.prompts, self.sampling, self.params = solver, prompts, sampling, params

    def confirm(self, reports: Sequence[Report], seed: int) -> list[Report]:
        """The reports, each admitted one with its agreement, and without admission where that is too low."""
        admitted = [report for report in reports if report.admitted]
        problems = [report.card.problem for report in admitted]
        solutions = solve(self.solver, problems, self.prompts, self.params.solutions, self.sampling, seed)
        shares = iter(agreement(solutions, [report.card.final_answer for report in admitted]))
        return [self._judged(report, next(shares)) if report.admitted else report for report in reports]

    def _judged(self, report: Report, share: float) -> Report:
        kept = share >= self.params.min_agreement
        return report.model_copy(update={"agreement": share, "admitted": kept, "reason": "" if kept else REASON})
