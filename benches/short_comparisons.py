"""Comparisons of short runs under interference: false alarms, and the time to find a service 10 % slower.

``python -m benches.short_comparisons --repeats 3``: real servers that take exponential service times, and on
both CPUs an interferer at real-time priority that takes 1, 5 or 10 % of the time for random spells
(`tests/shared/interferer.py`). Each repeat compares a service with itself, and with one that takes 10 %
longer, until ``hindmost compare --live`` has decided. A row of the table takes about 6 minutes per repeat.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from interferer import interferer

import hindmost
from hindmost import MeasureRequest, Study
from hindmost.commands.compare.targets import answer
from hindmost.commands.compare.targets.decision import deciding_contrasts

SERVICE = 'synth?service={"kind": "exponential", "mean_us": %.1f}'
LONGEST_S = 1_200.0
"""Interferers end after this time, if nothing else ends them."""


@dataclass(frozen=True)
class Result:
    """A finished comparison.

    ``found_s``: the time until the first look at which each percentile was different. ``counted``: rounds
    that count, of those made.
    """

    seconds: float
    rounds: int
    counted: int
    differ: bool
    decided_on: str
    found_s: dict[str, float]


def compare_services(
    folder: Path,
    microseconds: tuple[float, float],
    cpus: Sequence[int],
    share: float,
    asked: argparse.Namespace,
) -> Result:
    """Compare two services while interferers take a share of these CPUs."""
    targets = [SERVICE % mean for mean in microseconds]
    began = time.monotonic()
    with ExitStack() as stack:
        for place, cpu in enumerate(cpus):
            stack.enter_context(
                interferer(cpu, share, asked.spell_ms, until_s=LONGEST_S, seed=asked.seed + place)
            )
        hindmost.compare(
            *targets, live=True, out=folder, rate=asked.rate, quantiles=asked.quantiles, seed=asked.seed
        )
    seconds = time.monotonic() - began
    study = Study.open(folder)
    document = answer(study)
    (arm,) = document.against
    rounds = len(list(folder.glob("1/runs/*/run.json")))
    counted = rounds - len(document.left_out)
    found_s: dict[str, float] = {}
    for look in (*(look for look in document.looks if look < counted), counted):
        for name, contrast in deciding_contrasts(answer(study, look).against[0]).items():
            if contrast.word in ("slower", "faster"):
                found_s.setdefault(name, seconds * look / max(counted, 1))
    if arm.decided_on == "latency":
        print(f"no isolated latency: {'; '.join(one.text for one in document.reasons)}", file=sys.stderr)
    return Result(seconds, rounds, counted, arm.verdict == "different", arm.decided_on, found_s)


def print_row(share: float, alike: Sequence[Result], slower: Sequence[Result], names: Sequence[str]) -> None:
    """Print the row of a share of interference."""
    everything = [*alike, *slower]
    counted = f"{sum(one.counted for one in everything)} of {sum(one.rounds for one in everything)}"
    isolated = sum(one.decided_on == "isolated" for one in everything)
    cells = [
        f"{share:.0%}",
        counted,
        f"{isolated} of {len(everything)}",
        f"{sum(one.differ for one in alike)} of {len(alike)}",
        f"{statistics.median(one.seconds for one in alike):.0f} s",
    ]
    for name in names:
        times = [one.found_s[name] for one in slower if name in one.found_s]
        longest = f", {statistics.median(times):.0f} s, at most {max(times):.0f} s" if times else ""
        cells.append(f"{len(times)} of {len(slower)}{longest}")
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Parse the options and run."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rate", default="5k")
    options.add_argument("--mean-us", type=float, default=60.0)
    options.add_argument("--slower", type=float, default=0.1, help="as a share of the service time")
    options.add_argument("--shares", default="1,5,10", help="interference, in percent; 0 for none")
    options.add_argument("--spell-ms", type=float, default=3.0)
    options.add_argument("--quantiles", default="50,99")
    options.add_argument("--repeats", type=int, default=1)
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    plan = MeasureRequest(target="synth", rate=asked.rate, quantiles=asked.quantiles).plan()
    cpus = (plan.server_cpus[0], plan.client_cpus[0][0])
    heads = [
        "interference",
        "rounds that count",
        "decided on isolated latency",
        "false alarms",
        "equal services",
    ]
    heads += [f"{name} found" for name in plan.labels]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    means = {"alike": (asked.mean_us,) * 2, "slower": (asked.mean_us, (1.0 + asked.slower) * asked.mean_us)}
    for share in (float(one) / 100.0 for one in asked.shares.split(",")):
        rows: dict[str, list[Result]] = {name: [] for name in means}
        for repeat in range(asked.repeats):
            asked.seed += 1_000
            for name, pair in means.items():
                with tempfile.TemporaryDirectory() as folder:
                    place = Path(folder) / f"{name}-{repeat}"
                    rows[name].append(compare_services(place, pair, cpus if share else (), share, asked))
        print_row(share, rows["alike"], rows["slower"], plan.labels)


if __name__ == "__main__":
    main()
