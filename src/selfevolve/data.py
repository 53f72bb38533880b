"""Builds `data/`: the frozen held-out exam and the bootstrap corpora. `python -m selfevolve.data` rebuilds it bit for bit.

    data/exam.parquet                 id, benchmark, skill, level, problem, answer
    data/bootstrap/cards.parquet      context columns (success_rate, weakness, least_covered, acceptance_rate) + the nine card fields
    data/bootstrap/solutions.parquet  skill, level, problem, solution (the text a Reasoner is taught to write)
    data/bootstrap/drills.parquet     equations (a line of twelve sums, of which the results are learned)

`data/operators/*.yaml`, the guarded-operator libraries, are written by hand and not touched here.

No exam problem occurs in a corpus. The Reasoner's corpus plants room to improve: part of its demonstrations give the answer
without working, the more often the longer the problem, and one in ten gives it outside `\\boxed{}`.
"""

import random
from pathlib import Path

import polars as pl

from selfevolve import families
from selfevolve.paths import DATA

SEED = 20260
EXAM_PER_CELL = 10
"""Exam problems per (skill, level): 6 x 5 x 10 = 300."""
CARDS = 60_000
SOLUTIONS = 60_000
DRILLS = 16_000
DIRECT_BY_LEVEL = {1: 0.10, 2: 0.25, 3: 0.40, 4: 0.55, 5: 0.70}
UNBOXED = 0.10
CARD_LEVELS = (0.25, 0.25, 0.22, 0.16, 0.12)
"""Share of the bootstrap cards at levels 1-5: every level keeps some, so that exploration does not collapse at the start."""
FOLLOWED = 0.5
"""How often a bootstrap card is of the skill that its context names."""
WEAKNESS = {"+": "carry", "-": "borrow", "*": "times table", "/": "division"}


def exam(rng: random.Random) -> pl.DataFrame:
    """Held-out problems, `EXAM_PER_CELL` distinct ones for each skill and level."""
    rows, seen = [], set()
    for skill in families.SKILLS:
        for level in families.LEVELS:
            number = 0
            while number < EXAM_PER_CELL:
                problem = families.generate(rng, skill, level)
                if problem.text in seen:
                    continue
                seen.add(problem.text)
                name = f"exam-{skill}-{level}-{number:02d}"
                rows.append((name, "exam", skill, level, problem.text, problem.answer))
                number += 1
    return pl.DataFrame(rows, schema=["id", "benchmark", "skill", "level", "problem", "answer"], orient="row")


def _unseen(rng: random.Random, skill: str, level: int, held_out: set[str]) -> families.Problem:
    while True:
        problem = families.generate(rng, skill, level)
        if problem.text not in held_out:
            return problem


def cards(rng: random.Random, held_out: set[str]) -> pl.DataFrame:
    """Task cards with the context each answers; of those whose context names a weak skill, `FOLLOWED` (and a
    sixth of the rest, by chance) are of that skill."""
    rows = []
    for _ in range(CARDS):
        weakness = rng.choice((None, *families.SKILLS))
        named = weakness is not None and rng.random() < FOLLOWED
        skill = weakness if named else rng.choice(families.SKILLS)
        level = rng.choices(families.LEVELS, CARD_LEVELS)[0]
        problem = _unseen(rng, skill, level, held_out)
        rows.append(
            {
                "success_rate": rng.choice((None, round(rng.random(), 2))),
                "weakness": weakness,
                "least_covered": rng.choice((None, *families.SKILLS)),
                "acceptance_rate": rng.choice((None, round(rng.random(), 2))),
                "teaching_intent": f"{level} steps" if level > 1 else "1 step",
                "target_reasoning_style": skill,
                "expected_reasoner_weakness": WEAKNESS[rng.choice(problem.steps).operator],
                "difficulty_estimate": families.DIFFICULTY[level],
                "problem": problem.text,
                "solution": problem.solution,
                "final_answer": problem.answer,
                "verification_notes": rng.choice(("redo", "check")),
                "novelty_notes": rng.choice(("numbers", "story")),
            }
        )
    return pl.DataFrame(rows, schema_overrides={"success_rate": pl.Float64, "acceptance_rate": pl.Float64})


def solutions(rng: random.Random, held_out: set[str]) -> pl.DataFrame:
    """Problems with the answer text a Reasoner is taught: mostly worked, partly direct, mostly boxed."""
    rows = []
    for _ in range(SOLUTIONS):
        skill, level = rng.choice(families.SKILLS), rng.choice(families.LEVELS)
        problem = _unseen(rng, skill, level, held_out)
        worked = "" if rng.random() < DIRECT_BY_LEVEL[level] else problem.solution + " "
        final = f"Answer {problem.answer}" if rng.random() < UNBOXED else f"\\boxed{{{problem.answer}}}"
        rows.append((skill, level, problem.text, worked + final))
    return pl.DataFrame(rows, schema=["skill", "level", "problem", "solution"], orient="row")


def _equation(rng: random.Random) -> families.Step:
    kind = rng.choice("++--*/sm")
    if kind in "*/":
        a, b = rng.randint(2, 9), rng.randint(2, 9)
        return families.Step(a, "*", b, a * b) if kind == "*" else families.Step(a * b, "/", b, a)
    if kind == "s":
        a, b = rng.randint(2, 9) * rng.randint(2, 9), rng.randint(2, 9) * rng.randint(2, 9)
        return families.Step(a, "+", b, a + b)
    if kind == "m":
        a, b = rng.randint(2, 45), rng.randint(2, 3)
        return families.Step(a, "*", b, a * b)
    a, b = rng.randint(2, 99), rng.randint(2, 9)
    a = a + b if kind == "-" and a <= b else a
    return families.Step(a, kind, b, families.apply(a, kind, b))


def drills(rng: random.Random) -> pl.DataFrame:
    """Lines of twelve equations of the kinds the families need."""
    return pl.DataFrame({"equations": ["; ".join(str(_equation(rng)) for _ in range(12)) for _ in range(DRILLS)]})


def build(folder: Path = DATA) -> None:
    """Write every file of `data/`; the same code gives the same bytes."""
    held_out = exam(random.Random(SEED))
    texts = set(held_out["problem"])
    frames = {
        "exam": held_out,
        "bootstrap/cards": cards(random.Random(SEED + 1), texts),
        "bootstrap/solutions": solutions(random.Random(SEED + 2), texts),
        "bootstrap/drills": drills(random.Random(SEED + 3)),
    }
    for name, frame in frames.items():
        path = folder / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(path, compression="zstd", compression_level=19, statistics=False)


if __name__ == "__main__":
    build()
    print(f"wrote {DATA}")
