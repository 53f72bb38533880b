"""Opening a run: its agents, its task source and its learner, new or from the last checkpoint (SynCo C.2, C.3)."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl

from selfevolve.models.grpo import GroupRelativeTrainer, open_trainer
from selfevolve.models.policy import Policy, load
from selfevolve.params import Profile
from selfevolve.seeding import derive
from selfevolve.synco import corpora, rewriting
from selfevolve.synco.consensus import Consensus
from selfevolve.synco.context import reasoner_messages
from selfevolve.synco.learners import Grpo, Learner, RejectionSft
from selfevolve.synco.memory import Memory
from selfevolve.synco.proposals import Proposal
from selfevolve.synco.r_zero import RZeroSource
from selfevolve.synco.run_files import checkpoint_folder, completed
from selfevolve.synco.runs import SOURCE
from selfevolve.synco.settings import Variant
from selfevolve.synco.sources import FixedPool, SynthesizerSource, TaskSource
from selfevolve.synco.verifier import Verifier

POOL = "pool.parquet"


class Run(NamedTuple):
    """What the loop works with."""

    policies: dict[str, Policy]
    """Agents by name; those that learn are saved under it."""
    source: TaskSource
    learner: Learner
    consensus: Consensus | None


def require(variant: str, profile: Profile) -> None:
    """Raise before any work if a variant's source is not there: an external corpus without a file or hub id."""
    settings = profile.cotraining
    if name := settings.variants[variant].corpus:
        corpora.require_place(name, settings.sources.corpora[name])


def open_run(
    variant: Variant, profile: Profile, agents: Path, verifier: Verifier, memory: Memory, seed: int, folder: Path, pool: list[str]
) -> Run:
    """Open the run in `folder`, at the iteration it had completed.

    Args:
        agents: folder with the `reasoner/` and `synthesizer/` agent folders to start from.
        verifier: the loop's own.
        memory: with the rows of completed iterations only.
        pool: card texts of the static pool.
    """
    settings, models, done = profile.cotraining, profile.models, completed(folder)
    checkpoint = checkpoint_folder(folder, done) if done else None
    sft = variant.learner == "rejection_sft"
    start = checkpoint / "reasoner" if sft and checkpoint else agents / "reasoner"
    policies = {"reasoner": load(start, models.dtype, models.generation_batch)}
    if variant.source in ("synthesizer", "r_zero"):
        policies["synthesizer"] = load(agents / "synthesizer", models.dtype, models.generation_batch)

    def trainer(name: str) -> GroupRelativeTrainer:
        return _open_trainer(name, policies[name], profile, seed, folder, checkpoint)

    learner = (
        RejectionSft(policies["reasoner"], agents / "reasoner", profile, memory, seed, folder) if sft else Grpo(trainer("reasoner"))
    )
    source: TaskSource
    if variant.source == "synthesizer":
        source = SynthesizerSource(
            policies["synthesizer"],
            models.prompts,
            settings.tasks,
            settings.contexts,
            settings.synthesizer_sampling,
            seed,
            trainer("synthesizer") if variant.train_synthesizer else None,
        )
    elif variant.source == "r_zero":
        challenger, solver = policies["synthesizer"], policies["reasoner"]
        source = RZeroSource(challenger, solver, trainer("synthesizer"), profile, verifier, seed, folder / SOURCE, done)
    else:
        source = _fixed_pool(variant, profile, agents, verifier, policies["reasoner"], seed, folder, pool)
    consensus = None
    if profile.verifier.consensus.solutions and source.checks is None:
        untrained = load(agents / "reasoner", models.dtype, models.generation_batch)
        consensus = Consensus(untrained, models.prompts, settings.reasoner_sampling, profile.verifier.consensus)
    return Run(policies, source, learner, consensus)


def _fixed_pool(
    variant: Variant, profile: Profile, agents: Path, verifier: Verifier, reasoner: Policy, seed: int, folder: Path, cards: list[str]
) -> FixedPool:
    """The pool of a variant whose tasks are there before training. It is made once and kept; all seeds make the same one."""
    tasks, made = profile.cotraining.tasks, derive(profile.synthesis.seed, "pool of", variant.source, variant.corpus or "")
    if variant.source == "static_pool":
        return FixedPool([Proposal(card, 0) for card in cards], tasks, seed)
    if variant.source == "rewriting":
        frame = _kept(folder, lambda: _rewritten(profile, agents, verifier, cards, made))
        return FixedPool(rewriting.proposals(frame), tasks, seed, rewriting.CHECKS)
    name = variant.corpus
    corpus = profile.cotraining.sources.corpora[name]
    frame = _kept(folder, lambda: corpora.build(name, corpus, verifier, _fits(reasoner, profile), made))
    return FixedPool(corpora.proposals(frame), tasks, seed, corpora.CHECKS)


def _kept(folder: Path, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    path = folder / SOURCE / POOL
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        frame, temporary = make(), path.with_suffix(".tmp")
        frame.write_parquet(temporary)
        os.replace(temporary, path)
    return pl.read_parquet(path)


def _rewritten(profile: Profile, agents: Path, verifier: Verifier, cards: list[str], seed: int) -> pl.DataFrame:
    params, models = profile.cotraining.sources.rewriting, profile.models
    writer: rewriting.Writer = rewriting.Rules()
    if params.writer == "model":
        untrained = load(agents / "reasoner", models.dtype, models.generation_batch)
        writer = rewriting.ModelWriter(untrained, models.prompts, params.sampling, seed)
    return rewriting.build(cards, params, writer, verifier.emptied(), seed)


def _fits(reasoner: Policy, profile: Profile) -> Callable[[str], bool]:
    room = reasoner.model.config.max_position_embeddings - profile.cotraining.reasoner_sampling.max_new_tokens

    def fits(problem: str) -> bool:
        (ids,) = reasoner.encode([reasoner_messages(problem, profile.models.prompts)])
        return len(ids) <= room

    return fits


def _open_trainer(
    name: str, policy: Policy, profile: Profile, seed: int, folder: Path, checkpoint: Path | None
) -> GroupRelativeTrainer:
    settings = profile.cotraining
    sampling = settings.reasoner_sampling if name == "reasoner" else settings.synthesizer_sampling
    return open_trainer(
        policy.model,
        policy.tokenizer,
        settings.reasoner_optim if name == "reasoner" else settings.synthesizer_optim,
        total_steps=settings.iterations,
        temperature=sampling.temperature,
        seed=seed,
        output_dir=folder / "trainer",
        resume_from=checkpoint / name if checkpoint else None,
        bf16=policy.bf16,
    )


