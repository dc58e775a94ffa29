"""Hindmost compared with other load testers: ``python -m benches.peers``.

Each round restarts each server on its own CPU, and lets every client drive it in a newly drawn order: flat
out (closed loop), at 10 % and 50 % of the server's capacity with a packet capture, and through a freeze of
the server. Each measurement is written at once as a line of JSON; an interrupted contest continues.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benches.peers.contest import Contest, Setting, SettingDiffers, load
from benches.peers.install import FOLDER, Had, find, install
from benches.peers.pages import describe_host, show
from benches.peers.peer import Peer
from benches.peers.registry import ABSENT, PEERS
from benches.peers.table import page
from hindmost.core.capture import find_capture_fault


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benches.peers", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds")
    parser.add_argument("--freezes", type=int, default=3, help="rounds that freeze the server, too")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of each measurement")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument(
        "--only", default="", metavar="NAME,...", help="clients in addition to hindmost; default: all"
    )
    parser.add_argument("--servers", default="memcached,redis,http", metavar="PROTOCOL,...")
    parser.add_argument(
        "--out", type=Path, default=FOLDER / "rounds.jsonl", help="measurements; is continued"
    )
    parser.add_argument("--fresh", action="store_true", help="begin --out anew")
    parser.add_argument(
        "--stop-after",
        type=float,
        default=float("inf"),
        metavar="SECONDS",
        help="stop after this time; a later call continues",
    )
    parser.add_argument("--no-install", action="store_true", help="use only installed programs")
    parser.add_argument("--table", action="store_true", help="only print the tables of --out")
    parser.add_argument(
        "--into", type=Path, metavar="PAGE.md", help="write the tables to this page, between the marks"
    )
    return parser.parse_args()


def _chosen(asked: argparse.Namespace) -> list[Peer]:
    names = {name for name in asked.only.split(",") if name}
    unknown = names - {peer.name for peer in PEERS}
    if unknown:
        known = ", ".join(dict.fromkeys(peer.name for peer in PEERS))
        sys.exit(f"error: there is no client {', '.join(sorted(unknown))}\nhint: clients: {known}")
    servers = asked.servers.split(",")
    return [
        peer
        for peer in PEERS
        if peer.protocol in servers and (not names or peer.name in names or peer.name == "hindmost")
    ]


def _describe_programs(had: Mapping[str, Had]) -> dict[str, Any]:
    versions = {
        name: one.version + (f" ({one.remark})" if one.remark else "")
        for name, one in had.items()
        if one.path
    }
    return {"host": describe_host(), "versions": versions}


def main() -> int:
    """Make the missing measurements, then print the tables."""
    asked = _arguments()
    stop_at = time.monotonic() + asked.stop_after
    peers = _chosen(asked)
    if asked.table:
        first, rows = load(asked.out)
        seen = {row["peer"] for row in rows}
        show(page(first, rows, [one for one in peers if one.name in seen], ABSENT), "PEERS", asked.into)
        return 0
    failures = {} if asked.no_install else install(peers)
    had = {peer.source.program: find(peer.source) for peer in peers}
    absent = {name: failures.get(name, one.remark) for name, one in had.items() if one.path is None}
    for name, why in absent.items():
        print(f"peers: without {name}: {why}", file=sys.stderr)
    peers = [peer for peer in peers if had[peer.source.program].path]
    if fault := find_capture_fault():
        sys.exit(f"error: {fault.message}\nhint: {fault.hint}")
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit("error: there is only one CPU: server and client would compete for it")
    os.sched_setaffinity(0, set(cpus[1:]))
    if asked.fresh:
        asked.out.unlink(missing_ok=True)
    setting = Setting(asked.seconds, asked.connections, cpus[0], cpus[1])
    programs = {name: one.path for name, one in had.items() if one.path}
    try:
        contest = Contest(asked.out, setting, programs, _describe_programs(had))
    except SettingDiffers as error:
        sys.exit(f"error: {error}\nhint: --fresh starts again, --out chooses another file")
    whole = contest.run(peers, asked.rounds, asked.freezes, stop_at)
    if not whole:
        print(
            f"peers: {len(contest.rows)} measurements are in {asked.out}; call again to continue",
            file=sys.stderr,
        )
        return 3
    first, rows = load(asked.out)
    show(page(first, rows, peers, ABSENT | absent), "PEERS", asked.into)
    return 0


if __name__ == "__main__":
    sys.exit(main())
