"""Speed of decisions by history: ``python benches/harvest.py``.

Traces of 1,000 tenants over a month in two-minute slots (a quarter each: daily wave, nearly constant, random
walk, noise) are classified; NumPy's time for the Fourier transforms of the same rows is the comparison.
Replicas are placed by the grid, compared with a plain Python loop that draws until three environments differ,
without grid and space. Then each simulator runs. Contenders alternate; figures are medians [minimum, maximum]
of wall-clock seconds.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

import numpy as np

from hindmost.commands.harvest.classes import Settings, classify
from hindmost.commands.harvest.decisions import place
from hindmost.commands.harvest.reading import Tenant, Traces
from hindmost.commands.harvest.simulation import simulate

SLOT_S, DAYS = 120.0, 31
SLOTS = int(DAYS * 86_400 / SLOT_S)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tenants", type=int, default=1000)
    asked = parser.parse_args()
    traces = month(asked.tenants)
    print(f"{asked.tenants} tenants of {SLOTS} slots; {asked.rounds} rounds, median [least, most]")
    compare(
        asked.rounds,
        {
            "NumPy's transforms only, whole and halves": lambda: transforms(traces.cpu),
            "classes, including stability": lambda: classify(traces),
            "classes, no stability": lambda: classify(traces, Settings(stability=False)),
        },
    )
    classes = classify(traces, Settings(stability=False))
    blocks = 100_000
    print(f"\n{blocks} blocks of three replicas, including the answer as JSON")
    compare(
        asked.rounds,
        {
            "three environments, plain Python": lambda: draw_servers(traces.tenants, blocks),
            "the grid": lambda: place(classes, blocks),
        },
    )
    print("\nsimulators")
    compare(
        asked.rounds,
        {
            "durability, 400,000 blocks, stock": lambda: simulate("durability", policy="stock"),
            "durability, 400,000 blocks, cost-aware grid": lambda: simulate("durability", policy="cost"),
            "hazard, 100,000 blocks": lambda: simulate("hazard"),
            "availability, 20,000 blocks, a week": lambda: simulate("availability"),
            "scheduling, 500 servers, 3 days": lambda: simulate("scheduling"),
        },
        ratios=False,
    )
    return 0


def month(tenants: int) -> Traces:
    """Create tenants of three servers, three per environment."""
    draws = np.random.default_rng(1)
    days = np.arange(SLOTS) * SLOT_S / 86_400
    noise = draws.uniform(-0.5, 0.5, (tenants, SLOTS))
    kinds = (
        lambda own: 0.4 + 0.2 * np.sin(2 * np.pi * days) + 0.1 * own,
        lambda own: 0.3 + 0.05 * own,
        lambda own: 0.05 + 0.9 * np.abs(0.02 * np.cumsum(own) % 2 - 1),
        lambda own: 0.5 + 0.4 * own,
    )
    cpu = np.stack([kinds[at % 4](own) for at, own in enumerate(noise)])
    owners = [
        Tenant(f"t{at}", f"e{at // 3}", [f"t{at}-{k}" for k in range(3)], at * 7 % 50 / 50, 3.0)
        for at in range(tenants)
    ]
    return Traces(owners, cpu, SLOT_S)


def transforms(cpu: np.ndarray) -> None:
    """Compute the transforms that any classification by spectrum needs, on one CPU."""
    half = cpu.shape[1] // 2
    for rows in (cpu, cpu[:, :half], cpu[:, half:]):
        np.abs(np.fft.rfft(rows - rows.mean(axis=1, keepdims=True))) ** 2


def draw_servers(tenants: list[Tenant], blocks: int) -> list[list[str]]:
    """Draw three servers of three environments, without other rules."""
    draws = random.Random(1)
    owned = [(server, one.environment) for one in tenants for server in one.servers]
    found = []
    for _ in range(blocks):
        block: dict[str, str] = {}
        while len(block) < 3:
            server, environment = draws.choice(owned)
            block.setdefault(environment, server)
        found.append(list(block.values()))
    return found


def compare(rounds: int, contenders: dict[str, Callable[[], object]], *, ratios: bool = True) -> None:
    """Print the time of each contender, and its ratio to the first if they do the same work."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            begun = time.perf_counter()
            call()
            taken[name].append(time.perf_counter() - begun)
    first = next(iter(taken.values()))
    for name, own in taken.items():
        ratio = statistics.median(a / b for a, b in zip(own, first, strict=True))
        said = f"{statistics.median(own):8.3f} s [{min(own):.3f}, {max(own):.3f}]"
        print(f"  {name:<46} {said}" + (f"  x {ratio:.2f}" if ratios else ""))


if __name__ == "__main__":
    raise SystemExit(main())
