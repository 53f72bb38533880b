"""Synthetic runs with the columns of the real artifacts: predictions, memory, metrics and timings of three variants.

They imitate what is expected of a run (the Reasoner improves, a frozen Synthesizer falls behind) so that figures drawn
from them look like figures; nothing here is a measurement.
"""

import numpy as np
import polars as pl
import pytest

SKILLS = ("stock", "shop", "trip", "share", "age", "seq")
DIFFICULTIES = ("learnable", "mid-band", "hard", "too hard", "other")
FIELDS = (
    "teaching_intent",
    "target_reasoning_style",
    "expected_reasoner_weakness",
    "difficulty_estimate",
    "problem",
    "solution",
    "final_answer",
    "verification_notes",
    "novelty_notes",
)
SIGNALS = (
    "completeness",
    "validity",
    "consistency",
    "steps",
    "grounding",
    "format",
    "novelty",
    "alignment",
    "quality",
    "reliability",
)
MEMORY = {
    "seed": pl.Int64,
    "iteration": pl.Int64,
    "slot": pl.Int64,
    "context": pl.String,
    "weakness": pl.String,
    "text": pl.String,
    "admitted": pl.Boolean,
    "reason": pl.String,
    **dict.fromkeys(FIELDS, pl.String),
    "skill": pl.String,
    "difficulty": pl.String,
    **dict.fromkeys(SIGNALS, pl.Float64),
    "rollouts": pl.List(pl.String),
    "answers": pl.List(pl.String),
    "correct": pl.List(pl.Boolean),
    "rewards": pl.List(pl.Float64),
    "success_rate": pl.Float64,
    "teachability": pl.Float64,
    "synthesizer_reward": pl.Float64,
    "gradient_bearing": pl.Boolean,
    "true_key": pl.Boolean,
}
PREDICTIONS = {
    "system": pl.String,
    "seed": pl.Int64,
    "benchmark": pl.String,
    "item": pl.String,
    "skill": pl.String,
    "level": pl.Int64,
    "mode": pl.String,
    "draw": pl.Int64,
    "correct": pl.Boolean,
    "boxed": pl.Boolean,
    "answer": pl.String,
    "tokens": pl.Int64,
}


def cards(rewards, **columns) -> pl.DataFrame:
    """Admitted cards, one per reward list, in slots of iteration 1 of seed 0 unless ``columns`` say otherwise."""
    rows = []
    for i, group in enumerate(rewards):
        mu = sum(reward > 0 for reward in group) / len(group)
        rows.append(
            {
                "seed": 0,
                "iteration": 1,
                "slot": i,
                "admitted": True,
                "reason": "",
                "skill": "stock",
                "difficulty": "learnable",
                "rewards": list(group),
                "correct": [reward > 0 for reward in group],
                "success_rate": mu,
                "teachability": 2 * min(mu, 1 - mu),
                "gradient_bearing": max(group) != min(group),
                **{name: values[i] for name, values in columns.items()},
            }
        )
    return memory_frame(rows)


def memory_frame(rows: list[dict]) -> pl.DataFrame:
    """Rows as a memory frame; absent columns are null."""
    return pl.DataFrame([{name: row.get(name) for name in MEMORY} for row in rows], schema=MEMORY)


def prediction_frame(rows: list[dict]) -> pl.DataFrame:
    """Rows as a predictions frame, with defaults for what a test does not care about."""
    plain = {"benchmark": "exam", "mode": "greedy", "draw": 0, "seed": 0, "boxed": True, "answer": "1", "tokens": 9}
    return pl.DataFrame([{name: {**plain, **row}.get(name) for name in PREDICTIONS} for row in rows], schema=PREDICTIONS)


def simulate_memory(variant: str, seeds=(0, 1, 2), iterations=40, batch=16, k=4) -> pl.DataFrame:
    """A run whose Reasoner improves; only synco's cards follow it upwards."""
    follow = {"static_pool": 0.0, "frozen": 0.25, "synco": 0.9}[variant]
    rows = []
    for seed in seeds:
        rng = np.random.default_rng([seed, len(variant)])
        for iteration in range(1, iterations + 1):
            ability = 2.5 * (1 - np.exp(-3 * iteration / iterations))
            for slot in range(batch):
                row = {"seed": seed, "iteration": iteration, "slot": slot, "context": "mu high", "text": "{}"}
                row |= {"weakness": str(rng.choice(SKILLS)), "skill": str(rng.choice(SKILLS))}
                if rng.random() < 0.1:
                    reason = rng.choice(["schema:truncated", "schema:prose", "inconsistent", "duplicate", "leakage"])
                    empty = {"rollouts": [], "answers": [], "correct": [], "rewards": []}
                    rows.append({**row, **empty, "admitted": False, "reason": str(reason), "synthesizer_reward": -0.4})
                    continue
                level = rng.normal(follow * ability, 1.6)
                right = rng.random(k) < 1 / (1 + np.exp(2.2 * (level - ability)))
                boxed = rng.random(k) < 0.6 + 0.4 * iteration / iterations
                rewards = np.where(right, np.where(boxed, 1.0, 0.9), 0.0)
                mu = float(right.mean())
                quality, reliability = rng.beta(30, 1.5), rng.beta(25, 1.5)
                rows.append(
                    {
                        **row,
                        **dict.fromkeys(FIELDS, "x"),
                        **dict.fromkeys(SIGNALS, 1.0),
                        "admitted": True,
                        "reason": "",
                        "difficulty": DIFFICULTIES[int(np.clip(np.round(level + rng.normal()), 0, 4))],
                        "novelty": float(np.clip(0.65 + 0.1 * iteration / iterations + rng.normal(0, 0.15), 0, 1)),
                        "quality": float(quality),
                        "reliability": float(reliability),
                        "rollouts": ["x"] * k,
                        "answers": ["1"] * k,
                        "correct": right.tolist(),
                        "rewards": rewards.tolist(),
                        "success_rate": mu,
                        "teachability": 2 * min(mu, 1 - mu),
                        "synthesizer_reward": 0.1 + (2 * quality - 1) * 2 * min(mu, 1 - mu),
                        "gradient_bearing": bool(rewards.max() != rewards.min()),
                        "true_key": None if rng.random() < 0.05 else bool(rng.random() < 0.85),
                    }
                )
    return memory_frame(rows)


def simulate_metrics(memory: pl.DataFrame, trained: bool) -> pl.DataFrame:
    """metrics.csv of a memory; Synthesizer columns are empty unless ``trained``."""
    admitted = memory.filter("admitted").group_by("seed", "iteration")
    per = admitted.agg(
        pl.col("rewards").list.mean().mean().alias("reasoner_reward"),
        pl.col("success_rate").mean(),
        pl.col("gradient_bearing").mean().alias("gradient_bearing_rate"),
        pl.col("gradient_bearing").sum().cast(pl.Int64).alias("productive_tasks"),
        pl.col("true_key").mean().alias("true_key_rate"),
    )
    frame = (
        memory.group_by("seed", "iteration")
        .agg(
            pl.len().alias("proposed"),
            pl.col("admitted").sum(),
            pl.col("admitted").mean().alias("acceptance_rate"),
            pl.col("synthesizer_reward").mean(),
        )
        .join(per, on=["seed", "iteration"], how="left")
        .sort("seed", "iteration")
    )
    rng = np.random.default_rng([frame.height, int(1000 * frame["success_rate"].mean())])
    t = frame["iteration"].to_numpy()
    noise = rng.normal(0, 0.05, (4, frame.height))
    own = {
        "reasoner_loss": noise[0],
        "reasoner_grad_norm": 0.8 * np.exp(-t / 30) + 0.3 + noise[1],
        "reasoner_entropy": 0.5 * np.exp(-t / 20) + 0.2 + noise[2] / 4,
    }
    empty = pl.Series([None] * frame.height, dtype=pl.Float64)
    other = {
        "synthesizer_loss": noise[3] if trained else empty,
        "synthesizer_grad_norm": 1.5 + 3 * noise[3] if trained else empty,
        "synthesizer_entropy": 0.9 - 0.003 * t + noise[3] / 4 if trained else empty,
    }
    return frame.with_columns(**{name: pl.Series(values) for name, values in {**own, **other}.items()})


def simulate_timings(variant: str, seeds=(0, 1, 2), iterations=40) -> pl.DataFrame:
    """Timings of a variant, in seconds."""
    means = {"synthesis_s": 0.4, "verification_s": 0.05, "rollout_s": 0.8, "checking_s": 0.1, "update_reasoner_s": 0.3}
    means |= {"update_synthesizer_s": 0.25 if variant == "synco" else 0.0, "other_s": 0.03}
    if variant == "static_pool":
        means["synthesis_s"] = 0.0
    rng = np.random.default_rng(len(variant))
    shape = len(seeds) * iterations
    frame = pl.DataFrame(
        {
            "seed": np.repeat(seeds, iterations),
            "iteration": np.tile(np.arange(1, iterations + 1), len(seeds)),
            **{name: mean * rng.lognormal(0, 0.15, shape) for name, mean in means.items()},
        }
    )
    return frame.with_columns(pl.sum_horizontal(*means).alias("total_s"))


def simulate_predictions(benchmarks=("exam", "svamp"), items=60, draws=3, seeds=(0, 1, 2)) -> pl.DataFrame:
    """Predictions of all four systems: a greedy draw and ``draws`` sampled ones per task; one unreadable reference."""
    skill = {"vanilla": 0.0, "static_pool": 1.1, "frozen": 1.3, "synco": 1.7}
    rows = []
    for b, benchmark in enumerate(benchmarks):
        for i in range(items):
            level = 1 + i % 5
            for system, gain in skill.items():
                for seed in (0,) if system == "vanilla" else seeds:
                    rng = np.random.default_rng([b, i, seed, len(system)])
                    chance = 1 / (1 + np.exp(0.9 * (level - 3) - gain + 1.5 * b))
                    for draw in range(draws + 1):
                        correct = None if benchmark == "exam" and i == 7 else bool(rng.random() < chance)
                        row = {"system": system, "seed": seed, "benchmark": benchmark, "item": f"{benchmark}-{i}"}
                        row |= {"skill": SKILLS[i % 6], "level": level, "correct": correct}
                        rows.append({**row, "mode": "sampled" if draw else "greedy", "draw": max(0, draw - 1)})
    return prediction_frame(rows)


def simulate_rollouts(tasks=120, k=4) -> pl.DataFrame:
    """Tasks of three sources before one Reasoner: the static pool's are mostly solved, synco's are mixed."""
    parts = []
    for variant, ease in (("static_pool", 0.95), ("frozen", 0.8), ("synco", 0.5)):
        rng = np.random.default_rng([tasks, len(variant)])
        right = rng.random((tasks, k)) < rng.beta(6 * ease, 6 * (1 - ease), (tasks, 1))
        rewards = np.where(right, np.where(rng.random((tasks, k)) < 0.9, 1.0, 0.9), 0.0)
        parts.append(
            pl.DataFrame(
                {
                    "variant": [variant] * tasks,
                    "problem": [f"{variant} {i}" for i in range(tasks)],
                    "answer": ["1"] * tasks,
                    "success_rate": right.mean(axis=1),
                    "gradient_bearing": rewards.max(axis=1) != rewards.min(axis=1),
                    "rewards": rewards.tolist(),
                }
            )
        )
    return pl.concat(parts)


@pytest.fixture(scope="session")
def contamination(memory):
    """Overlap of every admitted card with one benchmark of 60 items: a third of the cards share a gram with some."""
    columns = {"benchmark": "exam", "item": "t0", "items": 60}
    return {
        name: frame.filter("admitted")
        .select("seed", "iteration", "slot", *(pl.lit(value).alias(key) for key, value in columns.items()))
        .with_columns(pl.when(pl.col("slot") % 3 == 0).then(0.25).otherwise(0.0).alias("overlap"))
        .with_columns(longest=pl.col("overlap").ceil().cast(pl.Int64) * 5, items_touched=pl.col("overlap").ceil().cast(pl.Int64))
        for name, frame in memory.items()
    }


@pytest.fixture(scope="session")
def rollouts():
    return simulate_rollouts()


@pytest.fixture(scope="session")
def make_cards():
    return cards


@pytest.fixture(scope="session")
def make_predictions():
    return prediction_frame


@pytest.fixture(scope="session")
def memory():
    return {name: simulate_memory(name) for name in ("static_pool", "frozen", "synco")}


@pytest.fixture(scope="session")
def metrics(memory):
    return {name: simulate_metrics(frame, trained=name == "synco") for name, frame in memory.items()}


@pytest.fixture(scope="session")
def timings():
    return {name: simulate_timings(name) for name in ("static_pool", "frozen", "synco")}


@pytest.fixture(scope="session")
def predictions():
    return simulate_predictions()
