"""Our latencies compared with a packet capture, and the cost of the capture: ``python benches/witness.py``.

One server thread and one client core, at 10, 50 and 80 % of the server's maximum rate. Rounds alternate with
and without a capture; each restarts the server. Treadmill's Figures 5 and 6 (ISCA 2016, III-C).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from driving import Host, drive, noise_floor, two_cpus

from hindmost import _engine
from hindmost._engine import Histogram
from hindmost.core.capture import RunCapture, find_capture_fault
from hindmost.core.fleet import HERE, Moment, jobs_of, run_clients
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.proof import LEVELS
from hindmost.core.targets import Managed, ManagedServer, TargetSpec, parse_target
from hindmost.stats import agreement

COLUMNS = ["sent_ns", "wire_out_ns", "wire_in_ns", "completed_ns", "capture_out_ns", "capture_in_ns"]
NULL = np.iinfo(np.int64).min
WAYS = ((False, "without a capture"), (True, "with one"))


@dataclass(frozen=True)
class Round:
    """One measurement: quantiles in microseconds, and its matched requests if it was captured."""

    busy: float
    send_delay: list[float]
    service: list[float]
    matched: np.ndarray | None
    counts: dict[str, int]


def measure_round(
    host: Host, spec: TargetSpec, rate: float, *, captured: bool, every: int, seed: int
) -> Round:
    """Measure one round, with a restarted server."""
    plan = MeasurePlan(
        target="bench",
        rate_per_s=rate,
        client_cpus=((host.client_cpu,),),
        duration_s=host.seconds,
        warmup=0.7,
        calibration_s=0.1,
        seed=seed,
        verify_wire=True,
    )
    seconds = plan.calibration_s + plan.duration_s
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(ManagedServer(spec, cpus=[host.server_cpu]))
        asked = json.loads(plan.engine_plan(1, 0, spec.protocol, server.address))
        asked["stamp_every"] = every
        witness = None
        if captured:
            share = rate * plan.captured_share
            witness = stack.enter_context(
                RunCapture(place, server.address, share, seconds, [host.server_cpu])
            )
        over: list[bool] = []

        def watch(moment: Moment) -> None:
            if witness is not None and moment.phase == "collect" and not over:
                over.append(True)
                witness.finish()

        jobs = jobs_of([json.dumps(asked)], plan.client_cpus, HERE.hosts)
        before = witness.start if witness is not None else lambda _: None
        (result,) = run_clients(HERE, jobs, place, (seconds, 30.0), watch, before)
        wholes: dict[str, Histogram] = {}
        for tag, _, _, histogram in _engine.read_hlog(str(place / "client-0.hlog")):
            wholes.setdefault((tag or "").partition("/")[0], Histogram()).merge(histogram)
        matched, counts = None, {}
        if witness is not None:
            counts = witness.match(1)
            columns = _engine.read_columns(str(place / "witness-0.parquet"), COLUMNS)
            matched = np.array([np.frombuffer(column, dtype=np.int64) for column in columns])

    def us(what: str) -> list[float]:
        return [(wholes[what].quantile(level) or 0.0) / 1e3 for level in LEVELS.values()]

    return Round(result["threads"][0]["busy_share"], us("send_delay"), us("service"), matched, counts)


def print_line(name: str, rows: Sequence[Sequence[float]]) -> None:
    """Print one line of a table: medians over rounds, with minimum and maximum."""
    cells = [f"{np.median(each):.2f} [{min(each):.2f}, {max(each):.2f}]" for each in zip(*rows, strict=True)]
    cells += [""] * (len(LEVELS) - len(cells))
    print(f"| {name} | {' | '.join(cells)} |")


def print_differences(rounds: Sequence[Round]) -> list[str]:
    """Print the differences to the capture, of distributions and per request; return their variation."""
    lines = []
    if not all(one.counts["stamped"] for one in rounds):
        return ["a round has no request that is both captured and stamped: too few connections were captured"]
    for what, columns, upto in (("wire", (1, 2), "p99.9"), ("service", (0, 3), "p99")):
        found = []
        for one in rounds:
            assert one.matched is not None
            start, end = (one.matched[i] for i in columns)
            there = (start != NULL) & (end != NULL)
            ours, theirs = (end - start)[there] / 1e3, (one.matched[5] - one.matched[4])[there] / 1e3
            found.append(agreement(ours, theirs, LEVELS))
        names = [name for name in LEVELS if all(name in one.gap for one in found)]
        print_line(f"{what} - capture, curves", [[one.gap[name] for name in names] for one in found])
        middles = [[one.near[name].median for name in names] for one in found]
        print_line(f"{what} - capture, median of requests", middles)
        for bound, percentile in (("low", "5 %"), ("high", "95 %")):
            rows = [[getattr(one.near[name], bound) for name in names] for one in found]
            print_line(f"{what} - capture, {percentile} of requests", rows)
        within = [name for name in names if LEVELS[name] <= LEVELS[upto]]
        spans = [max(gaps) - min(gaps) for one in found if (gaps := [one.gap[name] for name in within])]
        varies = f"{np.median(spans):.2f} us [{min(spans):.2f}, {max(spans):.2f}]"
        lines.append(f"{what} - capture varies by {varies} from {within[0]} to {within[-1]}")
    return lines


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of each measurement")
    parser.add_argument("--loads", default="0.1,0.5,0.8", help="fractions of the server's maximum rate")
    parser.add_argument("--capacity", type=float, help="requests/s; measured if absent")
    parser.add_argument("--every", type=int, default=4, help="the kernel stamps one request in this many")
    parser.add_argument("--server", default="memcached", help="preset, as for hindmost measure")
    asked = parser.parse_args()
    target = parse_target(asked.server)
    if not isinstance(target, Managed):
        sys.exit("error: --server must be a preset or a target file")
    spec = target.spec
    if fault := find_capture_fault():
        print(f"no comparison with a capture: {fault.message} ({fault.hint})", file=sys.stderr)
        return 0
    before, host = noise_floor(), two_cpus(asked.seconds)
    os.sched_setaffinity(0, {host.server_cpu})
    capacity = asked.capacity
    if capacity is None:
        with ManagedServer(spec, cpus=[host.server_cpu]) as server:
            capacity = drive(host, server, rate=None, loop="closed").per_s
    for share in map(float, asked.loads.split(",")):
        rounds: dict[bool, list[Round]] = {True: [], False: []}
        for number in range(asked.rounds):
            for captured in (True, False) if number % 2 else (False, True):
                one = measure_round(
                    host, spec, share * capacity, captured=captured, every=asked.every, seed=number + 1
                )
                rounds[captured].append(one)
        rate = f"{share:.0%} load, {share * capacity:,.0f} requests/s"
        print(f"\n{asked.server}, {rate}, one in {asked.every} stamped")
        print(f"medians of {asked.rounds} alternating rounds [least, most]")
        for count in ("matched", "stamped", "dropped"):
            print(f"{count}: " + ", ".join(f"{one.counts[count]:,}" for one in rounds[True]))
        for captured, name in WAYS:
            print(f"client busy {name}: {np.median([one.busy for one in rounds[captured]]):.1%}")
        print(f"\n| microseconds | {' | '.join(LEVELS)} |\n| --- |{' ---: |' * len(LEVELS)}")
        for captured, name in WAYS:
            print_line(f"send delay {name}", [one.send_delay for one in rounds[captured]])
            print_line(f"service {name}", [one.service for one in rounds[captured]])
        print("\n" + "\n".join(print_differences(rounds[True])))
    print(f"\nnoise floor before  {before}\nnoise floor after   {noise_floor()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
