"""An interferer: a real-time thread that takes a CPU at random, as a hypervisor's neighbour would, and logs when."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

PROGRAM = """
import json, os, random, signal, sys, time
cpu, share, spell_s, until_s, seed = int(sys.argv[1]), *map(float, sys.argv[2:])
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
taken = []
try:
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    draw, ends = random.Random(int(seed)), time.monotonic() + until_s
    while time.monotonic() < ends and os.getppid() != 1:
        time.sleep(draw.expovariate(share / (1.0 - share) / spell_s))
        on = time.monotonic_ns()
        until = on + int(1e9 * min(0.02, draw.expovariate(1.0 / spell_s)))
        while time.monotonic_ns() < until:
            pass
        taken.append((on, time.monotonic_ns()))
finally:
    print(json.dumps(taken))
"""
"""At real-time priority 50, above the sentinel's, as a hypervisor is above everything. Interruptions last at most 20 ms."""


@dataclass
class HostInterference:
    """The interruptions, [on, off) in ns of the monotonic clock; known when the interferer has ended."""

    spans: list[tuple[int, int]] = field(default_factory=list)


def need_real_time() -> None:
    """Skip where no thread may have real-time priority."""
    import pytest  # benchmarks use this module without pytest

    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip("no thread may have real-time priority here")
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextmanager
def interferer(
    cpu: int, share: float, spell_ms: float = 4.0, *, until_s: float, seed: int = 1
) -> Iterator[HostInterference]:
    """Take a share of a CPU in interruptions of a mean length, for at most `until_s` seconds."""
    arguments = [str(cpu), str(share), str(spell_ms / 1e3), str(until_s), str(seed)]
    interference = HostInterference()
    busy = subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        yield interference
        busy.terminate()
        output, _ = busy.communicate(timeout=10.0)
        interference.spans = [(on, off) for on, off in json.loads(output or "[]")]
    finally:
        busy.kill()
        busy.wait()
