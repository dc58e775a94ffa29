"""The built-in interference: a program that uses CPU time or memory bandwidth; standard library only.

``noise.py spin SHARE MIB CPU...`` or ``noise.py memory SHARE MIB CPU...``: one process per CPU (``any``:
wherever the scheduler puts it), busy for SHARE of every 10 ms; ``memory`` copies MIB mebibytes back and forth
meanwhile.
"""

from __future__ import annotations

import os
import sys
import time

PERIOD_S = 0.01


def disturb(what: str, share: float, mib: int) -> None:
    """Be busy for `share` of every period, forever."""
    half = max(1, mib << 19)
    there = bytearray(half) if what == "memory" else bytearray(1)
    back = bytearray(len(there))
    grain = 1 << 20
    at = 0
    while True:
        until = time.monotonic() + PERIOD_S * share
        while time.monotonic() < until:
            if what == "memory":  # copied by the C library, at the full bandwidth of a core
                back[at : at + grain] = there[at : at + grain]
                at = (at + grain) % half
        if share < 1:
            time.sleep(PERIOD_S * (1 - share))


def main(what: str, share: str, mib: str, *cpus: str) -> None:
    """Run one process for each of `cpus`."""
    *others, last = cpus
    mine = next((cpu for cpu in others if os.fork() == 0), last)
    if mine != "any":
        os.sched_setaffinity(0, {int(mine)})
    disturb(what, float(share), int(mib))


if __name__ == "__main__":
    main(*sys.argv[1:])
