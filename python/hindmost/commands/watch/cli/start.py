"""``hindmost watch start``, also available as ``hindmost watch``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, Json, integer_option, option, switch
from hindmost.cli.streams import say
from hindmost.commands.watch import options
from hindmost.core.exits import Exit
from hindmost.errors import UsageError


def start(
    application: Annotated[str, option(TARGET, None, options.APPLICATION)],
    *,
    probe: Annotated[str, option(LOAD, "RATE", options.PROBE)] = "auto",
    probe_address: Annotated[str | None, option(LOAD, "URL", options.PROBE_ADDRESS)] = None,
    log: Annotated[Path | None, option(LOAD, "FILE", options.LOG)] = None,
    log_latency: Annotated[str, option(LOAD, "PLACE", options.LOG_LATENCY)] = "nginx",
    period: Annotated[str, option(PROCEDURE, "TIME", options.PERIOD)] = "1s",
    budget: Annotated[str, option(PROCEDURE, "SHARE", options.BUDGET)] = "0.05%",
    on_change: Annotated[Literal["diagnose"] | None, option(PROCEDURE, "ACTION", options.ON_CHANGE)] = None,
    policy: Annotated[Path | None, option(PROCEDURE, "FILE.toml", options.POLICY)] = None,
    duration: Annotated[
        str | None, option(PROCEDURE, "TIME", "Duration. [default: until Ctrl-C or the application ends]")
    ] = None,
    ring: Annotated[
        Path | None, option(OUTPUT, "FILE", "Ring file to write. [default: NAME-PID.ring]")
    ] = None,
    size: Annotated[int, integer_option(OUTPUT, options.SIZE, "MIB")] = 16,
    serve: Annotated[
        bool, switch(OUTPUT, "Serve a live page and Prometheus' /metrics on loopback.", "--serve")
    ] = False,
    port: Annotated[int, integer_option(OUTPUT, options.PORT, "PORT")] = 9617,
    json_: Json = False,
) -> int:
    """Watch an application and its host every second, and record both in a ring file of fixed size.

    The command only reads and changes nothing. Every sample includes the command's own cost. Metrics whose
    cost exceeds the budget are read less often, and the ring records that. The watch follows restarts of the
    application. Ctrl-C ends the command.
    """
    from hindmost.commands.watch.application import find_application
    from hindmost.commands.watch.daemon import WatchRequest, watch
    from hindmost.commands.watch.latency import latency_from
    from hindmost.commands.watch.response import response_to
    from hindmost.core.plan.units import parse_duration, parse_share

    found = find_application(application)
    every = parse_duration(period, "period", 0.1)
    if size < 1:
        raise UsageError(
            "bad-value",
            f"--size {size}: a ring needs at least 1 MiB",
            hint="--size 16",
            option="--size",
            value=size,
            least=1,
            unit="MiB",
        )
    share = parse_share(budget, "budget")
    source = latency_from(
        found, probe=probe, address=probe_address, log=log, log_latency=log_latency, budget=share
    )
    place = ring or Path(f"{found.name.replace(' (', '-').replace(')', '').replace(' ', '-')}.ring")
    request = WatchRequest(
        found,
        place,
        size << 20,
        every,
        share,
        source,
        port if serve else None,
        None if duration is None else max(1, round(parse_duration(duration, "duration", 0.1) / every)),
        response_to(on_change, policy, source, application, probe_address, place.absolute().parent),
    )
    latency = (
        "without latency: specify an address, --probe-address or --log" if source is None else source.about
    )

    def ready(address: str | None) -> None:
        page = "" if address is None else f"; page: http://{address}/"
        say(f"watching {found.name}, {latency}; ring: {place}{page}; Ctrl-C ends it")

    done = watch(request, ready)
    if json_:
        print(json.dumps({"schema": "hindmost.watch/1", "ring": str(place), **done}))
    else:
        seconds = done["samples"] * every
        say(
            f"ended ({done['ended'].replace('-', ' ')}): {done['samples']} samples,"
            f" {done['cpu_us'] / 1e4 / max(seconds, 1e-9):.3f} % of a CPU,"
            f" {done['ring_bytes'] / max(seconds, 1e-9):.0f} bytes/s to the ring",
            f"next: hindmost watch show {place}",
        )
    return Exit.DONE
