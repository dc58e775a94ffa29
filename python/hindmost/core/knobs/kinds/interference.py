"""Interference: a program that runs next to the server, or does not.

It runs below its own guard (`hindmost.core.targets.guard`), which ends it whatever happens to Hindmost.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.core.knobs import noise
from hindmost.core.knobs.knob import Idle, refuse_level
from hindmost.core.notes import Note
from hindmost.core.plan.secrets import BUILT_IN
from hindmost.core.targets import Managed, ManagedServer, TargetSpec, temporary
from hindmost.core.targets.cpus import format_cpus, parse_cpus
from hindmost.core.targets.launch import check_cpus
from hindmost.core.targets.warden import Folder, Request, Warden
from hindmost.errors import HostUnfit, UsageError

STOP_PATIENCE_S = 2.0


@dataclass(frozen=True)
class Interference(Idle):
    """A background process, ``off`` or ``on``.

    Attributes
    ----------
    what
        ``spin``, ``memory``, or a command.
    cpus
        Where it runs; empty: anywhere. The built-in programs run one process on each CPU.
    share
        Share of every 10 ms in which a built-in program is busy.
    mib
        Size of the memory that ``memory`` copies, in MiB.
    """

    what: str
    target: TargetSpec
    cpus: tuple[int, ...] = ()
    share: float = 1.0
    mib: int = 64

    @property
    def name(self) -> str:  # noqa: D102
        return f"interference {self.what}"

    @property
    def sets(self) -> frozenset[str]:  # noqa: D102
        return frozenset({f"interference:{self.what} on {format_cpus(self.cpus) or 'any'}"})

    def check(self, level: str) -> None:  # noqa: D102
        if level not in ("off", "on"):
            raise refuse_level(self.name, level, "only off, on", known=["off", "on"])
        check_cpus(self.target, self.cpus)
        if shutil.which(self._argv()[0]) is None:
            raise HostUnfit(
                "missing-program",
                f"{self.name}: the program {self._argv()[0]} is not installed",
                name=self._argv()[0],
            )

    def _argv(self) -> list[str]:
        if self.what not in BUILT_IN:
            return shlex.split(self.what)
        cpus = [str(cpu) for cpu in self.cpus] or ["any"]
        return [sys.executable, "-I", "-S", noise.__file__, self.what, str(self.share), str(self.mib), *cpus]

    def on_server(self, level: str, server: ManagedServer) -> AbstractContextManager[None]:  # noqa: D102
        return self._running() if level == "on" else nullcontext()

    @contextmanager
    def _running(self) -> Iterator[None]:
        folder = temporary.folder() / f"hindmost-interference-{secrets.token_hex(4)}"
        argv = self._argv()
        warden = Warden(Folder(str(folder)))
        try:
            request = Request(
                argv=argv,
                program=shutil.which(argv[0]) or argv[0],
                env=dict(os.environ),
                cwd=str(folder),
                cpus=list(self.cpus),
                log=str(folder / "log"),
                stop_signal=signal.SIGTERM,
                stop_argv=[],
                stop_timeout_s=STOP_PATIENCE_S,
            )
            warden.launch(request)
            self._verify(warden)
            yield
            self._verify(warden)
        finally:
            warden.stop()

    def _verify(self, warden: Warden) -> None:
        if not warden.alive():
            report = warden.exit_report()
            words = report.log.strip().splitlines()[-1:] or ["no output"]
            raise HostUnfit(
                "interference-ended",
                f"{self.name} {report.describe()} before the run was over: {words[0]}",
                name=self.name,
            )


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> Interference:
    """Make the setting ``interference = "spin"``, ``"memory"`` or a command."""
    mode = what["interference"].strip()
    try:
        if not shlex.split(mode):
            raise ValueError("it is empty")
        cpus = tuple(parse_cpus(what["on"])) if "on" in what else ()
    except ValueError as error:
        raise UsageError(
            "bad-value",
            f"interference = {mode!r}: {error}",
            hint='interference = "spin", on = "0"',
            key="interference",
            value=mode,
        ) from None
    share, mib = what.get("share", 1.0), what.get("mib", 64)
    if mode not in BUILT_IN and {"share", "mib"} & set(what):
        raise UsageError(
            "conflicting-options",
            f"share and mib are for {' and '.join(BUILT_IN)}, not for {mode!r}",
            options=["interference", *({"share", "mib"} & set(what))],
            value=mode,
        )
    if not 0 < share <= 1:
        raise UsageError(
            "bad-value",
            f"interference {mode}: share = {share} must be between 0 and 1",
            key="share",
            value=share,
            least=0,
            most=1,
        )
    if not 2 <= mib <= 1 << 20:
        raise UsageError(
            "bad-value",
            f"interference {mode}: mib = {mib} must be between 2 and 1048576",
            key="mib",
            value=mib,
            least=2,
            most=1 << 20,
        )
    return Interference(mode, target.spec, cpus, float(share), mib)


def missing() -> Note | None:
    """Return None: it is always available."""
    return None
