"""Makes Treadmill's figures with a server of this machine: `make reproduce PAPER=treadmill`."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hindmost
from hindmost.core.store.measure import Measure

STUDY = Path(__file__).parents[2] / "examples/attribution/memcached.toml"
UTILISATION = {"low": 0.1, "high": 0.8}


def measure(target: str, name: str, **options: Any) -> Any:  # noqa: ANN401 (options of `hindmost.measure`)
    """Measure a target, and keep the study under `name`."""
    return hindmost.measure(target, out=name, frames="rows", progress=print, **options)


def find_capacity(target: str) -> float:
    """Return the requests per second that a closed loop reaches."""
    result = measure(target, "capacity", closed=True, connections=64, runs="3", duration="2s")
    return float(statistics.median(run["achieved_per_s"] for run in result.runs))


def outstanding_at(document: Measure, share: float) -> int:
    """Return how many requests are outstanding at this share of the arrivals."""
    total, found = 0.0, document.outstanding
    assert found is not None
    for count, part in sorted(zip(found.values, found.share, strict=True)):
        total += part
        if total >= share:
            return count
    return max(found.values)


def figure_1(target: str) -> None:
    """Outstanding requests of an open loop at 80 % load, and of closed loops with 4, 8 and 12 connections."""
    rate = UTILISATION["high"] * find_capacity(target)
    loops: dict[str, dict[str, Any]] = {"open": {"rate": rate, "connections": 64}}
    loops |= {f"closed, {n}": {"closed": True, "connections": n} for n in (4, 8, 12)}
    print("Figure 1: outstanding requests at the 50th, 95th and 99th percentile of arrivals")
    for name, options in loops.items():
        document = measure(target, f"figure-1-{name}", runs="5", duration="2s", **options).document
        print(name, *(outstanding_at(document, share) for share in (0.5, 0.95, 0.99)))


def figure_4(target: str) -> None:
    """Show how p99 of runs with a restarted server differs from its mean over runs."""
    result = measure(target, "figure-4", rate="20k", runs="20", duration="10s", remake=0)
    values = [run["p99_us"] for run in result.runs]
    mean = statistics.mean(values)
    apart = sorted(abs(value / mean - 1) for value in values)
    print(f"Figure 4: p99 of {len(values)} runs differs from the mean by {apart[0]:.0%} to {apart[-1]:.0%}")


def figures_5_and_6(target: str) -> None:
    """Show the distance between our service latency and a packet capture at 10 % and 80 % load."""
    capacity = find_capacity(target)
    for name, share in UTILISATION.items():
        options = {"rate": share * capacity, "verify_wire": True, "runs": "5", "duration": "5s"}
        found = measure(target, f"figure-5-{name}", **options).document.capture.service
        gaps = {label: gap.value for label, gap in found.gap_us.items()}
        print(f"Figures 5 and 6, {name} load: service latency minus capture, µs: {gaps}")


def table_4(target: str) -> None:
    """Show the effects of four factors on memcached (Figures 7 and 8, Table IV), and what they explain."""
    result = hindmost.attribute(STUDY, out="table-4", frames="rows", progress=print)
    print(result.table())
    for load in result.document.loads:
        for label, answer in load.quantiles.items():
            if (explained := answer.explained) and explained.pseudo_r2 is not None:
                known = f"{explained.pseudo_r2:.2f}, at most {explained.ceiling:.2f}"
                print(f"Figure 11: pseudo-R² of the runs' {label} at {load.name}: {known}")


FIGURES: dict[str, Callable[[str], None]] = {
    "1": figure_1,
    "4": figure_4,
    "5": figures_5_and_6,
    "table-4": table_4,
}

if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m reproduce.treadmill", description=__doc__)
    options.add_argument("figures", nargs="*", default=list(FIGURES), help=f"some of {', '.join(FIGURES)}")
    options.add_argument("--target", default="memcached", help="a preset, a target file or a URL")
    asked = options.parse_args()
    for figure in asked.figures:
        FIGURES[figure](asked.target)
