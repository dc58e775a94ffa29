"""Cost and precision of the load engine on this machine: ``make bench``.

There are two questions, with one server (memcached with one thread on its own CPU) and one client with one
worker on another CPU:

1. *Flat out*, closed loop, 64 connections: requests/s, and whether server or client was the limit. The
   client's busy time gives its cost per request, and so the rate of a fully used core. ``benches/peers``
   compares other load testers.
2. *Open loop* at 10 %, 50 % and 80 % of that server's maximum rate: the send delay, next to the service
   latency, which should be much larger.

Rounds alternate over all measurements, so that slow changes of the host affect all of them; results are
medians over rounds. They are valid for this host only: the noise floor before and after is printed, too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from driving import Host, Outcome, drive, noise_floor, spread, two_cpus

from hindmost.core.targets import ManagedServer, preset
from hindmost.errors import HindmostError

CONNECTIONS = 64
SHARES = (0.1, 0.5, 0.8)
LEVELS = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def measure(host: Host, rounds: int) -> dict[str, list[Outcome]]:
    """Make all measurements in alternating rounds; the first flat-out one sets the rates of the open loop."""
    found: dict[str, list[Outcome]] = {}
    capacity = 0.0
    for number in range(rounds):
        with ManagedServer(preset("memcached"), cpus=[host.server_cpu]) as server:
            flat = drive(host, server, rate=None, loop="closed", connections=CONNECTIONS)
            capacity = capacity or flat.per_s
            found.setdefault("flat out", []).append(flat)
            for share in SHARES if number % 2 == 0 else SHARES[::-1]:
                one = drive(host, server, rate=share * capacity, connections=CONNECTIONS)
                found.setdefault(f"{share:.0%}", []).append(one)
        print(f"round {number + 1} of {rounds} done", file=sys.stderr)
    return found


def flat_out(flat: Sequence[Outcome]) -> list[str]:
    """Return the maximum rates of server and client."""
    per_s, cost = spread(flat, lambda one: one.per_s), spread(flat, lambda one: one.cost_us)
    server, busy = spread(flat, lambda one: one.server)[0], spread(flat, lambda one: one.busy)[0]
    limit = "the server" if server > busy else "the client"
    return [
        f"flat out, closed loop, {CONNECTIONS} connections [least, most]",
        f"  requests/s                   {per_s[0]:>9,.0f}  [{per_s[1]:,.0f}, {per_s[2]:,.0f}]",
        f"  busy                            server {server:.0%}, client {busy:.0%}: the limit was {limit}",
        f"  client's time per request    {cost[0]:>9.2f}  us [{cost[1]:.2f}, {cost[2]:.2f}]",
        f"  requests/s per client core   {1e6 / cost[0]:>9,.0f}  if it were always busy",
    ]


def open_loop(found: dict[str, list[Outcome]]) -> list[str]:
    """Return the send delays, next to the service latency."""
    columns = [(what, name) for what in ("send_delay", "service") for name in LEVELS]
    lines = [
        "open loop, as a fraction of the rate of the first flat-out measurement; microseconds",
        f"  {'load':>4} {'asked/s':>9} {'achieved':>9} {'busy':>5}"
        + "".join(f"{what + ' ' + name:>14}" for what, name in columns),
    ]
    for share in SHARES:
        ones = found[f"{share:.0%}"]
        asked = share * found["flat out"][0].per_s
        achieved, busy = spread(ones, lambda one: one.per_s)[0] / asked, spread(ones, lambda one: one.busy)[0]
        line = f"  {share:>4.0%} {asked:>9,.0f} {achieved:>9.2%} {busy:>5.0%}"
        for what, name in columns:
            value = spread(ones, lambda one, what=what, name=name: one.us(what, LEVELS[name]))[0]
            line += f"{value:>14.4g}"
        lines.append(line)
    return lines


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of each measurement")
    asked = parser.parse_args()
    before = noise_floor()
    host = two_cpus(asked.seconds)
    try:
        found = measure(host, asked.rounds)
    except HindmostError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return error.exit_code
    blocks = [
        [f"memcached with one thread, one client core; medians of {asked.rounds} alternating rounds"],
        flat_out(found["flat out"]),
        open_loop(found),
        [f"noise floor before  {before}", f"noise floor after   {noise_floor()}"],
    ]
    print("\n\n".join("\n".join(block) for block in blocks if block))
    return 0


if __name__ == "__main__":
    sys.exit(main())
