"""Series of block quantiles with a known dependence, and how often detectors raise false alarms on them.

``python tests/stats/alarm_worlds.py --weeks 10`` prints the table of docs/studies/coverage.md. The series have the
shapes of NAB's recordings (lag-1 autocorrelation per second of 0.2 to 0.97, daily rhythms, heavy tails), and a known
truth: nothing ever happens in them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.stats.series.changes import (
    DAY_S,
    EPISODE_BLOCKS,
    TAIL_BLOCKS,
    Change,
    Detector,
    block_multiple,
    interval_by_blocks,
    paper_mode,
)

Series = NDArray[np.float64]
BLOCK_S = 30.0
SECONDS = 30
WEEK_BLOCKS = 7 * 24 * 120
BASELINE = 123
SIGMAS = 3.0


def ar1(rng: np.random.Generator, blocks: int, rho: float, requests: int = 20, sigma: float = 0.3) -> Series:
    """p99 of blocks whose level is AR(1) by the second; requests are exponential."""
    from scipy.signal import lfilter

    noise = rng.normal(size=blocks * SECONDS) * sigma * np.sqrt(1 - rho**2)
    level = lfilter([1.0], [1.0, -rho], noise)
    latency = rng.exponential(size=(blocks * SECONDS, requests)) * np.exp(level)[:, None]
    return np.asarray(np.quantile(latency.reshape(blocks, -1), 0.99, axis=1))


def queue(rng: np.random.Generator, blocks: int, load: float, rate: int = 50) -> Series:
    """p99 of sojourn times of an M/M/1 queue, simulated day by day without the state of the previous day."""
    parts = []
    for begin in range(0, blocks, 2880):
        some = min(2880, blocks - begin)
        n = some * SECONDS * rate
        service, gaps = rng.exponential(size=n) * load / rate, rng.exponential(size=n) / rate
        steps = np.concatenate([[0.0], np.cumsum(service[:-1] - gaps[1:])])
        sojourn = steps - np.minimum.accumulate(steps) + service
        parts.append(np.quantile(sojourn.reshape(some, -1), 0.99, axis=1))
    return np.concatenate(parts)


def daily(rng: np.random.Generator, blocks: int) -> Series:
    """Independent blocks whose level varies by a half over the day."""
    phase = np.arange(blocks) * BLOCK_S / DAY_S * 2 * np.pi
    return ar1(rng, blocks, 0.0) * np.exp(0.25 * np.sin(phase))


def heavy(rng: np.random.Generator, blocks: int) -> Series:
    """Lognormal blocks: a factor of 1.65 is one standard deviation."""
    return np.asarray(rng.lognormal(0.0, 0.5, size=blocks))


WORLDS: dict[str, Callable[[np.random.Generator, int], Series]] = {
    "independent": lambda rng, n: ar1(rng, n, 0.0),
    "rho 0.2": lambda rng, n: ar1(rng, n, 0.2),
    "rho 0.6": lambda rng, n: ar1(rng, n, 0.6),
    "rho 0.9": lambda rng, n: ar1(rng, n, 0.9),
    "rho 0.97": lambda rng, n: ar1(rng, n, 0.97),
    "queue at 70 %": lambda rng, n: queue(rng, n, 0.7),
    "queue at 90 %": lambda rng, n: queue(rng, n, 0.9),
    "daily rhythm": daily,
    "lognormal": heavy,
}


def our_detector(values: Series, alarms_a_week: float, history: int = TAIL_BLOCKS) -> tuple[float, int]:
    """Alarms a week of the detector as `hindmost watch show` uses it, and the number of blocks that it merged.

    An alarm lasts until latency is back, and is counted once.
    """
    multiple = block_multiple(values[:history]) or 8
    whole = len(values) // multiple
    # The maximum of the blocks stands for the quantile of the merged block: as correlated, and never lower.
    merged = values[: whole * multiple].reshape(whole, multiple).max(axis=1)
    times_s = np.arange(whole) * BLOCK_S * multiple
    detector = Detector(block_s=BLOCK_S * multiple, alarms_a_week=alarms_a_week, least_ratio=1.0)
    alarms, blocks_judged = 0, 0
    # Process as much at a time as a detector follows, with the history that it uses.
    for begin in range(0, whole, EPISODE_BLOCKS):
        part = slice(max(0, begin - TAIL_BLOCKS), begin + EPISODE_BLOCKS)
        kinds = [change.kind for change in detector.follow(times_s[part], merged[part])]
        kinds = kinds[-(len(times_s[begin : part.stop])) :]
        alarms += sum(now == "anomaly" != before for before, now in pairwise(["none", *kinds]))
        blocks_judged += len(kinds)
    return alarms / blocks_judged * WEEK_BLOCKS / multiple, multiple


QUIET_MIN = (15, 30, 60)
STEPS = (3.0, 10.0, 30.0, 150.0, 1000.0)


def step(name: str, quiet_min: float, ratio: float, seed: int, blocks: int = 8) -> list[Change]:
    """Answers after each block of a step that follows some quiet minutes."""
    quiet = int(quiet_min * 60 / BLOCK_S)
    values = WORLDS[name](np.random.default_rng(seed), quiet + blocks).copy()
    values[quiet:] *= ratio
    return list(Detector().follow(np.arange(len(values)) * BLOCK_S, values))[-blocks:]


def steps(name: str, trials: int) -> str:
    """Shares called / undecided / unchanged within two minutes of a step, by quiet minutes and size."""
    rows = []
    for quiet in QUIET_MIN:
        cells = []
        for ratio in STEPS:
            first = [{change.kind for change in step(name, quiet, ratio, seed)[:4]} for seed in range(trials)]
            called = sum("anomaly" in kinds for kinds in first) / trials
            undecided = sum("anomaly" not in kinds and "undecided" in kinds for kinds in first) / trials
            cells.append(f"{called:.2f} / {undecided:.2f} / {1 - called - undecided:.2f}")
        rows.append(f"| {name} | {quiet} min | {' | '.join(cells)} |")
    return "\n".join(rows)


def other_detectors(values: Series) -> dict[str, float]:
    """Alarms a week of equation 6.1, of n-sigma and of a change score as BARO's, each block against 120 before it."""
    count = {"Eq 6.1": 0, "3 sigma": 0, "change score > 3": 0}
    judged = range(BASELINE, len(values), 7)
    for end in judged:
        before, now = values[end - BASELINE : end - 3], values[end - 1 : end]
        count["Eq 6.1"] += paper_mode(before, now)
        count["3 sigma"] += float(now[0] - before.mean()) > SIGMAS * float(before.std())
        low, middle, high = np.quantile(before, [0.25, 0.5, 0.75])
        count["change score > 3"] += float(now[0] - middle) > 3.0 * float(high - low)
    return {name: hits / len(judged) * WEEK_BLOCKS for name, hits in count.items()}


def coverage(values: Series, step: int = 41) -> tuple[float, float]:
    """Share of t intervals and of block bootstrap intervals that contain the true ratio of 1."""
    by_t, by_blocks, trials = 0, 0, 0
    times_s = np.arange(len(values)) * BLOCK_S
    for end in range(BASELINE, len(values), step):
        part = values[end - BASELINE : end]
        change = Detector().judge(times_s[:BASELINE], part)
        low, high = interval_by_blocks(part, seed=end)
        by_t += change.low <= 1.0 <= change.high
        by_blocks += low <= 1.0 <= high
        trials += 1
    return by_t / trials, by_blocks / trials


def row(name: str, weeks: float, seed: int) -> str:
    """One world's row of the table."""
    rng = np.random.default_rng(seed)
    alarms, multiple = 0.0, 1
    compared = dict.fromkeys(("Eq 6.1", "3 sigma", "change score > 3"), 0.0)
    covered = []
    parts = max(1, round(weeks))
    for _ in range(parts):
        values = WORLDS[name](rng, WEEK_BLOCKS)
        rate, multiple = our_detector(values, 1.0)
        alarms += rate
        for other, other_rate in other_detectors(values).items():
            compared[other] += other_rate
        covered.append(coverage(values))
    by_t, by_blocks = np.mean(covered, axis=0)
    figures = " | ".join(f"{rate / parts:.0f}" for rate in compared.values())
    return f"| {name} | {30 * multiple} s | {alarms / parts:.2f} | {figures} | {by_t:.3f} | {by_blocks:.3f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--weeks", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--steps", type=int, metavar="TRIALS", help="print the table of steps instead")
    options = parser.parse_args()
    if options.steps:
        sizes = " | ".join(f"x{ratio:g}" for ratio in STEPS)
        sys.stdout.write(f"| world | quiet | {sizes} |\n| --- | --- |{' --- |' * len(STEPS)}\n")
        for name in WORLDS:
            sys.stdout.write(f"{steps(name, options.steps)}\n")
            sys.stdout.flush()
        return
    sys.stdout.write(
        "| world | blocks | ours, 1 asked | Eq 6.1 | 3 sigma | change score > 3 | t interval | block bootstrap |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
    )
    with ProcessPoolExecutor(2) as pool:
        for line in pool.map(row, WORLDS, [options.weeks] * len(WORLDS), [options.seed] * len(WORLDS)):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
