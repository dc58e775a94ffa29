"""``hindmost watch merge``: merge the rings of several hosts."""

from __future__ import annotations

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
    from hindmost.commands.watch.document import Merged
    from hindmost.commands.watch.ring import merge as merged
    from hindmost.commands.watch.ring import read_ring
    from hindmost.commands.watch.view import merged_view
    from hindmost.core.plan.units import parse_duration
    from hindmost.core.store.estimates import encode
    from hindmost.errors import UsageError
    from hindmost.present.terminal import render_terminal

    if not rings:
        raise UsageError(
            "missing-argument",
            "at least one ring file is required",
            hint="hindmost watch merge a.ring b.ring",
            argument="rings",
        )
    rows = merged([read_ring(ring) for ring in rings], parse_duration(batch, "batch", 1.0))
    if out is not None:
        out.write_text("".join(f"{encode(row)}\n" for row in rows), encoding="utf-8")
    if json_:
        print(encode(Merged(rows=rows)))
    elif out is None:
        print(render_terminal(merged_view(rows)))
    return Exit.DONE
