"""``hindmost workload``: print a workload file to inspect, change, and pass to ``--workload``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import LOAD, option
from hindmost.cli.streams import say
from hindmost.core.exits import Exit
from hindmost.core.progress import step


def workload(
    source: Annotated[
        Path,
        option(
            LOAD,
            None,
            "A vegeta targets file, an OpenAPI document, a HAR file, or the name of a published mix.",
        ),
    ],
) -> int:
    """Convert requests of other tools, or a published mix, into a workload file, and print it.

    Headers are copied unchanged, including those with credentials. Keep the file private.
    """
    import msgspec

    from hindmost.core.plan import load_workload
    from hindmost.core.plan.sources import read_requests
    from hindmost.core.plan.workload import named_workloads

    named = str(source) in named_workloads()
    with step(f"reading {source}"):
        found, notes = (load_workload(source), ()) if named else read_requests(source)
    say(*(f"note[{one.code}]: {one}" for one in notes))
    print(msgspec.json.format(json.dumps(found), indent=2))
    return Exit.DONE
