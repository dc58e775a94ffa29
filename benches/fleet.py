"""Cost of a fleet, and whether its results equal those of one process; network namespaces act as machines.

``python -m benches.fleet`` needs root, sshd and memcached. All machines share the CPUs of this host. It
prints:

- the same server measured by one process and by 2 and 4 load hosts: percentiles with intervals;
- traffic of the channel during the measurements: bytes, wake-ups, CPU time;
- the cost to the controller: starting workers, a round trip, synchronising a run's clocks;
- a sweep of a clone on one host with one CPU, on two hosts, and locally.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/shared"))

from machines import Machines, machines

MEASURE = ("--pacing", "sleep", "--sentinel", "off", "--rate", "4k", "--duration", "2s", "--warmup", "0.5s")
RUNS = ("--runs", "8..8", "--remake", "0", "--quantiles", "50,95,99")
ENDS = (signal.SIGTERM, signal.SIGHUP)
"""``timeout`` sends the first signal, a closed terminal the second."""
CALL = "import sys; from hindmost.cli import main; sys.exit(main())"


def hindmost(*words: object) -> tuple[dict[str, Any], float]:
    """Run `hindmost WORDS --json`; return the document and the seconds that it took."""
    text, took = _ran(*words)
    return json.loads(text), took


def _ran(*words: object) -> tuple[str, float]:
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", CALL, *map(str, words), "--json"], capture_output=True, text=True, check=False
    )
    if not done.stdout:
        raise SystemExit(done.stderr)
    return done.stdout, time.monotonic() - begun


def same_server(net: Machines, folder: Path) -> None:
    """Measure at the same rate with one process, 2 hosts and 4 hosts."""
    with net.memcached() as url:
        for many in (1, 2, 4):
            out = folder / f"by-{many}"
            if many == 1:
                found, took = hindmost("measure", url, *MEASURE, *RUNS, "--clients", 1, "--out", out)
                name = "one process"
            else:
                hosts = _first(net, many)
                found, took = hindmost("measure", url, *MEASURE, *RUNS, "--fleet", hosts, "--out", out)
                name = f"{many} hosts"
            figures = ", ".join(
                f"{label} {one['value']:.0f} [{one['low']:.0f}, {one['high']:.0f}]"
                for label, one in found["latency_us"].items()
                if one["low"] is not None and one["high"] is not None
            )
            print(f"{name:12} {figures} us; {took:.0f} s")
            _channel(out)


def _channel(out: Path) -> None:
    told = [
        host
        for path in sorted(out.glob("runs/*/run.json"))
        for host in json.loads(path.read_text()).get("fleet", ())
    ]
    if told:
        silent = [one["channel"] for one in told]
        errors = [one["clock"][when]["error_ns"] / 1e3 for one in told for when in ("before", "after")]
        drifts = [abs(one["clock"]["drift_ppm"]) for one in told]
        print(
            f"{'':12} channel of {len(silent)} measurements: {max(one['bytes'] for one in silent)} bytes,"
            f" {statistics.median(one['wakeups'] for one in silent):g} wakeups"
            f" (most {max(one['wakeups'] for one in silent)}), {max(one['cpu_ms'] for one in silent):.1f} ms;"
            f" clocks to {statistics.median(errors):.0f} us (worst {max(errors):.0f}),"
            f" drift {max(drifts):.1f} ppm"
        )


def controller(net: Machines) -> None:
    """Measure starting workers, a round trip, and the clocks of a run."""
    from hindmost.core.fleet.dask.channel import OwnChannel
    from hindmost.core.fleet.dask.hosts import parse_fleet

    begun = time.monotonic()
    channel = OwnChannel(parse_fleet(str(net.hosts_file())))
    brought = time.monotonic() - begun
    try:
        trips = []
        for _ in range(300):
            begun = time.monotonic()
            channel.ask("a", {"clock": {}})
            trips.append(1e3 * (time.monotonic() - begun))
        print(
            f"controller   4 workers started in {brought:.1f} s; round trip {statistics.median(trips):.2f} ms"
        )
    finally:
        channel.close()


def speed_up(net: Machines, points: int, requests: int, rounds: int) -> None:
    """Run a sweep on hosts with one CPU each, in alternation: whole commands, including start-up and
    output."""
    loads = min(points // 4, 1_000)
    waking = f"locks[0].wake_us=1..6:{max(2, points // 4 // loads)}"
    sweep = ("clone", "sweep", "silo", "--vary", "threads=1,2,3,4", "--vary", waking)
    sweep = (*sweep, "--utilisation", f"10%..90%:{loads}", "--requests", requests)
    ways: dict[str, tuple[object, ...]] = {
        "one host, one CPU": ("--fleet", _first(net, 1, pinned=True)),
        "two hosts, one CPU each": ("--fleet", _first(net, 2, pinned=True)),
        "here, both CPUs": (),
    }
    took: dict[str, list[float]] = {name: [] for name in ways}
    answers = set()
    for _ in range(rounds):
        for name, more in ways.items():
            text, seconds = _ran(*sweep, *more)
            took[name].append(seconds)
            print(f"             {name}: {seconds:.1f} s", flush=True)
            answers.add(text)
    count = len(json.loads(text)["points"])
    print(
        f"sweep        {count:,} points of {requests:,} requests, {rounds} rounds;"
        f" answers {'identical' if len(answers) == 1 else 'DIFFER'}"
    )
    first = took["one host, one CPU"]
    for name, seconds in took.items():
        middle = statistics.median(seconds)
        ratios = [one / other for one, other in zip(first, seconds, strict=True)]
        print(
            f"sweep        {name}: {middle:.1f} s [{min(seconds):.1f}, {max(seconds):.1f}],"
            f" {count / middle:,.0f} points/s, {statistics.median(ratios):.2f}-fold"
            f" [{min(ratios):.2f}, {max(ratios):.2f}]"
        )
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"sweep        peak memory of the command {most:,.0f} MiB")


def _first(net: Machines, many: int, *, pinned: bool = False) -> Path:
    """Write a file with the first hosts, each pinned to its own CPU if requested."""
    lines: dict[str, str] = {}
    if pinned:
        for cpu, one in enumerate(net.loads[:many]):
            script = net.folder / f"python-{cpu}"
            script.write_text((net.folder / "python").read_text().replace("exec ", f"exec taskset -c {cpu} "))
            script.chmod(0o755)
            lines[one.name] = f'ssh = {{ python = "{script}" }}'
    some = Machines(net.folder, {one.name: one for one in net.loads[:many]}, net.here)
    return some.hosts_file(name=f"hosts-{many}.toml", **lines)


def _end(number: int, _: object) -> None:
    """Raise an exception so that machines, workers and servers are stopped; a second signal must not
    interrupt that."""
    for one in ENDS:
        signal.signal(one, signal.SIG_IGN)
    raise SystemExit(128 + number)


def main() -> None:
    """Print all results."""
    for one in ENDS:
        signal.signal(one, _end)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, default=8_000, help="of the sweep")
    parser.add_argument("--requests", type=int, default=10_000, help="requests of each point of the sweep")
    parser.add_argument("--rounds", type=int, default=3, help="of the sweep")
    parser.add_argument("--only", choices=["same", "controller", "sweep"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, machines(Path(folder), 4) as net:
        Path(folder).chmod(0o755)
        if asked.only in (None, "same"):
            same_server(net, Path(folder))
        if asked.only in (None, "controller"):
            controller(net)
        if asked.only in (None, "sweep"):
            speed_up(net, asked.points, asked.requests, asked.rounds)


if __name__ == "__main__":
    main()
