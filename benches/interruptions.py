"""Isolated latency compared with the truth: an undisturbed server alternates with one that suffers
interference.

``python -m benches.interruptions memcached --cpu server --shares 2,5,10``: a real-time spinner takes a CPU
for random spells, which it records (`tests/shared/interferer.py`). Printed: raw and isolated latency
relative to the undisturbed server, medians over runs, and how many spells were detected. With ``--costs``
there is no interference: it measures what the sentinel, and a trace of ``sched_switch``, cost the server,
alternating with neither. ``--usual``: a sentinel without real-time priority.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from interferer import HostInterference, interferer

from benches.switches import turns
from hindmost import MeasurePlan, MeasureRequest
from hindmost.core.fleet import Moment
from hindmost.core.run.companions import sentinel
from hindmost.core.run.figure_cache import run_figures
from hindmost.core.run.figures import RunFigures
from hindmost.core.run.isolated.interruptions import Interference, find_interference
from hindmost.core.run.making import make_run
from hindmost.core.store import Study
from hindmost.core.targets import parse_target

QUANTILES = ("p50", "p95", "p99")


def plan_of(target: str, rate: str, seconds: float) -> MeasurePlan:
    """Return a plan with one client and one server, each on its own CPU."""
    return MeasureRequest(
        target=target, rate=rate, duration=f"{seconds}s", warmup="1s", quantiles="50,95,99", stamps="off"
    ).plan()


def run_with_interference(
    study: Study, number: int, plan: MeasurePlan, cpu: int, share: float, spell_ms: float
) -> tuple[RunFigures, HostInterference]:
    """Make one run, with interference for `share` of its time, or without any."""
    at_work: list[Any] = []
    interference = HostInterference()
    seconds = plan.duration_s + plan.calibration_s + 1.5

    def begin_spells(moment: Moment) -> None:
        if moment.phase == "measure" and share and not at_work:
            at_work.append(interferer(cpu, share, spell_ms, until_s=seconds, seed=number))
            at_work.append(at_work[0].__enter__())

    try:
        make_run(study, number, plan, parse_target(plan.target), look=begin_spells)
    finally:
        if at_work:
            at_work[0].__exit__(None, None, None)
            interference = at_work[1]
    return run_figures(study.runs()[-1], plan), interference


def match_spells(
    run: RunFigures, plan: MeasurePlan, interference: HostInterference
) -> tuple[int, int, int, int, float]:
    """Return spells in the measurement; detected ones; spans, and those without a spell; longest undetected
    spell."""
    results = [one.result for one in run.clients]
    known = find_interference(run.record, results, plan)
    assert isinstance(known, Interference), known
    zero = results[0].measured_from_ns
    on, off = (np.array([span[i] for span in interference.spans]) - zero for i in (0, 1))
    inside = (on > 0) & (off < int(plan.duration_s * 1e9))
    on, off = on[inside], off[inside]
    a, b = known.interruptions.on, known.interruptions.off
    found = [bool(((a < y) & (b > x)).any()) for x, y in zip(on, off, strict=True)]
    foreign = [not ((on < y) & (off > x)).any() for x, y in zip(a, b, strict=True)]
    missed = (off - on)[~np.array(found, dtype=bool)] if len(on) else np.empty(0)
    return len(on), sum(found), len(a), sum(foreign), float(missed.max(initial=0)) / 1e3


def compare(
    target: str, rate: str, which: str, shares: Sequence[float], pairs: int, seconds: float, spell_ms: float
) -> None:
    """Print one row per share."""
    plan = plan_of(target, rate, seconds)
    cpu = plan.server_cpus[0] if which == "server" else plan.client_cpus[0][0]
    with tempfile.TemporaryDirectory() as folder:
        study = Study.create(Path(folder) / "study", {"plan": plan.model_dump(mode="json"), "host": {}})
        rows: dict[float, list[RunFigures]] = {share: [] for share in (0.0, *shares)}
        interruptions: dict[float, list[tuple[int, int, int, int, float]]] = {share: [] for share in shares}
        number = 0
        for _ in range(pairs):
            for share in (0.0, *shares):
                number += 1
                run, interference = run_with_interference(study, number, plan, cpu, share, spell_ms)
                rows[share].append(run)
                if share:
                    interruptions[share].append(match_spells(run, plan, interference))
    title = f"{target} at {rate}/s, interruptions of the {which}'s CPU of {spell_ms:g} ms"
    print(f"{title}, {pairs} pairs of {seconds:g} s")
    tell(rows, interruptions)


def tell(
    rows: dict[float, list[RunFigures]], interruptions: dict[float, list[tuple[int, int, int, int, float]]]
) -> None:
    """Print the table; the figures of each run are below its row."""
    base = {name: statistics.median(run.values["latency"][name] for run in rows[0.0]) for name in QUANTILES}
    for share, runs in rows.items():
        cells = []
        for name in QUANTILES:
            raw = statistics.median(run.values["latency"][name] for run in runs)
            isolated = isolated_of(runs, name)
            cells.append(f"{name} {isolated:.1f} us {isolated / base[name]:.3f} ({raw / base[name]:.3g})")
        taken, counted = (
            statistics.median(getattr(run.isolated, what) for run in runs) for what in ("taken", "counted")
        )
        print(f"{share:4.0%}  {'  '.join(cells)}  taken {taken:.1%} counted {counted:.0%}")
        if share:
            there, found, spans, others = (sum(one[i] for one in interruptions[share]) for i in range(4))
            longest = max(one[4] for one in interruptions[share])
            print(f"      seen {found} of {there} spells, longest missed {longest:.0f} us", end="")
            print(f"; {others} of {spans} spans match no spell")
        for run in runs:
            assert run.isolated is not None
            raws = " ".join(f"{run.values['latency'][name]:.1f}" for name in QUANTILES)
            calms = " ".join(f"{value:.1f}" for value in run.isolated.values.values())
            print(f"      raw {raws}  isolated {calms}  {run.isolated.interruptions} interruptions", end="")
            print(f" counted {run.isolated.counted:.2f} busy {run.record.server_cpu_share:.2f}", end="")
            print(f" {run.isolated.refused or ''}{run.isolated.unsettled or ''}")


def costs(target: str, rate: str, rounds: int, seconds: float) -> None:
    """Print the cost of detecting interference to the server: medians of paired differences."""
    plan = plan_of(target, rate, seconds)
    without = plan.model_copy(update={"sentinel": "off"})
    rows: dict[str, list[RunFigures]] = {"neither": [], "sentinel": [], "sched_switch": []}
    with tempfile.TemporaryDirectory() as folder:
        study = Study.create(Path(folder) / "study", {"plan": plan.model_dump(mode="json"), "host": {}})
        number = 0
        for turn in range(rounds):
            names = list(rows)
            for name in names[turn % 3 :] + names[: turn % 3]:
                number += 1
                with turns(plan.server_cpus[0]) if name == "sched_switch" else nullcontext():
                    asked = plan if name == "sentinel" else without
                    rows[name].append(run_with_interference(study, number, asked, 0, 0.0, 0.0)[0])
    print(f"{target} at {rate}/s, {rounds} rounds of {seconds:g} s: paired cost of detection")
    for name, runs in rows.items():
        cells = []
        for quantile in QUANTILES:
            ours, theirs = (
                [one.values["latency"][quantile] for one in some] for some in (runs, rows["neither"])
            )
            ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
            cells.append(f"{quantile} {statistics.median(ours):.1f} us ({ratio:.3f})")
        busy = statistics.median(run.record.server_cpu_share for run in runs)
        told = runs[0].record.sentinel
        own = f", {told[0].cpu_ns / (told[0].to_ns - told[0].from_ns):.2%} of a processor" if told else ""
        print(f"  {name:12}  {'  '.join(cells)}  server busy {busy:.3f}{own}")


def isolated_of(runs: Sequence[RunFigures], name: str) -> float:
    """Return the median over runs; NaN if no run has an estimate."""
    known = [run.isolated.values[name] for run in runs if run.isolated and run.isolated.values]
    return statistics.median(known) if known else float("nan")


def main() -> None:
    """Parse the options and run."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("target")
    options.add_argument("--rate", default="20k")
    options.add_argument("--cpu", choices=("server", "client"), default="server")
    options.add_argument("--shares", default="2,5,10")
    options.add_argument("--pairs", type=int, default=3)
    options.add_argument("--seconds", type=float, default=8.0)
    options.add_argument("--spell-ms", type=float, default=3.0)
    options.add_argument("--costs", action="store_true")
    options.add_argument("--usual", action="store_true", help="a sentinel without real-time priority")
    asked = options.parse_args()
    sentinel.REAL_TIME = not asked.usual
    if asked.costs:
        costs(asked.target, asked.rate, asked.pairs, asked.seconds)
        return
    shares = [float(one) / 100.0 for one in asked.shares.split(",")]
    compare(asked.target, asked.rate, asked.cpu, shares, asked.pairs, asked.seconds, asked.spell_ms)


if __name__ == "__main__":
    main()
