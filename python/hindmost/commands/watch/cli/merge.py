"""``hindmost watch merge``: merge the rings of several hosts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, Json, option
from hindmost.core.exits import Exit


def merge(
    *rings: Annotated[Path, option(TARGET, None, "Ring files, one or more per host.")],
    batch: Annotated[str, option(PROCEDURE, "TIME", "Length of a batch of wall-clock time.")] = "10s",
    out: Annotated[Path | None, option(OUTPUT, "FILE", "Write the rows to this file (JSON lines).")] = None,
    json_: Json = False,
) -> int:
    """Merge rings of several hosts: latency over all hosts, and per host, batch by batch."""
    from hindmost.commands.watch.ring import merge as merged
    from hindmost.commands.watch.ring import read_ring
    from hindmost.core.plan.units import parse_duration
    from hindmost.errors import UsageError

    if not rings:
        raise UsageError(
            "missing-argument",
            "at least one ring file is required",
            hint="hindmost watch merge a.ring b.ring",
            argument="rings",
        )
    rows = merged([read_ring(ring) for ring in rings], parse_duration(batch, "batch", 1.0))
    if out is not None:
        out.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    if json_:
        print(json.dumps({"schema": "hindmost.merged/1", "rows": rows}, allow_nan=False))
        return Exit.DONE
    if out is None:
        print(f"{'time (s)':>14} {'requests':>9} {'p50 µs':>9} {'p99 µs':>9}  p99 by host")
        for row in rows:
            hosts = ", ".join(
                f"{host} {value:.0f}" for host, value in row["by_host"].items() if not math.isnan(value)
            )
            print(
                f"{row['at_s']:14.0f} {row['requests']:9} {row['p50_us']:9.0f} {row['p99_us']:9.0f}  {hosts}"
            )
    return Exit.DONE
