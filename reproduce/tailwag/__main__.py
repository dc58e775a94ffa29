"""TailWAG's applications and case studies, simulated: `make reproduce PAPER=tailwag`.

Each case prints a table and leaves a page with latency against load in the folder `tailwag`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from reproduce.commands import run
from reproduce.tailwag.applications import print_table

HERE = Path(__file__).parent
PAGES = Path("tailwag")


def sweep(clone: str | Path, page: str, line: str, *vary: str) -> int:
    """Predict designs of a clone side by side. `vary` has what differs between them, one value per design."""
    words = [f"--vary={one}" for one in vary]
    return run(f"clone sweep {clone} --together --out {PAGES / page} {line}", *words)


def dnn_evolution() -> int:
    """Section 5.1: a model that is 1.46 times as heavy, and hardware that is 1.7 or 70 times as fast.

    The paper states 320 and 7.75 µs; 395 µs / 1.7 is 232 µs, 395 µs / 70 is 5.6 µs.
    """
    loads = "--requests 200000 --utilisation 20%,50%,70%"
    names = "name=heavier x1.46,as it is,1.7 times as fast,70 times as fast"
    one = sweep("img-dnn", "dnn-evolution.html", loads, names, f"service_factor=1.46,1,{1 / 1.7},{1 / 70}")
    names = "name=4 threads,4 threads 1.7 times as fast,4 threads 70 times as fast"
    factors = f"service_factor=1,{1 / 1.7},{1 / 70}"
    return one or sweep("img-dnn", "dnn-evolution-4.html", loads, "threads=4", names, factors)


def interrupts() -> int:
    """Section 5.2: interrupts on a core of their own, on the server's, on none, or on an accelerator."""
    return sweep(
        HERE / "silo-interrupts.toml",
        "interrupts.html",
        "--requests 500000 --rate 20k..140k:7",
        "name=SEP,MIX,IDEAL,accelerator",
        "threads=3,4,4,4",
        "disturbances[0].when.probability=0,0.1,0,0.1",
        "disturbances[1].when.probability=0,0.02,0,0.02",
        "disturbances[0].length.median_us=10,10,10,0.5",
        "disturbances[1].length.median_us=10,10,10,0.5",
    )


def garbage_collectors() -> int:
    """Section 5.3: parallel (50 ms every 10 s), and concurrent (10 % more service, 1 ms every 10 s).

    Three million requests see at least ten collections.
    """
    return sweep(
        HERE / "specjbb-collector.toml",
        "garbage-collectors.html",
        "--requests 3000000 --rate 5k..30k:6",
        "name=parallel,concurrent,none",
        "disturbances[0].length.us=50000,1000,0",
        "service_factor=1,1.1,1",
    )


if __name__ == "__main__":
    PAGES.mkdir(exist_ok=True)
    print_table()
    sys.exit(dnn_evolution() or interrupts() or garbage_collectors())
