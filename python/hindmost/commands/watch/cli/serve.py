"""``hindmost watch serve``: the daemon that watches all added services."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, PROCEDURE, Json, integer_option, option
from hindmost.cli.streams import say
from hindmost.commands.watch import options
from hindmost.core.exits import Exit
from hindmost.errors import HindmostError


def serve(
    *,
    period: Annotated[str, option(PROCEDURE, "TIME", options.PERIOD)] = "1s",
    budget: Annotated[
        str, option(PROCEDURE, "SHARE", f"For each service: {options.BUDGET[0].lower()}{options.BUDGET[1:]}")
    ] = "0.05%",
    duration: Annotated[str | None, option(PROCEDURE, "TIME", "Duration. [default: until Ctrl-C]")] = None,
    folder: Annotated[Path | None, option(OUTPUT, "DIR", options.FOLDER)] = None,
    rings: Annotated[Path | None, option(OUTPUT, "DIR", options.RINGS)] = None,
    port: Annotated[int, integer_option(OUTPUT, options.PORT, "PORT")] = 9617,
    json_: Json = False,
) -> int:
    """Watch all services that `hindmost watch add` has added, with one page and one /metrics for Prometheus.

    The daemon notices added, changed and removed services at once. It follows restarts, and waits for
    applications that do not run yet. `hindmost watch install` lets systemd run it.
    """
    from hindmost.commands.watch.daemon import FolderRequest, watch_folder
    from hindmost.commands.watch.services import default_folder, default_rings, read_services
    from hindmost.core.plan.units import parse_duration, parse_share

    every, share = parse_duration(period, "period", 0.1), parse_share(budget, "budget")
    services, place = folder or default_folder(), rings or default_rings()

    def warn(name: str, reason: str) -> None:
        say(f"warning[service-not-watched]: {name}: {reason}")

    for needed in (services, place):
        try:
            needed.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HindmostError(
                "unwritable-file",
                f"the folder {needed} cannot be created: {error.strerror}",
                hint="run as root, or choose other folders: --folder DIR --rings DIR",
                path=str(needed),
            ) from None
    request = FolderRequest(
        services,
        lambda: read_services(services, place, share, warn),
        every,
        share,
        port,
        None if duration is None else max(1, round(parse_duration(duration, "duration", 0.1) / every)),
    )
    done = watch_folder(
        request,
        lambda address: say(f"watching the services in {services}; page: http://{address}/; Ctrl-C ends it"),
        warn,
    )
    if json_:
        print(json.dumps({"schema": "hindmost.watch/1", "rings": str(place), **done}))
    return Exit.DONE
