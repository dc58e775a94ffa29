"""The variability paper's three cases on this machine: `make reproduce PAPER=variability` (root, two CPUs).

The paper traces memcached and Apache, finds the stage with the most variance, and changes the setting that it
points to. Here each change is compared with the present state in interleaved rounds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from reproduce.commands import run

HERE = Path(__file__).parent
APART = "--server-cpus 0 --client-cpus 1 --clients 1"
"""With few cores, the server's background work delays its requests."""


def batching(common: str, out: Path) -> None:
    """Section 6: an interval batches the requests of memcached better than Nagle's algorithm."""
    run(
        f"compare memcached --batch auto --rate 60k --connections 2 {APART} {common} --out {out / 'batching'}"
    )


def lru(common: str, out: Path) -> None:
    """Section 7: memcached's LRU maintainer on few cores, with more data than memory.

    It is on, off, or at a lower priority than the workers; and a setting that should have no effect.
    """
    load = f"--rate 20k --workload {HERE / 'evictions.json'} {APART}"
    target = "'memcached?memory_mib=16'"
    run(f"measure {target} {load} --duration 2s --runs 2 --remake 0 --trace --quiet --out {out / 'traced'}")
    levels = {
        "lru-off": 'argument = "-o no_lru_maintainer" = off,on',
        "lru-behind": 'schedule = "mc-lrumaint" = found,nice:19',
        "lru-wrong-setting": "pinning = true = free,each",
    }
    for name, setting in levels.items():
        run(f"compare {target} {load} {common} --out {out / name}", "--set", setting)


def pinning(common: str, out: Path) -> None:
    """Section 8: each Apache process's threads pinned to one CPU, with many threads and with few."""
    for workers in (25, 5):
        line = f"compare 'apache?workers={workers}' --rate 2k --clients 1 --connections 4 {common}"
        run(f"{line} --out {out / f'pinning-{workers}'}", "--set", "pinning = true = free,process")


CASES = {"batching": batching, "lru": lru, "pinning": pinning}

if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m reproduce.variability", description=__doc__)
    options.add_argument("cases", nargs="*", default=list(CASES), help=f"some of {', '.join(CASES)}")
    options.add_argument("--pairs", type=int, default=8, help="rounds of each comparison")
    options.add_argument("--duration", default="2s", help="length of a run")
    options.add_argument("--remake", default="0", help="share of rounds to repeat because of interference")
    options.add_argument("--out", type=Path, default=Path("variability"), help="folder of the studies")
    asked = options.parse_args()
    asked.out.mkdir(exist_ok=True)
    rounds = f"--pairs {asked.pairs} --duration {asked.duration} --remake {asked.remake}"
    for case in asked.cases:
        CASES[case](f"{rounds} --warmup 500ms --quiet", asked.out)
