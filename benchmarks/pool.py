"""Time per card of the near-duplicate and the contamination check, as the pool of cards and the benchmarks grow.

    python benchmarks/pool.py [--cards 500]

For pools of 10^3, 10^4 and 10^5 problems, full, so that every new card pushes the oldest out: what the verifier does with one more card,
that is looking for the nearest problem in the pool, adding the card to it, and looking for overlap with as many benchmark items. Two kinds
of problems: `templates`, short problems of the six families of the `tiny` profile, which all look alike (the hard case for an index), and
`prose`, word problems of 40 to 90 tokens. CPU time, the best of five passes over the cards. The last line is JSON:
`growth` is the largest ratio of the time per card at 10^5 to that at 10^3, which must stay below 2.
"""

import argparse
import json
import random
import resource
import time
from collections.abc import Callable, Iterator

from selfevolve import families
from selfevolve.synco import contamination, redundancy

SIZES = (1_000, 10_000, 100_000)
LIMIT = 2.0
PASSES = 5

NAMES = (
    "Amara",
    "Ben",
    "Chen",
    "Dalia",
    "Erik",
    "Fatima",
    "Goran",
    "Hana",
    "Ivan",
    "Jo",
    "Kofi",
    "Lena",
    "Mats",
    "Nadia",
    "Omar",
)
THINGS = (
    "apples",
    "bottles",
    "candles",
    "drums",
    "flags",
    "gloves",
    "hats",
    "jars",
    "kites",
    "lamps",
    "oranges",
    "pencils",
    "shells",
)
PLACES = ("market", "library", "harbour", "factory", "museum", "orchard", "school", "station", "theatre", "warehouse", "bakery")
SENTENCES = (
    "{n} carries {a} {t} from the {p} to the {q} and drops {b} of them on the way.",
    "On Monday the {p} receives {a} crates with {b} {t} in each of them.",
    "{n} sells {a} {t} for {b} dollars each and spends {c} dollars at the {p}.",
    "Every week {a} of the {t} at the {p} are replaced by {b} new ones.",
    "A worker at the {p} packs {a} {t} in an hour, and {n} packs {b} fewer.",
    "{n} divides {a} {t} equally among {b} visitors of the {p} and keeps the rest.",
    "The distance between the {p} and the {q} is {a} kilometres, and {n} has walked {b} of them.",
    "After a discount of {a} percent the {t} cost {b} dollars at the {p}.",
    "There are {a} times as many {t} at the {q} as there are at the {p}, where {n} counted {b}.",
    "{n} borrows {a} {t}, returns {b}, and then borrows {c} more from the {q}.",
)
QUESTIONS = (
    "How many {t} are left at the {p} in the end?",
    "What is the total number of {t} that {n} has now?",
    "How many dollars does {n} have after all of this?",
    "What fraction of the {t} is still at the {q}?",
)


def templates(rng: random.Random) -> Iterator[str]:
    while True:
        yield families.generate(rng, rng.choice(families.SKILLS), rng.choice(families.LEVELS)).text


def prose(rng: random.Random) -> Iterator[str]:
    while True:
        parts = [*rng.sample(SENTENCES, rng.randint(3, 5)), rng.choice(QUESTIONS)]
        words = {"n": rng.choice(NAMES), "t": rng.choice(THINGS), "p": rng.choice(PLACES), "q": rng.choice(PLACES)}
        yield " ".join(part.format(**words, **{key: rng.randint(2, 500) for key in "abc"}) for part in parts)


def cpu_us(check: Callable[[str], object], problems: list[str]) -> float:
    """CPU microseconds per problem."""
    start = time.process_time()
    for problem in problems:
        check(problem)
    return 1e6 * (time.process_time() - start) / len(problems)


def measure(source: Iterator[str], size: int, cards: int) -> dict[str, float]:
    """Microseconds per card of each check with `size` problems in the pool and in the index of benchmark items."""
    known = [next(source) for _ in range(size)]
    recent, index = redundancy.RecentPool(size), contamination.ContaminationIndex(known)
    for problem in known:
        recent.add(problem)

    def near_duplicate(problem: str) -> None:
        recent.nearest(problem)
        recent.add(problem)

    best: dict[str, float] = {}
    for _ in range(PASSES):
        new = [next(source) for _ in range(cards)]
        found = {"near-duplicate": cpu_us(near_duplicate, new), "contamination": cpu_us(index.overlap, new)}
        best = {name: min(found[name], best.get(name, found[name])) for name in found}
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cards", type=int, default=500, help="new cards per pass")
    cards = parser.parse_args().cards
    table: dict[str, dict[str, list[float]]] = {}
    print(f"{'problems':12}{'check':18}" + "".join(f"{size:>12,}" for size in SIZES) + f"{'growth':>10}   (us per card, CPU)")
    for source in (templates, prose):
        found = [measure(source(random.Random(0)), size, cards) for size in SIZES]
        for check in found[0]:
            times = [times[check] for times in found]
            table.setdefault(source.__name__, {})[check] = [round(value, 1) for value in times]
            print(
                f"{source.__name__:12}{check:18}" + "".join(f"{value:12.0f}" for value in times) + f"{times[-1] / times[0]:10.2f}"
            )
    growth = max(times[-1] / times[0] for checks in table.values() for times in checks.values())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps(
            {
                "sizes": SIZES,
                "us_per_card": table,
                "growth": round(growth, 2),
                "below_2": growth < LIMIT,
                "peak_mib": round(memory),
            }
        )
    )


if __name__ == "__main__":
    main()
