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
from selfevolve.synco.corpus_files import require_place
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
        require_place(name, settings.sources.corpora[name])


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

    learner: Learner
    if sft:
        learner = RejectionSft(policies["reasoner"], agents / "reasoner", profile, memory, seed, folder)
    else:
        learner = Grpo(trainer("reasoner"))
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
    elif variant.source == "static_pool":
        source = FixedPool([Proposal(card, 0) for card in pool], settings.tasks, seed)
    elif variant.source == "rewriting":
        made = _kept(folder, lambda: _rewritten(profile, agents, verifier, pool))
        source = FixedPool(rewriting.proposals(made), settings.tasks, seed, rewriting.CHECKS)
    else:
        made = _kept(folder, lambda: _sampled(variant.corpus, profile, verifier, policies["reasoner"]))
        source = FixedPool(corpora.proposals(made), settings.tasks, seed, corpora.CHECKS)
    consensus = None
    if profile.verifier.consensus.solutions and source.checks is None:
        untrained = load(agents / "reasoner", models.dtype, models.generation_batch)
        consensus = Consensus(untrained, models.prompts, settings.reasoner_sampling, profile.verifier.consensus)
    return Run(policies, source, learner, consensus)


def _kept(folder: Path, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """The run's pool, made on first use. It is drawn with the seed of the synthesis stage, so all seeds train on the same one."""
    path = folder / SOURCE / POOL
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        frame, temporary = make(), path.with_suffix(".tmp")
        frame.write_parquet(temporary)
        os.replace(temporary, path)
    return pl.read_parquet(path)


def _rewritten(profile: Profile, agents: Path, verifier: Verifier, cards: list[str]) -> pl.DataFrame:
    params, models = profile.cotraining.sources.rewriting, profile.models
    seed = derive(profile.synthesis.seed, "rewriting")
    writer: rewriting.Writer = rewriting.Rules()
    if params.writer == "model":
        untrained = load(agents / "reasoner", models.dtype, models.generation_batch)
        writer = rewriting.ModelWriter(untrained, models.prompts, params.sampling, seed)
    return rewriting.build(cards, params, writer, verifier.emptied(), seed)


def _sampled(name: str, profile: Profile, verifier: Verifier, reasoner: Policy) -> pl.DataFrame:
    room = reasoner.model.config.max_position_embeddings - profile.cotraining.reasoner_sampling.max_new_tokens

    def fits(problem: str) -> bool:
        (ids,) = reasoner.encode([reasoner_messages(problem, profile.models.prompts)])
        return len(ids) <= room

    seed = derive(profile.synthesis.seed, "corpus", name)
    return corpora.build(name, profile.cotraining.sources.corpora[name], verifier, fits, seed)


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
