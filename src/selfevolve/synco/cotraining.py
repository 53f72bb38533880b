"""The co-training loop (SynCo 3.3-3.4, Eq. 6-11): one shared batch per iteration, one update of each trained policy.

An iteration: build the contexts from the memory, let the source propose B cards, verify them, let the Reasoner roll each admitted
problem out K times, check, reward, write the memory, update both policies, checkpoint. It is strictly on-policy: what an iteration
trains on was sampled with the weights it starts from.

Every random draw is seeded by (seed, purpose, iteration), so a run resumed from a checkpoint repeats what an undisturbed one does.
Wall times are kept out of the outputs that must be reproducible and go to a file of their own.
"""

import csv
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

from selfevolve.models.grpo import GroupRelativeTrainer, StepMetrics, open_trainer
from selfevolve.models.policy import Policy, load
from selfevolve.params import Params, Profile, Variant
from selfevolve.progress import Progress
from selfevolve.seeding import derive
from selfevolve.synco.batch import Interaction, judge, reasoner_rows, record, synthesizer_rows, verify
from selfevolve.synco.context import reasoner_messages
from selfevolve.synco.memory import METRICS, SCHEMA, TIMINGS, Memory
from selfevolve.synco.runs import seed_folder
from selfevolve.synco.sources import StaticPool, SynthesizerSource, TaskSource
from selfevolve.synco.verifier import Report, Verifier

STATE = "state.json"
PHASES = ("synthesis", "verification", "rollout", "checking", "update_reasoner", "update_synthesizer", "checkpoint")


def train(variant: str, settings: Params, synthesis: Path, benchmark_problems: list[str], seed: int, work: Path) -> None:
    """Train `variant` with `seed` in `work/seed-<seed>`, starting from the agents and the pool of the synthesis stage."""
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

    Leaves `memory/`, `metrics.csv`, `timings.csv`, and the trained `reasoner/` (and `synthesizer/`, if it was trained).

    Args:
        agents: folder with the `reasoner/` and `synthesizer/` agent folders to start from.
        pool: card texts of the static pool.
        benchmark_problems: problems no admitted card may overlap with.
        report: told the iteration just done and a short note.
    """
    settings, done = profile.cotraining, completed(folder)
    if done >= settings.iterations:
        return
    policies = {"reasoner": load(agents / "reasoner", profile.models.dtype, profile.models.generation_batch)}
    if variant.source == "synthesizer":
        policies["synthesizer"] = load(agents / "synthesizer", profile.models.dtype, profile.models.generation_batch)
    trained = ["reasoner", "synthesizer"] if variant.train_synthesizer else ["reasoner"]
    trainers = {name: _open_trainer(name, policies[name], profile, seed, folder, done) for name in trained}
    source = _source(variant, profile, policies, pool, seed)
    memory = Memory(folder / "memory")
    memory.forget_after(done)
    metrics, timings = _Table(folder / METRICS, done), _Table(folder / TIMINGS, done)
    verifier = Verifier(profile.verifier, benchmark_problems)
    remember = variant.source == "synthesizer"  # a pool repeats itself by design
    if remember:
        for problem in memory.all().filter("admitted")["problem"].tail(profile.verifier.recent_pool):
            verifier.remember_problem(problem)

    for iteration in range(done + 1, settings.iterations + 1):
        clock = _Clock()
        proposals = source.propose(iteration, memory.recent(iteration, settings.recent_iterations))
        clock.lap("synthesis")
        reports = verify(proposals, verifier, remember)
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
        steps = {"reasoner": trainers["reasoner"].step(reasoner_rows(batch))}
        clock.lap("update_reasoner")
        if variant.train_synthesizer:
            steps["synthesizer"] = trainers["synthesizer"].step(synthesizer_rows(batch))
            clock.lap("update_synthesizer")
        row = {"seed": seed, "iteration": iteration, **_metrics(pl.DataFrame(rows, schema=SCHEMA, orient="row"), steps)}
        metrics.append(row)
        last = iteration == settings.iterations
        if last:
            for name in trained:
                policies[name].save(folder / name)
        if last or iteration % settings.checkpoint_every == 0:
            _save(folder, iteration, {} if last else trainers)
        clock.lap("checkpoint")
        timings.append({"seed": seed, "iteration": iteration, **clock.seconds()})
        if last or iteration % settings.checkpoint_every == 0:
            _complete(folder, iteration)
        report(iteration, f"accepted {row['acceptance_rate']:.0%}, success {row['success_rate'] or 0:.0%}")


def completed(folder: Path) -> int:
    """Iterations that are safely done in a run's folder: 0 for a new one."""
    path = folder / STATE
    return json.loads(path.read_text())["iteration"] if path.is_file() else 0


def _open_trainer(name: str, policy: Policy, profile: Profile, seed: int, folder: Path, done: int) -> GroupRelativeTrainer:
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
        resume_from=_checkpoint_folder(folder, done) / name if done else None,
        bf16=policy.bf16,
    )


def _source(variant: Variant, profile: Profile, policies: dict[str, Policy], pool: list[str], seed: int) -> TaskSource:
    settings = profile.cotraining
    if variant.source == "static_pool":
        return StaticPool(pool, settings.tasks, seed)
    return SynthesizerSource(
        policies["synthesizer"],
        profile.models.prompts,
        settings.tasks,
        settings.contexts,
        settings.synthesizer_sampling,
        seed,
    )


def _reasoner_prompts(reports: list[Report], reasoner: Policy, prompts: str) -> list[tuple[int, ...]]:
    problems = [report.card.problem for report in reports if report.admitted]
    return [tuple(ids) for ids in reasoner.encode([reasoner_messages(problem, prompts) for problem in problems])]


def _metrics(rows: pl.DataFrame, steps: dict[str, StepMetrics]) -> dict[str, float | int | None]:
    admitted = rows.filter("admitted")
    values: dict[str, float | int | None] = {
        "proposed": rows.height,
        "admitted": admitted.height,
        "acceptance_rate": admitted.height / rows.height,
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


class _Clock:
    """Seconds spent in each phase of an iteration."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._spent = dict.fromkeys(PHASES, 0.0)

    def lap(self, phase: str) -> None:
        now = time.perf_counter()
        self._spent[phase] += now - self._last
        self._last = now

    def skip(self) -> None:
        """Leave the time since the last lap to `other`."""
        self._last = time.perf_counter()

    def seconds(self) -> dict[str, float]:
        total = time.perf_counter() - self._start
        spent = {f"{phase}_s": round(seconds, 4) for phase, seconds in self._spent.items()}
        return {"total_s": round(total, 4), **spent, "other_s": round(total - sum(self._spent.values()), 4)}


def _checkpoint_folder(folder: Path, iteration: int) -> Path:
    return folder / f"checkpoint-{iteration:06d}"


def _save(folder: Path, iteration: int, trainers: dict[str, GroupRelativeTrainer]) -> None:
    for name, trainer in trainers.items():
        trainer.save(_checkpoint_folder(folder, iteration) / name)


def _complete(folder: Path, iteration: int) -> None:
    """Declare `iteration` done, once everything else is written, and drop older checkpoints after that."""
    temporary = folder / f"{STATE}.tmp"
    temporary.write_text(json.dumps({"iteration": iteration}))
    os.replace(temporary, folder / STATE)
    for old in folder.glob("checkpoint-*"):
        if old != _checkpoint_folder(folder, iteration):
            shutil.rmtree(old)


class _Table:
    """A CSV file with one row per iteration, always whole: every change replaces it."""

    def __init__(self, path: Path, last: int):
        """Open the file with its rows up to iteration `last`; later ones belong to iterations that were not completed."""
        self.path, self.rows = path, []
        if path.exists():
            with path.open(newline="") as file:
                self.rows = [row for row in csv.DictReader(file) if int(row["iteration"]) <= last]

    def append(self, row: dict) -> None:
        self.rows.append(row)
        temporary = self.path.with_suffix(".tmp")
        with temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        os.replace(temporary, self.path)
