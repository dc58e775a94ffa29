"""pgbench compared with Hindmost on one PostgreSQL: ``python -m benches.peers.pgbench [SECONDS] [ROUNDS]``.

One prepared statement that reads a row by its key; sixteen connections, one request on each at a time.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from benches.peers.native_tool import CONNECTIONS, contest, ours, read_output
from hindmost.core.targets import preset
from hindmost.core.targets.launch import search_path

LOGIN = {"user": "hindmost", "database": "postgres"}
SELECT = "SELECT value FROM items WHERE id = "


def pgbench(address: str, seconds: float, folder: Path) -> float:
    """Return statements/s with one thread."""
    program = shutil.which("pgbench", path=search_path(os.environ))
    if program is None:
        raise SystemExit("pgbench is not installed\nhint: apt-get install postgresql")
    host, _, port = address.rpartition(":")
    script = folder / "select.sql"
    script.write_text(f"\\set id random(1, 10000)\n{SELECT}:id;\n")
    command = [
        program,
        "-h",
        host,
        "-p",
        port,
        "-U",
        LOGIN["user"],
        "-n",
        "-M",
        "prepared",
        "-f",
        str(script),
    ]
    command += ["-j", "1", "-c", str(CONNECTIONS), "-T", f"{max(1, round(seconds))}", LOGIN["database"]]
    found = re.search(r"tps = ([0-9.]+)", said := read_output(command))
    if found is None:
        raise SystemExit(f"no rate in pgbench's output:\n{said}")
    return float(found[1])


WORKLOAD = {"kind": "sql", "statements": [{"sql": f"{SELECT}$1", "parameters": ["{{int:1..10000}}"]}]}

if __name__ == "__main__":
    sys.exit(
        contest(
            preset("postgresql"),
            "pgbench",
            pgbench,
            ours({"protocol": "postgresql", "login": LOGIN}, WORKLOAD),
        )
    )
