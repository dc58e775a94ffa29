"""Speed of queue simulation, compared with general simulators: ``python benches/simulators.py``.

One M/M/1 queue at 70 % load, in the same run: our engine (histograms, intervals), SimPy, Ciw, and Lindley's
recursion in plain Python and in NumPy (mean only). Then a sweep of 1,000 design points. SimPy and Ciw are
included if installed (``pip install simpy ciw``).
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.parameters import Vary
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.commands.clone.sweep import sweep

ROUNDS = 5
MEAN_US, LOAD = 100.0, 0.7
EXPECTED_US = MEAN_US / (1 - LOAD)


def queue(**fields: object) -> Clone:
    law = {"kind": "exponential", "mean_us": MEAN_US}
    return Clone.from_document(
        {"schema": "hindmost.clone/1", "name": "M/M/1", "service": [{"law": law}], **fields}
    )


def engine(requests: int) -> float:
    points = [{"load": {"utilisation": LOAD}}]
    found = run_points(queue(), points, Design(requests=requests, warmup=0))[0].prediction
    return found.latency_us["mean"].value


def numpy_recursion(requests: int) -> float:
    random = np.random.default_rng(1)
    gaps, services = random.exponential(MEAN_US / LOAD, requests), random.exponential(MEAN_US, requests)
    walk = np.concatenate(([0.0], np.cumsum(services[:-1] - gaps[1:])))
    waits = walk - np.minimum.accumulate(walk)
    return float((waits + services).mean())


def python_recursion(requests: int) -> float:
    import random

    drawn = random.Random(1)
    arrival = free = total = 0.0
    for _ in range(requests):
        arrival += drawn.expovariate(LOAD / MEAN_US)
        free = max(arrival, free) + drawn.expovariate(1 / MEAN_US)
        total += free - arrival
    return total / requests


def with_simpy(requests: int) -> float:
    import random

    import simpy

    drawn = random.Random(1)
    environment = simpy.Environment()
    server = simpy.Resource(environment, capacity=1)
    latencies: list[float] = []

    def request() -> Iterator[object]:
        arrived = environment.now
        with server.request() as turn:
            yield turn
            yield environment.timeout(drawn.expovariate(1 / MEAN_US))
        latencies.append(environment.now - arrived)

    def source() -> Iterator[object]:
        for _ in range(requests):
            yield environment.timeout(drawn.expovariate(LOAD / MEAN_US))
            environment.process(request())

    environment.process(source())
    environment.run()
    return statistics.fmean(latencies)


def with_ciw(requests: int) -> float:
    import ciw

    ciw.seed(1)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(LOAD / MEAN_US)],
        service_distributions=[ciw.dists.Exponential(1 / MEAN_US)],
        number_of_servers=[1],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(requests)
    return statistics.fmean(one.waiting_time + one.service_time for one in simulation.get_all_records())


PLAYERS: list[tuple[str, Callable[[int], float], int, str | None]] = [
    ("Hindmost", engine, 5_000_000, None),
    ("Lindley in NumPy", numpy_recursion, 5_000_000, None),
    ("Lindley in Python", python_recursion, 500_000, None),
    ("SimPy", with_simpy, 50_000, "simpy"),
    ("Ciw", with_ciw, 20_000, "ciw"),
]


def contest() -> None:
    print(f"M/M/1 at {LOAD:.0%} load, median of {ROUNDS} rounds; theory: {EXPECTED_US:.1f} us on average")
    print(f"{'':<20}{'requests/s':>14}{'range':>28}{'ratio':>9}{'mean found':>14}")
    players = [one for one in PLAYERS if one[3] is None or importlib.util.find_spec(one[3])]
    speeds: dict[str, list[float]] = {name: [] for name, *_ in players}
    found: dict[str, float] = {}
    for _ in range(ROUNDS):  # in alternation, so that a slow phase of the host affects all
        for name, play, requests, _module in players:
            began = time.perf_counter()
            found[name] = play(requests)
            speeds[name].append(requests / (time.perf_counter() - began))
    best = statistics.median(speeds["Hindmost"])
    for name, values in speeds.items():
        middle = statistics.median(values)
        span = f"{min(values):,.0f} to {max(values):,.0f}"
        print(f"{name:<20}{middle:>14,.0f}{span:>28}{best / middle:>8.3g}x{found[name]:>11.1f} us")


def many() -> None:
    shapes = {
        "one thread": queue(),
        "four threads, two locks": queue(
            threads=4,
            locks=[
                {"name": "receive", "hold": {"kind": "deterministic", "us": 5}, "spin_us": 10, "wake_us": 5},
                {"name": "send", "at": "after", "hold": {"kind": "deterministic", "us": 5}},
            ],
        ),
    }
    factors = tuple(float(one) for one in np.linspace(0.5, 2.0, 100))
    loads = [{"utilisation": float(one)} for one in np.linspace(0.1, 0.9, 10)]
    print("\n1,000 design points of 100,000 requests, on all cores")
    for name, clone in shapes.items():
        began = time.perf_counter()
        document = sweep(clone, [Vary("service_factor", factors)], loads, design=Design(requests=100_000))
        seconds = time.perf_counter() - began
        assert len(document.points) == 1_000
        print(f"{name:<26}{seconds:>8.1f} s{1.1e8 / seconds / 1e6:>10.1f} million requests/s")


if __name__ == "__main__":
    contest()
    many()
    sys.exit(0)
