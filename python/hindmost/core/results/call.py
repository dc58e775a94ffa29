"""Code that all functions for Python users share: a request from options, the CPUs of this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hindmost.core.fleet.cpus import move_to
from hindmost.core.names import nearest
from hindmost.core.run.request import OPTIONS, MeasureRequest
from hindmost.errors import UsageError


def build_request(target: str | Path, options: dict[str, Any]) -> MeasureRequest:
    """Build the request for a measurement.

    Raises
    ------
    UsageError
        If there is no such option.
    """
    for name in options:
        if name not in OPTIONS:
            raise UsageError(
                "unknown-option",
                f"measure() has no option {name!r}{nearest(name, OPTIONS)}",
                hint="help(hindmost.measure)",
                option=name,
                known=list(OPTIONS),
            )
    return MeasureRequest.from_options({"target": str(target), **options})


@contextmanager
def restored_affinity() -> Iterator[None]:
    """Restore this process's CPU affinity afterwards. A measurement moves it off the server's CPUs."""
    mine = os.sched_getaffinity(0)
    try:
        yield
    finally:
        move_to(mine)
