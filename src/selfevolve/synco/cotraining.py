"""The co-training loop (SynCo 3.3-3.4, Eq. 6-11): one shared batch per iteration, one update of each trained policy.

An iteration: the task source proposes B cards, the verifier judges them, the Reasoner rolls each admitted problem out K times; check,
reward, write the memory, let the Reasoner learn, then the policy behind the source if it is trained; checkpoint. For SynCo it is strictly
on-policy: what an iteration trains on was sampled with the weights it starts from. Every baseline of C.2 is the same loop with another
source (`sources`, `rewriting`, `corpora`, `r_zero`) or another learner (`learners`).

Every random draw is seeded by (seed, purpose, iteration), so a run resumed from a checkpoint repeats what an undisturbed one does.
Wall times are kept out of the outputs that must be reproducible and go to a file of their own.
"""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from selfevolve.models.grpo import StepMetrics
from selfevolve.models.policy import Policy
from selfevolve.params import Params, Profile
from selfevolve.progress import Progress
from selfevolve.seeding import derive
from selfevolve.synco.batch import Interaction, judge, record, verify
from selfevolve.synco.consensus import REASON
from selfevolve.synco.context import reasoner_messages
from selfevolve.synco.memory import METRICS, SCHEMA, TIMINGS, Memory
from selfevolve.synco.opening import open_run, require
from selfevolve.synco.run_files import Clock, Table, checkpoint_folder, complete, completed
from selfevolve.synco.runs import seed_folder
from selfevolve.synco.settings import Variant
from selfevolve.synco.verifier import Report, Verifier

PHASES = ("synthesis", "verification", "rollout", "checking", "update_reasoner", "update_synthesizer", "checkpoint")
"""Timed parts of an iteration. All of R-Zero's Challenger stage is `synthesis`."""


def train(variant: str, settings: Params, synthesis: Path, benchmark_problems: list[str], seed: int, work: Path) -> None:
    """Train `variant` with `seed` in `work/seed-<seed>`, starting from the agents and the pool of the synthesis stage."""
    require(variant, settings)
    progress = Progress(f"{variant} seed {seed}: iteration", settings.cotraining.iterations)
    run(
        settings.cotraining.variants[variant],
        settings,
        synthesis,
        pl.read_parquet(synthesis / "pool.parquet")["text"].to_list(),
        benchmark_problems,
        seed,
        seed_folder(work, seed),
        progress.update,
    )


def run(
    variant: Variant,
    profile: Profile,
    agents: Path,
    pool: list[str],
    benchmark_problems: list[str],
    seed: int,
    folder: Path,
    report: Callable[[int, str], None],
) -> None:
    """Train one variant with one seed in `folder`, going on from the last checkpoint there.

    Leaves `memory/`, `metrics.csv`, `timings.csv`, `source/` (if the source made something), and the trained `reasoner/` (and
    `synthesizer/`, if it was trained).

    Args:
        agents: folder with the `reasoner/` and `synthesizer/` agent folders to start from.
        pool: card texts of the static pool.
        benchmark_problems: problems no admitted card may overlap with.
        report: told the iteration just done and a short note.
    """
    settings, done = profile.cotraining, completed(folder)
    if done >= settings.iterations:
        return
    memory = Memory(folder / "memory")
    memory.forget_after(done)
    verifier = Verifier(profile.verifier, benchmark_problems)
    policies, source, learner, consensus = open_run(variant, profile, agents, verifier, memory, seed, folder, pool)
    metrics, timings = Table(folder / METRICS, done), Table(folder / TIMINGS, done)
    if source.remember:
        passed = memory.all().filter(pl.col("admitted") | (pl.col("reason") == REASON))
        for problem in passed["problem"].tail(profile.verifier.recent_pool):
            verifier.remember_problem(problem)

    for iteration in range(done + 1, settings.iterations + 1):
        clock = Clock(PHASES)
        proposals = source.propose(iteration, memory.recent(iteration, settings.recent_iterations))
        clock.lap("synthesis")
        reports = verify(proposals, verifier, source.remember, source.checks)
        if consensus:
            reports = consensus.confirm(reports, derive(seed, "consensus", iteration))
        clock.lap("verification")
        prompts = _reasoner_prompts(reports, policies["reasoner"], profile.models.prompts)
        repeated = [prompt for prompt in prompts for _ in range(settings.rollouts)]
        seeded = derive(seed, "reasoner", iteration)
        completions = policies["reasoner"].generate(repeated, settings.reasoner_sampling, seeded)
        clock.lap("rollout")
        rollouts = judge(reports, prompts, completions)
        clock.lap("checking")
        batch = [Interaction(*parts) for parts in zip(proposals, reports, rollouts, strict=True)]
        rows = [record(seed, iteration, slot, item) for slot, item in enumerate(batch)]
        memory.append(iteration, rows)
        clock.skip()
        steps = {"reasoner": learner.learn(iteration, batch)}
        clock.lap("update_reasoner")
        if variant.train_synthesizer:
            steps["synthesizer"] = source.learn(batch)
            clock.lap("update_synthesizer")
        row = {"seed": seed, "iteration": iteration, **_metrics(pl.DataFrame(rows, schema=SCHEMA, orient="row"), steps)}
        metrics.append(row)
        last = iteration == settings.iterations
        if last:
            for name in steps:
                policies[name].save(folder / name)
        elif iteration % settings.checkpoint_every == 0:
            checkpoint = checkpoint_folder(folder, iteration)
            learner.save(checkpoint / "reasoner")
            if variant.train_synthesizer:
                source.save(checkpoint / "synthesizer")
        clock.lap("checkpoint")
        timings.append({"seed": seed, "iteration": iteration, **clock.seconds()})
        if last or iteration % settings.checkpoint_every == 0:
            complete(folder, iteration)
        report(iteration, f"accepted {row['acceptance_rate'] or 0:.0%}, success {row['success_rate'] or 0:.0%}")


def _reasoner_prompts(reports: list[Report], reasoner: Policy, prompts: str) -> list[tuple[int, ...]]:
    problems = [report.card.problem for report in reports if report.admitted]
    return [tuple(ids) for ids in reasoner.encode([reasoner_messages(problem, prompts) for problem in problems])]


def _metrics(rows: pl.DataFrame, steps: dict[str, StepMetrics | None]) -> dict[str, float | int | None]:
    admitted = rows.filter("admitted")
    values: dict[str, float | int | None] = {
        "proposed": rows.height,
        "admitted": admitted.height,
        "acceptance_rate": admitted.height / rows.height if rows.height else None,
        "true_key_rate": admitted["true_key"].mean(),
        "success_rate": admitted["success_rate"].mean(),
        "reasoner_reward": admitted["rewards"].explode().mean(),
        "synthesizer_reward": rows["synthesizer_reward"].mean(),
        "gradient_bearing_rate": admitted["gradient_bearing"].mean(),
        "productive_tasks": int(admitted["gradient_bearing"].sum()),
    }
    for name in ("reasoner", "synthesizer"):
        step = steps.get(name)
        values |= {f"{name}_{key}": getattr(step, key, None) for key in ("loss", "grad_norm", "entropy")}
    return values
