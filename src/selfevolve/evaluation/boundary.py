"""Tasks of every source before the same Reasoner: the untrained one (SynCo 4.7, Figure 5).

A source's own success rates were measured by the Reasoner it was training. Here the tasks of all sources are rolled out by the Reasoner
they all started from, with the rollout budget, sampling and checker of training, so that what differs is the tasks alone.

Deviation: the paper rolls out all 2,940 tasks of each source; here it is a sample of `evaluation.source_tasks` different problems, drawn
from the admitted tasks of all seeds.
"""

import os
import random
from pathlib import Path

import polars as pl

from selfevolve.checker import check_batch
from selfevolve.models.policy import load
from selfevolve.params import Profile
from selfevolve.progress import Progress
from selfevolve.seeding import derive
from selfevolve.synco.context import reasoner_messages
from selfevolve.synco.rewards import reasoner_reward

SCHEMA = {
    "variant": pl.String,
    "problem": pl.String,
    "answer": pl.String,
    "success_rate": pl.Float64,
    "gradient_bearing": pl.Boolean,
    "rewards": pl.List(pl.Float64),
}
"""One row per task. `success_rate` of the K rollouts; `gradient_bearing`: their rewards differ."""


def sample(memory: pl.DataFrame, count: int, seed: int) -> pl.DataFrame:
    """`count` different problems (or all, if there are fewer) of the admitted cards, with their answers: problem, answer.

    Of cards that share a problem the first counts.
    """
    tasks = (
        memory.filter("admitted")
        .sort("seed", "iteration", "slot")
        .unique("problem", keep="first", maintain_order=True)
        .select("problem", pl.col("final_answer").alias("answer"))
    )
    chosen = random.Random(seed).sample(range(tasks.height), min(count, tasks.height))
    return tasks[sorted(chosen)]


def roll_out(variant: str, memory: Path, agent: Path, profile: Profile, path: Path) -> pl.DataFrame:
    """Roll the Reasoner in `agent` out on a sample of the variant's tasks (`memory`: its memory.parquet), and keep the rows at `path`.

    If `path` is there already, it was written by a run that was interrupted later: it is read instead.
    """
    if path.is_file():
        return pl.read_parquet(path)
    settings, models = profile.evaluation, profile.models
    columns = ["seed", "iteration", "slot", "admitted", "problem", "final_answer"]
    tasks = sample(
        pl.read_parquet(memory, columns=columns), settings.source_tasks, derive(settings.seed, "source tasks", variant)
    )
    k, policy = profile.cotraining.rollouts, load(agent, models.dtype, models.generation_batch)
    prompts = policy.encode([reasoner_messages(problem, models.prompts) for problem in tasks["problem"]])
    progress = Progress(f"tasks of {variant} before the untrained Reasoner", tasks.height)
    completions = policy.generate(
        [prompt for prompt in prompts for _ in range(k)],
        profile.cotraining.reasoner_sampling,
        derive(settings.seed, "source rollouts", variant),
    )
    answers = [answer for answer in tasks["answer"] for _ in range(k)]
    verdicts = check_batch([(c.text, a) for c, a in zip(completions, answers, strict=True)])
    rewards = [[reasoner_reward(verdict) for verdict in verdicts[i : i + k]] for i in range(0, len(verdicts), k)]
    result = tasks.select(
        pl.lit(variant).alias("variant"),
        "problem",
        "answer",
        pl.Series("success_rate", [sum(reward > 0 for reward in group) / k for group in rewards], dtype=pl.Float64),
        pl.Series("gradient_bearing", [max(group) > min(group) for group in rewards], dtype=pl.Boolean),
        pl.Series("rewards", rewards, dtype=pl.List(pl.Float64)),
    )
    progress.update(tasks.height)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    result.write_parquet(temporary)
    os.replace(temporary, path)
    return result
