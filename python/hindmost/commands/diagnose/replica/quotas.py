"""A quota as a dose, tuned until it throttles the replica for as long as the host's instance.

A quota is harmless or severe within a few percent of what a server needs, and the replica's needs are known
no more precisely. The dose is fitted to the throttled time, never to the latency that it is to explain.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from hindmost.core.interventions.changes import File

LOOK_S = 1.0
STEPS = 6
MORE, LESS = 1.06, 0.93
ALIKE = 1.5
"""Largest ratio of throttled time per second between the replica and the host's instance."""
LEAST_HELD = 0.005
LEAST_QUOTA_US = 1_000
"""The smallest quota that the kernel accepts, µs."""


def throttled_share(group: Path, seconds: float) -> float:
    """Measure the share of time for which a quota throttles a cgroup (``cpu.stat``), without changing it."""

    def read() -> float:
        words = dict(line.split() for line in (group / "cpu.stat").read_text(encoding="ascii").splitlines())
        return int(words.get("throttled_usec", 0)) / 1e6 + int(words.get("throttled_time", 0)) / 1e9

    before = read()
    time.sleep(seconds)
    return (read() - before) / seconds


def tune_quota(dose: File, period_us: int, wanted: float) -> File:
    """Try up to six quotas until one throttles the replica for the share `wanted` of the time."""
    if wanted < LEAST_HELD:
        return dose
    try:
        for _ in range(STEPS):
            dose.remove()
            time.sleep(LOOK_S / 4)
            throttled = throttled_share(dose.path.parent, LOOK_S)
            if wanted / ALIKE <= throttled <= wanted * ALIKE:
                break
            words = dose.wanted.split()
            quota = max(LEAST_QUOTA_US, round(int(words[0]) * (LESS if throttled < wanted else MORE)))
            description = f"a quota of {quota / period_us:.3g} CPUs"
            dose = replace(dose, wanted=" ".join([str(quota), *words[1:]]), description=description)
    finally:
        dose.give_back()
    return dose
