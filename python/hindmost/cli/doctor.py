"""``hindmost doctor``: whether this host is fit to measure, and what it would distort."""

from __future__ import annotations

import json
from typing import Annotated

from hindmost import _engine
from hindmost.cli.options import OUTPUT, Json, option
from hindmost.errors import UsageError


def doctor(
    *,
    spin: Annotated[str, option(OUTPUT, "TIME", "How long to spin for the noise floor.")] = "1s",
    json_: Json = False,
) -> int:
    """List what on this host will distort a measurement, each marked fine, mind or unfit.

    Exits with 5 if something makes the host unfit.
    """
    from hindmost.plan import parse_duration
    from hindmost.report import render_findings

    seconds = parse_duration(spin, "spin", 0.01)
    if seconds > 60.0:
        raise UsageError(f"--spin {spin} is longer than a minute", hint="hindmost doctor --spin 1s")
    diagnosis = json.loads(_engine.doctor("/", seconds))
    if json_:
        print(json.dumps({"schema": "hindmost.doctor/1", **diagnosis}))
    else:
        print(render_findings(diagnosis["findings"]))
    return 5 if any(finding["mark"] == "unfit" for finding in diagnosis["findings"]) else 0
