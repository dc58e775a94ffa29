"""``hindmost doctor``: whether this host is fit to measure, and what it would distort."""

from __future__ import annotations

import json
from typing import Annotated

from hindmost import _engine
from hindmost.cli.options import OUTPUT, TARGET, Json, option
from hindmost.errors import UsageError
from hindmost.exits import Exit

TARGET_HELP = (
    "Of the network interfaces, judge the one that leads there: a running server (memcached://HOST:PORT,"
    " redis://HOST:PORT, http://HOST:PORT/PATH), which is asked who it is; a preset or a target file, which"
    " is not started. [default: all but loopback]"
)


def doctor(
    target: Annotated[str | None, option(TARGET, None, TARGET_HELP)] = None,
    *,
    spin: Annotated[str, option(OUTPUT, "TIME", "How long to spin for the noise floor.")] = "1s",
    json_: Json = False,
) -> int:
    """List what on this host will distort a measurement, each marked fine, mind or unfit.

    With a target, one of the lines says who stamps packets on the way to it. Exits with 5 if something
    makes the host unfit.
    """
    from hindmost.knobs import left_finding
    from hindmost.plan import parse_duration
    from hindmost.report.doctor import render_findings
    from hindmost.trace.able import finding as trace_finding

    seconds = parse_duration(spin, "spin", 0.01)
    if seconds > 60.0:
        raise UsageError(f"--spin {spin} is longer than a minute", hint="hindmost doctor --spin 1s")
    server = _server(target) if target is not None else None
    diagnosis = json.loads(_engine.doctor("/", seconds, server))
    diagnosis["findings"] += [left_finding(), trace_finding()]
    if json_:
        print(json.dumps({"schema": "hindmost.doctor/1", **diagnosis}))
    else:
        print(render_findings(diagnosis["findings"]))
    unfit = any(finding["mark"] == "unfit" for finding in diagnosis["findings"])
    return Exit.UNFIT if unfit else Exit.DONE


def _server(text: str) -> str:
    """``IP:PORT`` of a target.

    Raises
    ------
    UsageError
        If `text` is no target.
    TargetError
        If a running server is meant, and it is not there or not what it is said to be.
    """
    from hindmost.plan.tls import Tls
    from hindmost.targets import first_answering, parse_target
    from hindmost.targets.procfs import join_address

    target = parse_target(text)
    if target.managed:
        return join_address(target.spec.host, target.spec.port)
    tls = Tls(sni=target.host) if target.secured else None
    address, _ = first_answering(
        target.addresses, target.protocol, path=target.path, tls=tls, login=target.login
    )
    return address
