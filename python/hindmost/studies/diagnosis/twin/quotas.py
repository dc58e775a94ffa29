"""A quota as a dose: such that it holds the twin back for as long as the host's instance is held back.

A quota's effect is all or nothing within a few percent of what a server needs, and the twin's needs are known
no better than that. The dose is fitted by the time held back, never by the latency that it is to explain.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from hindmost.interventions.changes import File

LOOK_S = 1.0
STEPS = 6
MORE, LESS = 1.06, 0.93
ALIKE = 1.5
"""Times: time held back a second, on the twin over the host."""
LEAST_HELD = 0.005
LEAST_QUOTA_US = 1_000
"""The kernel's least."""


def held_back(group: Path, seconds: float) -> float:
    """Share of time for which a quota holds a cgroup back (``cpu.stat``), while nothing is done to it."""

    def read() -> float:
        words = dict(line.split() for line in (group / "cpu.stat").read_text(encoding="ascii").splitlines())
        return int(words.get("throttled_usec", 0)) / 1e6 + int(words.get("throttled_time", 0)) / 1e9

    before = read()
    time.sleep(seconds)
    return (read() - before) / seconds


def titrated(dose: File, period_us: int, wanted: float) -> File:
    """Try quotas until one holds the twin back as `wanted` says (a share of time), at most six."""
    if wanted < LEAST_HELD:
        return dose
    try:
        for _ in range(STEPS):
            dose.remove()
            time.sleep(LOOK_S / 4)
            held = held_back(dose.path.parent, LOOK_S)
            if wanted / ALIKE <= held <= wanted * ALIKE:
                break
            words = dose.wanted.split()
            quota = max(LEAST_QUOTA_US, round(int(words[0]) * (LESS if held < wanted else MORE)))
            about = f"a quota of {quota / period_us:.3g} processors"
            dose = replace(dose, wanted=" ".join([str(quota), *words[1:]]), about=about)
    finally:
        dose.give_back()
    return dose
