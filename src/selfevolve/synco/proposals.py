"""One candidate task of an iteration, as text that still has to pass the verifier (SynCo 3.2, Eq. 1)."""

from typing import NamedTuple


class Proposal(NamedTuple):
    """A card as a task source hands it over. All but `text` and `group` may be missing."""

    text: str
    group: int
    """Index of its context: cards of one group are compared with each other."""
    context: str = ""
    weakness: str | None = None
    prompt_ids: tuple[int, ...] = ()
    completion_ids: tuple[int, ...] = ()
    """Token ids for the Synthesizer's update; empty for a card that no policy wrote in this iteration."""
    origin: str | None = None
    """How the source came by it: the kind of rewriting, the corpus' own type, "challenger"; None for the Synthesizer's own."""
    true_key: bool | None = None
    """Whether its answer is known to be right by how it was made; None leaves that to the oracle."""
    agreement: float | None = None
    """Share of the answers that voted for its label (R-Zero)."""
