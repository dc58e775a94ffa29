"""A thief: now and then a real-time thread has a processor for some milliseconds, as a hypervisor's neighbour would."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PROGRAM = """
import os, random, sys, time
cpu, share, spell_s, until_s = int(sys.argv[1]), *map(float, sys.argv[2:])
os.sched_setaffinity(0, {cpu})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
draw, ends = random.Random(1), time.monotonic() + until_s
while time.monotonic() < ends and os.getppid() != 1:
    time.sleep(draw.expovariate(share / (1.0 - share) / spell_s))
    until = time.monotonic() + min(0.02, draw.expovariate(1.0 / spell_s))
    while time.monotonic() < until:
        pass
"""


@contextmanager
def thief(cpu: int, share: float, spell_ms: float = 4.0, *, until_s: float) -> Iterator[None]:
    """Steals a share of a processor in spells of a mean length, at most `until_s` seconds long."""
    words = [str(cpu), str(share), str(spell_ms / 1e3), str(until_s)]
    busy = subprocess.Popen([sys.executable, "-c", PROGRAM, *words])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()
