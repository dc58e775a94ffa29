"""The server under test on a host of its own: started by name from what that host knows, never by a command.

A name is a preset (``memcached``, ``nginx?connections=500``) or a target file that stands in the host's own
folder for them, put there by whoever administers it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.errors import UsageError
from hindmost.knobs.journal import FOLDER, told
from hindmost.targets import ManagedServer, parse_target

TARGETS = Path("/etc/hindmost/targets")
"""Target files of a host, ``NAME.toml``."""


class Serving:
    """One start of a server.

    Parameters
    ----------
    name : str
        A preset with its options, or the name of a file in `TARGETS`.
    listen : str
        Address of this host that it listens on.
    cpus : sequence of int
        Its processors; none: all.

    Raises
    ------
    UsageError
        If the name is a path or an address, or nothing that this host knows.
    """

    def __init__(self, name: str, listen: str, cpus: list[int]) -> None:
        if "/" in name.partition("?")[0]:
            raise UsageError(
                f"{name} is a path, and a server on another host is started by its name",
                hint=f"a preset, or a target file that stands there as {TARGETS}/NAME.toml",
            )
        own = TARGETS / f"{name}.toml"
        target = parse_target(str(own) if own.is_file() else name)
        if not target.managed:
            raise UsageError(f"{name} is a server that runs already", hint="leave out [target]")
        spec = target.spec.model_copy(update={"host": listen})
        self._server = ManagedServer(spec, cpus=cpus)

    def started(self) -> dict[str, Any]:
        """Start it; gives what ``run.json`` says of it."""
        server = self._server.__enter__()
        return {
            "address": server.address,
            "command": list(server.command),
            "server_version": server.server_version,
            "pid": server.pid,
        }

    def ended(self) -> dict[str, Any]:
        """Stop it; gives how it had ended before, if it had."""
        report = self._server.exit_report()
        self._server.__exit__(None, None, None)
        return {"died": None if report is None else f"{report.describe()}: {report.log.strip()[-1000:]}"}


def set_knob(name: str, value: str) -> str:
    """Set a setting of this host that the catalogue knows; what was found is in its journal first."""
    return told(lambda: _engine.set_knob(name, value, str(FOLDER), "/", os.getpid()))


def put_back(name: str) -> str:
    """Put it back as it was found."""
    return told(lambda: _engine.undo_knob(name, str(FOLDER), os.getpid()))
