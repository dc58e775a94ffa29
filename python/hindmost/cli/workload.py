"""``hindmost workload``: what is asked for, as a file to look at, change, and give to ``--workload``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import LOAD, option
from hindmost.cli.streams import say
from hindmost.exits import Exit
from hindmost.progress import step


def workload(
    source: Annotated[
        Path,
        option(LOAD, None, "A vegeta targets file, an OpenAPI document, a HAR file, or a published mix."),
    ],
) -> int:
    """Print a workload file of requests that other tools wrote, or of a published mix.

    Headers stand in it as they stand in the source, those that log in too: mind who may read the file.
    """
    import msgspec

    from hindmost.plan import load_workload
    from hindmost.plan.sources import read_requests
    from hindmost.plan.workload import named_workloads

    named = str(source) in named_workloads()
    with step(f"reading {source}"):
        found, notes = (load_workload(source), ()) if named else read_requests(source)
    say(*(f"note[{one.code}]: {one}" for one in notes))
    print(msgspec.json.format(json.dumps(found), indent=2))
    return Exit.DONE
