"""Starts a managed server, waits until it is ready, and stops it with all its descendants."""

from __future__ import annotations

import math
import shlex
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hindmost.core.plan.protocols import Protocol
from hindmost.core.plan.tls import Tls
from hindmost.core.targets import ports, probe
from hindmost.core.targets.launch import choose_folder, prepare
from hindmost.core.targets.procfs import join_address, listeners, process_tree
from hindmost.core.targets.spec import TargetSpec
from hindmost.core.targets.users import account
from hindmost.core.targets.warden import ExitReport, Warden
from hindmost.errors import TargetError

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.05
_PROBE_PATIENCE_S = 1.0
_LOG_LINES = 12


class _PortLost(Exception):
    """Another process took the port before the server bound it; `failure` is the message for users."""

    def __init__(self, failure: TargetError) -> None:
        super().__init__()
        self.failure = failure


class ManagedServer:
    """One start of a server: a context manager that leaves nothing behind, even after ``kill -9``.

    Parameters
    ----------
    spec : TargetSpec
        The target to start.
    cpus : sequence of int, optional
        CPUs to bind it to; default: those of `spec`, else any.
    log : Path, optional
        File for the server's output; default: in its temporary folder, which is removed.
    ready_timeout_s : float, optional
        Default: that of `spec`.

    Attributes
    ----------
    command : tuple of str
        The start command with placeholders filled in.
    tls : Tls or None
        TLS settings of this start, if any.
    server_version : str
        The server's own version; empty unless the kind of the ready probe is ``protocol``.

    Raises
    ------
    TargetError
        From `start`: has the command, how it ended, and its last output.

    Examples
    --------
    >>> from hindmost.core.targets import ManagedServer, preset
    >>> with ManagedServer(preset("memcached"), cpus=[0]) as server:  # doctest: +SKIP
    ...     print(server.address, server.server_version)
    127.0.0.1:20417 1.6.18
    """

    def __init__(
        self,
        spec: TargetSpec,
        *,
        cpus: Sequence[int] | None = None,
        log: Path | None = None,
        ready_timeout_s: float | None = None,
    ) -> None:
        self.spec = spec
        self.cpus = tuple(cpus if cpus is not None else spec.cpus or ())
        self.log = log
        self.ready_timeout_s = spec.ready.timeout_s if ready_timeout_s is None else ready_timeout_s
        self.command: tuple[str, ...] = ()
        self.server_version = ""
        self.ready_after_s = math.nan
        self.tls: Tls | None = None
        self._socket: str | None = None
        self._port = spec.port
        self._warden: Warden | None = None

    @property
    def protocol(self) -> Protocol:
        """The server's protocol."""
        return self.spec.protocol

    @property
    def port(self) -> int:
        """TCP port of this start."""
        return self._port

    @property
    def address(self) -> str:
        """``IP:PORT`` of this start, or ``unix:/PATH``."""
        if self._socket is not None:
            return f"unix:{self._socket}"
        return join_address(self.spec.host, self._port)

    @property
    def pid(self) -> int:
        """The process of the start command."""
        return self._require_warden().pid or 0

    @property
    def guard_pid(self) -> int:
        """The guard process, which idles next to the server."""
        return self._require_warden().guard_pid

    @property
    def folder(self) -> Path:
        """``{dir}`` of this start; removed with it."""
        folder = self._require_warden().folder
        assert folder is not None
        return Path(folder.path)

    def pids(self) -> list[int]:
        """Return all processes of the server, including workers and daemons."""
        return process_tree(self._require_warden().guard_pid)[1:]

    def alive(self) -> bool:
        """Whether it is running."""
        return self._warden is not None and self._warden.alive()

    def exit_report(self) -> ExitReport | None:
        """Return how it ended; None while it runs."""
        warden = self._require_warden()
        return None if warden.alive() else warden.exit_report()

    def start(self) -> Self:
        """Start it and wait until it is ready; after any failure nothing is left behind."""
        if self._warden is not None:
            raise RuntimeError("a ManagedServer starts once; make a new one for the next run")
        if self.spec.port:
            ports.refuse_taken_port(self.spec.host, self.spec.port)
            attempts = 1
        else:
            attempts = 2
        for attempt in range(1, attempts + 1):
            self._port = self.spec.port or ports.pick_free_port(self.spec.host)
            try:
                self._start_once()
                return self
            except _PortLost as lost:
                if attempt == attempts:
                    raise lost.failure from None
        raise AssertionError("unreachable")

    def _start_once(self) -> None:
        run_as = account(self.spec)
        folder = choose_folder(self.spec, run_as)
        self._warden = Warden(folder)
        try:
            launch = prepare(
                self.spec, Path(folder.path), run_as, cpus=self.cpus or None, port=self._port, log=self.log
            )
            self.command = tuple(launch.request.argv)
            self.tls, self._socket = launch.tls, launch.socket
            began = time.monotonic()
            self._warden.launch(launch.request)
            self._wait_until_ready(launch.ready_argv, began)
        except BaseException:
            self._warden.stop(patiently=False)
            raise
        self.ready_after_s = time.monotonic() - began

    def _wait_until_ready(self, ready_argv: Sequence[str], began: float) -> None:
        warden = self._require_warden()
        deadline = began + self.ready_timeout_s
        pause = _FIRST_PAUSE_S
        while True:
            if not warden.alive():
                raise self._died()
            problem = self._probe(ready_argv, min(_PROBE_PATIENCE_S, max(0.01, deadline - time.monotonic())))
            if problem is None:
                self._check_owner()
                return
            if isinstance(problem, probe.WrongProtocol):
                self._check_owner()
                raise self._failure(
                    "wrong-protocol",
                    f"answers, but not in its protocol: {problem.message}",
                    problem.hint,
                    {"protocol": self.spec.protocol, **problem.fields},
                )
            if time.monotonic() >= deadline:
                raise self._failure(
                    "ready-timeout",
                    f"was not ready within {self.ready_timeout_s:g} s; its last probe: {problem.message}",
                    "raise ready.timeout_s in the target file, or see the server's log",
                    {
                        "limit": self.ready_timeout_s,
                        "unit": "s",
                        "probe": {"code": problem.code, **problem.fields},
                    },
                )
            warden.pump(pause)  # sleeps, but wakes at once when the server ends
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)

    def _probe(self, ready_argv: Sequence[str], patience_s: float) -> TargetError | None:
        try:
            match self.spec.ready.kind:
                case "protocol":
                    self.server_version = probe.identify(
                        self.address,
                        self.spec.protocol,
                        patience_s,
                        path=self.spec.path,
                        tls=self.tls,
                        login=self.spec.login,
                    )
                case "tcp":
                    probe.accepts(self.address, patience_s)
                case "command":
                    _run_probe(ready_argv, self.spec, self.ready_timeout_s)
        except TargetError as error:
            return error
        return None

    def _check_owner(self) -> None:
        """Check that our server answered, not another one that took the port first."""
        holders = [] if self._socket is not None else listeners(self.address)
        if holders and not set(holders) & set(self.pids()):
            raise _PortLost(self._port_taken())

    def _died(self) -> Exception:
        report = self._require_warden().exit_report()
        failure = self._failure(
            "server-failed",
            f"{report.describe()} before it was ready",
            "run the command by hand",
            {"pid": report.pid, "status": report.status},
        )
        if not ports.says_taken(report.log):
            return failure
        held = ports.bind_error(self.spec.host, self._port) != 0  # else it needs a second port
        return _PortLost(self._port_taken() if held else failure)

    def _port_taken(self) -> TargetError:
        message = ports.taken_message(self.spec.host, self._port)
        return TargetError(
            "address-in-use",
            f"{self.spec.name} cannot start: {message}",
            hint=ports.taken_hint(self._port),
            **ports.taken_fields(self.spec.host, self._port),
        )

    def _failure(self, code: str, what: str, hint: str | None, fields: dict[str, Any]) -> TargetError:
        report = self._require_warden().stop(patiently=False)
        lines = report.log.splitlines()[-_LOG_LINES:]
        log = "its last lines:\n  " + "\n  ".join(lines) if lines else "it wrote nothing"
        return TargetError(
            code,
            f"{self.spec.name} {what}\ncommand: {shlex.join(self.command)}\n{log}",
            hint=hint,
            name=self.spec.name,
            command=list(self.command),
            log=lines,
            **fields,
        )

    def stop(self, *, patiently: bool = True) -> ExitReport:
        """Stop it with all its descendants (`patiently`: as the target says, killing after its timeout)."""
        return self._require_warden().stop(patiently=patiently)

    def _require_warden(self) -> Warden:
        if self._warden is None:
            raise RuntimeError("the server was not started")
        return self._warden

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _run_probe(argv: Sequence[str], spec: TargetSpec, timeout_s: float) -> None:
    try:
        done = subprocess.run(argv, capture_output=True, cwd=spec.folder, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        raise TargetError(
            "ready-command-failed",
            f"{argv[0]} did not end within {timeout_s:g} s",
            command=list(argv),
            limit=timeout_s,
            unit="s",
        ) from None
    except OSError as error:
        raise TargetError(
            "ready-command-failed",
            f"cannot run {argv[0]}: {error.strerror}",
            command=list(argv),
            reason=error.strerror,
        ) from None
    if done.returncode != 0:
        words = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
        last = f": {words[-1][:200]}" if words else ""
        raise TargetError(
            "ready-command-failed",
            f"{shlex.join(argv)} exited with status {done.returncode}{last}",
            command=list(argv),
            status=done.returncode,
        )
