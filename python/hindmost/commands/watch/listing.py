"""The list of watched services, and whether each runs and is watched now."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from hindmost.commands.watch.application import Application
from hindmost.commands.watch.document import ServiceRow, Services
from hindmost.commands.watch.services import list_services, read_service
from hindmost.errors import HindmostError

FRESH_S = 30.0
"""A ring that was written within this time is being watched."""


def list_watched(folder: Path, rings: Path) -> Services:
    """List the services of a folder."""
    return Services(
        folder=str(folder), services=[_row(folder, name, rings) for name in list_services(folder)]
    )


def _row(folder: Path, name: str, rings: Path) -> ServiceRow:
    try:
        file = read_service(folder, name)
        service = file.service(name, rings)
    except HindmostError as error:
        return ServiceRow(name=name, fault=f"{error.code}: {error}")
    ring = rings / f"{name}.ring"
    return ServiceRow(
        name=name,
        application=file.application,
        latency=None if service.latency is None else service.latency.about,
        on_change=file.on_change,
        ring=str(ring),
        runs=_runs(service.application),
        watched=_is_fresh(ring),
    )


def _runs(application: Application) -> bool:
    if application.identity is not None:
        return application.identity.find() is not None
    with contextlib.suppress(OSError):
        return application.cgroup is not None and bool(
            Path(application.cgroup, "cgroup.procs").read_text(encoding="ascii")
        )
    return False


def _is_fresh(ring: Path) -> bool:
    with contextlib.suppress(OSError):
        return time.time() - ring.stat().st_mtime < FRESH_S
    return False
