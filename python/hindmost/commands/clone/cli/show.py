"""``hindmost clone show``: print a clone document and its capacity."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

from hindmost.cli.options import TARGET, Json, option
from hindmost.cli.streams import say
from hindmost.core.exits import Exit


def show(
    clone: Annotated[
        str, option(TARGET, None, "A clone document (.toml or .json), or the name of an application.")
    ],
    *,
    json_: Json = False,
) -> int:
    """Print a clone document and its capacity.

    The document goes to standard output, so you can save and edit it. The capacity goes to standard error.
    With --json, both are one JSON object with all defaults filled in.
    """
    from hindmost.commands.clone.document import load_clone, read_source

    loaded = load_clone(clone)
    if json_:
        print(json.dumps(dataclasses.asdict(loaded), allow_nan=False))
        return Exit.DONE
    print(read_source(clone).rstrip())
    capacity = loaded.capacity_per_s
    threads = f"{loaded.threads} thread{'s' if loaded.threads > 1 else ''}"
    facts = [f"{threads}, busy for {loaded.mean_busy_us:.5g} µs per request on average"]
    if loaded.stopped_share:
        facts.append(f"threads are paused {loaded.stopped_share:.3%} of the time")
    facts.append(
        "the clone has no service time, so no rate is too high"
        if capacity is None
        else f"capacity: {capacity:,.6g} requests/s; 70 % of it: {0.7 * capacity:,.6g}"
    )
    say(*facts)
    return Exit.DONE
