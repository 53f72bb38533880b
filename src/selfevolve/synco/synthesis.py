"""Stage 01: the two agents before co-training, and the static pool (SynCo C.2, C.3).

Both agents start as independently parameterised copies of one base, as in C.3. A base that follows instructions is used as it is. The
`tiny` profile makes its base from random weights and then teaches each copy its role, see `bootstrap`.
"""

from pathlib import Path

import polars as pl

from selfevolve import families
from selfevolve.cards import FIELDS
from selfevolve.models.policy import Policy, load, point_to_base
from selfevolve.models.settings import SftParams
from selfevolve.models.sft import fine_tune
from selfevolve.models.tiny import build_model, build_tokenizer
from selfevolve.params import Profile, ScratchModel
from selfevolve.progress import Progress
from selfevolve.seeding import derive
from selfevolve.synco.bootstrap import (
    Turn,
    card_turns,
    drill_examples,
    schedule,
    solution_turns,
    tokenizer_corpus,
    turn_examples,
)
from selfevolve.synco.context import Context, synthesizer_messages
from selfevolve.synco.verifier import Verifier

PROBE = 256
"""Cards proposed per round while the pool is filled; the first round also measures the Synthesizer."""


def build_base(profile: Profile, corpora: Path, folder: Path, work: Path) -> list[float]:
    """Write the folder of the base both agents start from and return its losses (none if it is pretrained).

    A from-scratch base first drills equations and then learns to solve problems step by step.

    Args:
        corpora: folder of the bootstrap corpora (`data/bootstrap`).
        work: folder for resumable checkpoints.
    """
    models, settings = profile.models, profile.synthesis
    if not isinstance(models.base, ScratchModel):
        point_to_base(folder, models.base.path)
        return []
    shape = models.base.shape
    tokenizer = build_tokenizer(tokenizer_corpus(corpora, models.prompts), shape.vocab_size, shape.max_position_embeddings)
    model = build_model(shape, tokenizer, derive(settings.seed, "weights"))
    policy = Policy(model, tokenizer, models.dtype, models.generation_batch)
    solutions = pl.read_parquet(corpora / "solutions.parquet").filter(pl.col("solution").str.contains("=", literal=True))
    return _teach("base", policy, solution_turns(solutions, models.prompts), profile, corpora, folder, work)


def build_agent(name: str, profile: Profile, base: Path, corpora: Path, folder: Path, work: Path) -> list[float]:
    """Write the agent folder of `name` ("synthesizer" or "reasoner"), a copy of `base` taught its role, and return the losses."""
    models = profile.models
    if not getattr(profile.synthesis, name).steps:
        point_to_base(folder, str(base))
        return []
    policy = load(base, models.dtype, models.generation_batch)
    if name == "synthesizer":
        turns = card_turns(pl.read_parquet(corpora / "cards.parquet"), models.prompts)
    else:
        turns = solution_turns(pl.read_parquet(corpora / "solutions.parquet"), models.prompts)
    return _teach(name, policy, turns, profile, corpora, folder, work)


def _teach(
    name: str, policy: Policy, turns: list[Turn], profile: Profile, corpora: Path, folder: Path, work: Path
) -> list[float]:
    params: SftParams = getattr(profile.synthesis, name)
    seed = derive(profile.synthesis.seed, "bootstrap", name)
    tokenizer = policy.tokenizer
    drills = pl.read_parquet(corpora / "drills.parquet")["equations"].to_list() if params.drills else []
    used = turns[: params.steps * params.batch_size]
    examples = schedule(turn_examples(tokenizer, used), drill_examples(tokenizer, drills), params, seed)
    progress = Progress(f"bootstrap {name}: step", params.steps)
    losses = fine_tune(policy.model, tokenizer, examples, params, seed, work, progress.update, policy.bf16)
    policy.save(folder)
    return losses


def propose_cards(profile: Profile, synthesizer: Path, benchmark_problems: list[str]) -> pl.DataFrame:
    """Cards of the untrained Synthesizer under empty contexts, until `pool_size` are admitted or `pool_candidates` proposed.

    One row per candidate: text, admitted, reason, true_key (null unless admitted and readable by the oracle), the nine card fields,
    quality, reliability.
    """
    settings, sampling = profile.synthesis, profile.cotraining.synthesizer_sampling
    policy = load(synthesizer, profile.models.dtype, profile.models.generation_batch)
    verifier = Verifier(profile.verifier, benchmark_problems)
    (prompt,) = policy.encode([synthesizer_messages(Context(), profile.models.prompts)])
    progress = Progress("static pool: card", settings.pool_size)
    rows: list[dict] = []
    admitted = 0
    while admitted < settings.pool_size and len(rows) < settings.pool_candidates:
        count = min(PROBE, settings.pool_candidates - len(rows))
        seed = derive(settings.seed, "pool", len(rows))
        for completion in policy.generate([prompt] * count, sampling, seed):
            report = verifier.verify(completion.text)
            row = {"text": completion.text, "admitted": report.admitted, "reason": report.reason, "true_key": None}
            row |= {name: getattr(report.card, name) if report.card else None for name in FIELDS}
            row |= {"quality": report.quality, "reliability": report.reliability}
            if report.admitted:
                verifier.remember(report.card)
                row["true_key"] = families.true_key(report.card.problem, report.card.final_answer)
                admitted += 1
            rows.append(row)
        progress.update(min(admitted, settings.pool_size), f"{len(rows)} proposed")
    floats = {"quality": pl.Float64, "reliability": pl.Float64, "true_key": pl.Boolean}
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=floats)
