"""``hindmost watch add``: add a service to those that the daemon watches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, integer_option, option
from hindmost.cli.streams import say
from hindmost.commands.watch import options
from hindmost.core.exits import Exit


def add(
    name: Annotated[str, option(TARGET, None, "Name of the service, on the page and in metrics.")],
    application: Annotated[
        str,
        option(
            TARGET,
            None,
            "memcached://HOST:PORT (redis://, http://), UNIT.service, command:TEXT, or a cgroup.",
        ),
    ],
    *,
    probe: Annotated[str, option(LOAD, "RATE", options.PROBE)] = "auto",
    probe_address: Annotated[str | None, option(LOAD, "URL", options.PROBE_ADDRESS)] = None,
    log: Annotated[Path | None, option(LOAD, "FILE", options.LOG)] = None,
    log_latency: Annotated[str, option(LOAD, "PLACE", options.LOG_LATENCY)] = "nginx",
    on_change: Annotated[Literal["diagnose"] | None, option(PROCEDURE, "ACTION", options.ON_CHANGE)] = None,
    policy: Annotated[Path | None, option(PROCEDURE, "FILE.toml", options.POLICY)] = None,
    size: Annotated[int, integer_option(OUTPUT, options.SIZE, "MIB", least=1)] = 16,
    folder: Annotated[Path | None, option(OUTPUT, "DIR", options.FOLDER)] = None,
) -> int:
    """Add a service to those that `hindmost watch serve` watches: a file NAME.toml in a folder.

    The application need not run now. A daemon that watches this folder notices the file at once.
    """
    from hindmost.commands.watch.services import (
        ServiceFile,
        add_service,
        default_folder,
        default_rings,
    )

    service = ServiceFile(
        application=application,
        probe=probe,
        probe_address=probe_address,
        log=None if log is None else log.absolute(),
        log_latency=log_latency,
        size=size,
        on_change=on_change,
        policy=None if policy is None else policy.absolute(),
    )
    service.service(name, default_rings())
    path = add_service(folder or default_folder(), name, service)
    say(f"added {path}", "next: hindmost watch list")
    return Exit.DONE
