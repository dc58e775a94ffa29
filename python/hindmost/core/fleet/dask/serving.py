"""The server under test on a load host: started by a name known to that host, never by a command line.

A name is a preset (``memcached``, ``nginx?connections=500``) or a target file in the host's own folder for
them, which its administrator put there. Settings for one start are those of a study file
(`hindmost.core.knobs`), except the kinds with words of a command line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.core.knobs import Knob, kind_of, knob_of
from hindmost.core.knobs.force import in_force, processors, refuse_words, start_spec
from hindmost.core.knobs.journal import FOLDER, call_engine, undo_change
from hindmost.core.targets import Managed, ManagedServer, parse_target
from hindmost.errors import HindmostError, HostUnfit, TargetError, UsageError

TARGETS = Path("/etc/hindmost/targets")
"""Folder of a host's target files, ``NAME.toml``."""


class Serving:
    """One start of a server.

    Parameters
    ----------
    name : str
        A preset with its options, or the name of a file in `TARGETS`.
    listen : str
        Address of this host to listen on.
    cpus : sequence of int
        Its CPUs; empty: all.
    settings : sequence of mapping
        ``what`` (a factor's table) and ``level`` of each setting in force meanwhile.

    Raises
    ------
    UsageError
        If the name is a path or an address, or unknown to this host; if a setting has words of a command
        line.
    HostUnfit
        If a level is not available here.
    """

    def __init__(
        self, name: str, listen: str, cpus: Sequence[int], settings: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        if "/" in name.partition("?")[0]:
            raise UsageError(
                "bad-value",
                f"{name} is a path, but a server on another host is started by its name",
                hint=f"a preset, or a target file on that host: {TARGETS}/NAME.toml",
                key="target",
                value=name,
            )
        own = TARGETS / f"{name}.toml"
        target = parse_target(str(own) if own.is_file() else name)
        if not isinstance(target, Managed):
            raise UsageError(
                "bad-value",
                f"[target] must start its server, but {name} is a server that already runs",
                hint="leave out [target]",
                key="target",
                value=name,
            )
        self._pairs = [_check_setting(setting["what"], setting["level"], target) for setting in settings]
        spec = start_spec(target.spec, self._pairs)
        cpus = processors(target.spec, spec, cpus)
        self._server = ManagedServer(spec.model_copy(update={"host": listen}), cpus=cpus)
        self._stack = ExitStack()

    def start(self) -> dict[str, Any]:
        """Apply the settings, then start the server; return its part of ``run.json``.

        Raises
        ------
        TargetError
            If it does not start.
        HostUnfit
            If a setting is refused, or differs from what was written; everything is restored.
        """
        with ExitStack() as stack:
            try:
                context = stack.enter_context(in_force(self._pairs))
                server = stack.enter_context(self._server)
                stack.enter_context(context(server))
            except TargetError:
                raise
            except HindmostError as error:
                raise HostUnfit(error.code, error.message, hint=error.hint, **error.fields) from None
            self._stack = stack.pop_all()
        return {
            "address": server.address,
            "command": list(server.command),
            "cpus": list(server.cpus),
            "server_version": server.server_version,
            "pid": server.pid,
        }

    def stop(self) -> dict[str, Any]:
        """Stop the server and restore the settings; return how it had died before, if it had.

        Raises
        ------
        HindmostError
            If a setting cannot be restored: it stays in this host's journal.
        """
        report = self._server.exit_report()
        self._stack.close()
        return {"died": None if report is None else f"{report.describe()}: {report.log.strip()[-1000:]}"}


def _check_setting(what: Mapping[str, Any], level: str, target: Managed) -> tuple[Knob, str]:
    refuse_words(what, "a setting")
    knob = knob_of(kind_of(what), what, target, FOLDER)
    try:
        knob.check(level)
    except HindmostError as error:
        raise HostUnfit(error.code, error.message, hint=error.hint, **error.fields) from None
    return knob, level


def set_knob(name: str, value: str) -> str:
    """Set a setting in this host's catalogue, with its old value in the journal first."""
    return call_engine(lambda: _engine.set_knob(name, value, str(FOLDER), "/", os.getpid()))


def unset_knob(name: str) -> None:
    """Restore the old value of a setting.

    Raises
    ------
    HindmostError
        If it cannot be restored; it stays in the journal.
    """
    undo_change(name, FOLDER)
