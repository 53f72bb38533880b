"""Stage 01: the two agents before co-training, and the static pool (SynCo C.2, C.3).

Both agents start as independently parameterised copies of one base. A base that already writes the wire format (the `paper` profile)
is used as it is; otherwise each copy is bootstrapped on its own corpus, see `bootstrap`.
"""

from pathlib import Path

import polars as pl

from selfevolve import families
from selfevolve.cards import FIELDS
from selfevolve.models.policy import Policy, load, point_to_base
from selfevolve.models.sft import SftParams, fine_tune
from selfevolve.models.tiny import build_model, build_tokenizer
from selfevolve.params import Profile, ScratchModel
from selfevolve.progress import Progress
from selfevolve.seeding import derive
from selfevolve.synco.bootstrap import (
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


def build_agent(name: str, profile: Profile, corpora: Path, folder: Path, work: Path) -> list[float]:
    """Write the agent folder of `name` ("synthesizer" or "reasoner") and return its bootstrap losses.

    Args:
        corpora: folder of the bootstrap corpora (`data/bootstrap`).
        work: folder for resumable checkpoints.
    """
    models, settings = profile.models, profile.synthesis
    params: SftParams = getattr(settings, name)
    if not params.steps and not isinstance(models.base, ScratchModel):
        point_to_base(folder, models.base.path)
        return []
    seed = derive(settings.seed, "bootstrap", name)
    if isinstance(models.base, ScratchModel):
        shape = models.base.shape
        tokenizer = build_tokenizer(tokenizer_corpus(corpora, models.prompts), shape.vocab_size, shape.max_position_embeddings)
        model = build_model(shape, tokenizer, seed)
        policy = Policy(model, tokenizer, models.dtype, models.generation_batch)
    else:
        policy = load(models.base.path, models.dtype, models.generation_batch)
    rows = params.steps * params.batch_size
    if name == "synthesizer":
        turns = card_turns(pl.read_parquet(corpora / "cards.parquet").head(rows), models.prompts)
    else:
        turns = solution_turns(pl.read_parquet(corpora / "solutions.parquet").head(rows), models.prompts)
    drills = pl.read_parquet(corpora / "drills.parquet")["equations"].to_list() if params.drills else []
    tokenizer = policy.tokenizer
    examples = schedule(turn_examples(tokenizer, turns), drill_examples(tokenizer, drills), params, seed)
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
                truth = families.oracle(report.card.problem)
                row["true_key"] = None if truth is None else truth == report.card.final_answer
                admitted += 1
            rows.append(row)
        progress.update(min(admitted, settings.pool_size), f"{len(rows)} proposed")
    floats = {"quality": pl.Float64, "reliability": pl.Float64, "true_key": pl.Boolean}
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=floats)
