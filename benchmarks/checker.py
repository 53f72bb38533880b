"""Checker against Math-Verify, side by side in one run: pairs per CPU second, and scaling over two processes.

    python benchmarks/checker.py [--shared ../shared]

Pairs: GSM8K + MATH-500 golds, boxed, each against itself and against the next. Both judges see the same strings; Math-
Verify gets boxed golds (bare ones it often cannot parse) and no time-outs (its signals cost time). Our caches are
emptied before every pass, so a repeated gold of another pass is read afresh; CPU seconds include worker processes.
"""

import argparse
import json
import logging
import multiprocessing
import resource
import time
from collections.abc import Callable
from pathlib import Path

from math_verify import parse, verify

from selfevolve.checker import check, check_batch, evaluate, reading, workers

Pair = tuple[str, str]


def load(shared: Path) -> dict[str, list[Pair]]:
    """{"gold vs gold": pairs, "gold vs next gold": pairs} of (text, reference)."""
    same: list[Pair] = []
    following: list[Pair] = []
    for name in ("gsm8k", "math500"):
        lines = (shared / "benchmarks" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        golds = [json.loads(line)["answer"] for line in lines]
        same += [(f"\\boxed{{{gold}}}", gold) for gold in golds]
        following += [(f"\\boxed{{{other}}}", gold) for gold, other in zip(golds, golds[1:] + golds[:1], strict=True)]
    return {"gold vs gold": same, "gold vs next gold": following}


def cpu_s() -> float:
    """CPU seconds of this process and its ended children."""
    return sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime for who in (0, -1))


def forget() -> None:
    reading._read_cached.cache_clear()
    evaluate.digest.cache_clear()


def rate(judge: Callable[[list[Pair]], int], pairs: list[Pair], passes: int) -> tuple[float, int]:
    """(pairs per CPU second, pairs judged equal in the last pass)."""
    start = cpu_s()
    for _ in range(passes):
        forget()
        equal = judge(pairs)
    workers.close()  # their CPU time counts once they have ended
    return passes * len(pairs) / (cpu_s() - start), equal


def ours(pairs: list[Pair]) -> int:
    return sum(verdict.correct is True for verdict in check_batch(pairs))


def math_verify(pairs: list[Pair]) -> int:
    equal = 0
    for text, reference in pairs:
        gold = parse(f"\\boxed{{{reference}}}", parsing_timeout=None)
        equal += verify(gold, parse(text, parsing_timeout=None), timeout_seconds=None)
    return equal


def _work(pairs: list[Pair], passes: int, ready, go, done) -> None:
    ours(pairs[:50])
    ready.put(1)
    go.wait()
    start = time.process_time()
    for _ in range(passes):
        forget()
        ours(pairs)
    done.put(time.process_time() - start)


def scaling(pairs: list[Pair], passes: int) -> None:
    """Wall time of the same work per process with one and with two processes."""
    context = multiprocessing.get_context("spawn")
    rates = {}
    for count in (1, 2):
        ready, done, go = context.Queue(), context.Queue(), context.Event()
        processes = [context.Process(target=_work, args=(pairs, passes, ready, go, done)) for _ in range(count)]
        for process in processes:
            process.start()
        for _ in processes:
            ready.get()
        start = time.perf_counter()
        go.set()
        cpu = sum(done.get() for _ in processes)
        wall = time.perf_counter() - start
        for process in processes:
            process.join()
        rates[count] = count * passes * len(pairs) / wall
        per_cpu = count * passes * len(pairs) / cpu
        print(f"  {count} process(es): {rates[count]:10,.0f} pairs per wall second, {per_cpu:10,.0f} per CPU second")
    print(f"  two processes do {rates[2] / rates[1]:.2f} times the work of one in the same wall time (idle cores needed)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[2] / "shared")
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    sets = load(parser.parse_args().shared)
    print(f"{'pairs':20}{'judge':14}{'pairs/CPU s':>12}{'equal':>8}{'ratio':>8}")
    for name, pairs in sets.items():
        theirs, their_equal = rate(math_verify, pairs, 1)
        mine, my_equal = rate(ours, pairs, 10)
        print(f"{name:20}{'Math-Verify':14}{theirs:12,.0f}{their_equal:8}")
        print(f"{name:20}{'selfevolve':14}{mine:12,.0f}{my_equal:8}{mine / theirs:8.1f}")
    print("scaling over processes, all pairs:")
    scaling([pair for pairs in sets.values() for pair in pairs], 10)
    rollouts = [("12+5=17; 17-3=14 \\boxed{14}", "14"), ("Answer 14", "14"), ("first 17, then 17-3=14", "14")]
    for text, reference in rollouts:
        start = time.process_time()
        for _ in range(20_000):
            check(text, reference)
        print(f"one pair, {text!r}: {(time.process_time() - start) / 20_000 * 1e6:.1f} us")


if __name__ == "__main__":
    main()
