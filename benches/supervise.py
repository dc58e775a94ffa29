"""A batch job next to memcached: supervised, sharing statically (nice 19), sharing freely, and not running.

    python benches/supervise.py [--rounds 3] [--seconds 20] [--promise 'p95<1ms'] [--json FILE]

The four arms alternate in a drawn order. In all of them the same probe measures the server, which also has
its own load. The job is xz on a block of random text, two processes at once, and counts its finished blocks.
The table shows, for each arm: windows within the promise, the median and worst percentile, blocks, and the
job's share of the CPU time that the server and others left free. Needs root, memcached and xz; about 90 s per
round.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hindmost.core.targets.ports import pick_free_port

LOAD = """
import json, sys, time
from hindmost import _engine
asked = {"address": sys.argv[1], "protocol": "memcached", "rate": float(sys.argv[2])}
probe = _engine.Prober(json.dumps(asked))
while True:
    time.sleep(0.1)
    probe.take()
"""
JOB = """for i in 1 2; do (while :; do xz -6 -c "$1" >/dev/null; echo >> "$2"; done) & done; wait"""
ARMS = ("alone", "supervised", "nice 19", "nothing")
BLOCK = 1 << 20


@contextmanager
def running(words: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command in its own session; end all of it at exit."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def arm(name: str, address: str, args: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Run one arm for some seconds; return the output of `colocate supervise` and the number of blocks."""
    count, out = folder / "count", folder / "told.json"
    count.write_text("")
    job = ["sh", "-c", JOB, "job", str(folder / "text"), str(count)]
    beside = {"nice 19": ["nice", "-n", "19", *job], "nothing": job}.get(name)
    words = [sys.executable, "-P", "-c", "import sys; from hindmost.cli import main; sys.exit(main())"]
    words += ["colocate", "supervise", f"memcached://{address}"]
    supervised = f"sh -c '{JOB}' job {folder / 'text'} {count}"
    words += [supervised if name == "supervised" else "sleep 1000"]
    words += ["--promise", args.promise, "--probe", args.probe, "--window", args.window]
    words += ["--duration", f"{args.seconds}s", "--out", str(out), "--json"]
    with running(beside) if beside else contextlib.nullcontext():
        time.sleep(0.5)
        subprocess.run(words, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    told: dict[str, object] = json.loads(out.read_text())
    return told | {"blocks": len(count.read_text()), "arm": name}


def table(found: list[dict[str, object]]) -> None:
    """Print a row for each arm."""
    print(
        f"{'arm':<12} {'windows':>8} {'kept':>7} {'median':>9} {'worst':>10} {'blocks/s':>9} {'of free':>8}"
    )
    for name in ARMS:
        own = [one for one in found if one["arm"] == name]
        windows = [window for one in own for window in one["windows"]]  # type: ignore[attr-defined]
        values = [one["percentile_us"] or float("inf") for one in windows]
        kept = sum(one["kept"] for one in windows)
        took = sum(one["took_s"] for one in own)  # type: ignore[misc]
        blocks = sum(one["blocks"] for one in own)  # type: ignore[misc]
        used = sum(one["used_s"] for one in windows)
        free = used + sum(one["idle_s"] for one in windows)
        print(
            f"{name:<12} {len(windows):>8} {kept / len(windows):>7.1%} {statistics.median(values):>6.0f} us"
            f" {max(values):>7.0f} us {blocks / took:>9.2f} {used / free:>8.0%}"
        )


def main() -> None:
    """Run the rounds, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--promise", default="p95<1ms")
    parser.add_argument("--probe", default="400")
    parser.add_argument("--window", default="1s")
    parser.add_argument("--load", default="4000", help="requests/s in addition to the probe's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write all results as JSON")
    args = parser.parse_args()
    draw = random.Random(args.seed)
    address = f"127.0.0.1:{pick_free_port('127.0.0.1')}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        letters = draw.choices("abcdefghijklmnop \n", k=BLOCK)
        (folder / "text").write_text("".join(letters))
        port = address.rpartition(":")[2]
        server = ["memcached", "-u", "nobody", "-t", "2", "-l", "127.0.0.1", "-p", port]
        with running(server):
            time.sleep(0.3)
            with running([sys.executable, "-P", "-c", LOAD, address, args.load]):
                time.sleep(0.7)
                found = [
                    arm(one, address, args, folder)
                    for _ in range(args.rounds)
                    for one in draw.sample(ARMS, len(ARMS))
                ]
    if args.json:
        args.json.write_text(json.dumps(found))
    table(found)


if __name__ == "__main__":
    main()
