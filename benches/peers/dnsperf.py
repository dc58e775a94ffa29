"""dnsperf compared with Hindmost on one unbound: ``python -m benches.peers.dnsperf [SECONDS] [ROUNDS]``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from benches.peers.native_tool import CONNECTIONS, contest, ours, read_output
from hindmost.core.targets import preset

NAME = "www.example"


def dnsperf(address: str, seconds: float, folder: Path) -> float:
    """Return queries/s; one thread, sixteen sockets and sixteen queries at a time, as ours."""
    host, _, port = address.rpartition(":")
    queries = folder / "queries.txt"
    queries.write_text(f"{NAME} A\n")
    command = ["dnsperf", "-s", host, "-p", port, "-d", str(queries), "-l", f"{seconds:g}"]
    said = read_output([*command, "-T", "1", "-c", str(CONNECTIONS), "-q", str(CONNECTIONS)])
    found = re.search(r"Queries per second:\s+([0-9.]+)", said)
    if found is None:
        raise SystemExit(f"no rate in dnsperf's output:\n{said}")
    return float(found[1])


WORKLOAD = {"kind": "dns", "queries": [{"name": NAME}], "edns_bytes": None}

if __name__ == "__main__":
    sys.exit(contest(preset("unbound"), "dnsperf", dnsperf, ours({"protocol": "dns"}, WORKLOAD)))
