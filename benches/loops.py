"""The bias of the closed loop (Treadmill, ISCA 2016, Figure 1), on this machine: ``python benches/loops.py``.

One memcached thread and one client at one rate: first in an open loop, then in closed loops with at most as
many outstanding requests as connections. Rounds alternate; each restarts the server.
"""

from __future__ import annotations

import argparse
import sys

from driving import Outcome, drive, noise_floor, spread, two_cpus

from hindmost.core.targets import ManagedServer, preset

CLOSED = (16, 4, 1)
LEVELS = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds")
    parser.add_argument("--seconds", type=float, default=2.5, help="length of each measurement")
    parser.add_argument("--load", type=float, default=0.8, help="fraction of the server's maximum rate")
    asked = parser.parse_args()
    before = noise_floor()
    host = two_cpus(asked.seconds)
    with ManagedServer(preset("memcached"), cpus=[host.server_cpu]) as server:
        capacity = drive(host, server, rate=None, loop="closed").per_s
    rate = asked.load * capacity
    found: dict[str, list[Outcome]] = {}
    for number in range(asked.rounds):
        names = ["open", *(f"closed, {n}" for n in CLOSED)]
        for name in names if number % 2 == 0 else names[::-1]:
            with ManagedServer(preset("memcached"), cpus=[host.server_cpu]) as server:
                loop, _, connections = name.partition(", ")
                one = drive(
                    host,
                    server,
                    rate=rate,
                    loop="open" if loop == "open" else "closed",
                    connections=int(connections or 16),
                    seed=number + 1,
                )
            found.setdefault(name, []).append(one)
        print(f"round {number + 1} of {asked.rounds} done", file=sys.stderr)
    print(
        f"memcached, one thread; {rate:,.0f} requests/s, {asked.load:.0%} of the maximum of {capacity:,.0f};"
        f" medians of {asked.rounds} alternating rounds\n"
    )
    print("| loop, connections | achieved/s |" + "".join(f" {name} us |" for name in LEVELS), end="")
    print(" outstanding: mean | p50 | p99 | most |")
    print("| --- |" + " ---: |" * (len(LEVELS) + 5))
    for name, ones in found.items():
        row = [f"{spread(ones, lambda one: one.per_s)[0]:,.0f}"]
        row += [
            "{:.4g} [{:.4g}, {:.4g}]".format(*spread(ones, lambda one, level=level: one.us("latency", level)))
            for level in LEVELS.values()
        ]
        row.append(f"{spread(ones, lambda one: one.distributions['outstanding'].mean or 0.0)[0]:.2f}")
        row += [
            f"{spread(ones, lambda one, level=level: 1e3 * one.us('outstanding', level))[0]:.0f}"
            for level in (0.5, 0.99, 1.0)
        ]
        print(f"| {name if ',' in name else name + ', 16'} | " + " | ".join(row) + " |")
    print(f"\nnoise floor before  {before}\nnoise floor after   {noise_floor()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
