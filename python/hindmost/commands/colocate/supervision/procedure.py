"""A complete supervision: windows of the server, and the job's CPUs after each."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hindmost import _engine
from hindmost.commands.colocate.supervision.controller import Controller, Rules
from hindmost.commands.colocate.supervision.group import new_group
from hindmost.commands.colocate.supervision.job import Job, adopt_process, start_job
from hindmost.commands.colocate.supervision.windows import Window, Windows
from hindmost.commands.watch.application import Application
from hindmost.commands.watch.latency import LatencySource
from hindmost.commands.watch.probe import start_probe
from hindmost.core.interventions.session import Session, start_session
from hindmost.core.knobs.journal import FOLDER
from hindmost.core.notes import Note
from hindmost.core.targets.procfs import process_tree
from hindmost.errors import HostUnfit, Interrupted, TargetError, UsageError

LEASE_S = 60.0
"""If this process stalls for this long, the supervision counts as dead and the watchdog undoes it, s."""
READ_S = 0.02
"""Time between readings of the probe, s: the largest delay before a harmful job is cut."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class SuperviseRequest:
    """The request for a supervision.

    Attributes
    ----------
    application, latency
        The server, and the probe that measures its latency.
    job : int or sequence of str
        A process id, or a command.
    quantile : float
        Percentile of the promise, in (0, 1); `rules` has its limit.
    window_s : float
    seconds : float or None
        Longest duration; None supervises until the job ends.
    fixed : int or None
        Constant number of CPUs for the job, to compare supervision with.
    """

    application: Application
    latency: LatencySource
    job: int | Sequence[str]
    rules: Rules
    quantile: float
    window_s: float = 1.0
    seconds: float | None = None
    fixed: int | None = None
    journal: Path = FOLDER


@dataclass(frozen=True, slots=True)
class WindowOutcome:
    """A window, and the job's CPUs in it.

    Attributes
    ----------
    granted, cpu_count : int
        CPUs of the job at the beginning and at the end of the window; 0 if paused.
    most : int
        CPUs of the job at its full share.
    cut : bool
        Whether CPUs were taken away within the window.
    used_s, idle_s : float
        CPU time used by the job, and idle time of the job's CPUs, s.
    why : Note or None
        The reason for the last change in this window or at its end.
    overwritten : list of str
        Settings of the job's group that another program had changed; they were set again.
    """

    window: Window
    granted: int
    cpu_count: int
    most: int
    cut: bool
    used_s: float
    idle_s: float
    why: Note | None
    overwritten: list[str] = field(default_factory=list)

    @property
    def ran(self) -> bool:
        """Whether the job could run when the window began."""
        return self.granted > 0


@dataclass(slots=True)
class SupervisionResult:
    """The result of a supervision."""

    request: SuperviseRequest
    job: str
    most: int
    windows: list[WindowOutcome] = field(default_factory=list)
    code: int | None = None
    interrupted: bool = False
    took_s: float = 0.0


def supervise(
    request: SuperviseRequest, on_window: Callable[[WindowOutcome], None] = lambda _: None
) -> SupervisionResult:
    """Run a job next to a server with as many CPUs as the server's promise allows.

    Raises
    ------
    UsageError
        A window has too few requests for the percentile, or the job contains the server or this process.
    HostUnfit
        Latency comes from a log, or no group can be created.
    TargetError
        The server does not answer, or has ended.
    """
    document = request.latency.document.get("probe")
    if document is None:
        raise HostUnfit(
            "needs-probe",
            "supervision cuts a job within a window, and a log reports latency too late for that",
            hint="--probe 200/s",
            option="--probe",
        )
    with start_probe(request.latency) as probe, start_session(request.journal) as session:
        windows = Windows(probe, request.quantile, request.window_s, document["rate"], request.rules.limit_us)
        if windows.slow_allowed < 1:
            have = document["rate"] * request.window_s
            raise UsageError(
                "few-requests",
                f"a window of {request.window_s:g} s has {have:g} requests of the probe, too few"
                f" for p{100 * request.quantile:g}: a single slow one would break the promise",
                have=have,
                need=1 / (1 - request.quantile),
                quantile=request.quantile,
                hint=f"--probe {2 / (1 - request.quantile) / request.window_s:.0f}/s, or a longer --window",
            )
        _check(request)
        with new_group(request.journal) as group:
            where = (
                adopt_process(request.job, group, session)
                if isinstance(request.job, int)
                else start_job(request.job, group, session)
            )
            with where as job:
                return _Supervision(request, windows, job, session, on_window).run()


def _check(request: SuperviseRequest) -> None:
    if isinstance(request.job, int):
        tree = set(process_tree(request.job))
        if os.getpid() in tree or request.application.pid in tree:
            part = "the server" if request.application.pid in tree else "this command"
            raise UsageError(
                "job-contains-server",
                f"the process tree of {request.job} contains {part}",
                hint="give the batch job's own process id",
                pid=request.job,
            )


@dataclass(slots=True)
class _Supervision:
    request: SuperviseRequest
    windows: Windows
    job: Job
    session: Session
    on_window: Callable[[WindowOutcome], None]
    controller: Controller = field(init=False)

    def __post_init__(self) -> None:
        fixed, most = self.request.fixed, len(self.job.cpus)
        if fixed is not None and not 1 <= fixed <= most:
            raise UsageError(
                "bad-value",
                f"--processors {fixed}: the job may use 1 to {most}",
                hint=f"--processors {most}",
                option="--processors",
                value=fixed,
                least=1,
                most=most,
            )
        self.controller = Controller(self.request.rules, most, 1 if fixed is None else fixed)

    def run(self) -> SupervisionResult:
        """Supervise window after window, until the job ends, the time is up, or an interruption."""
        result = SupervisionResult(self.request, self.job.name, self.controller.most)
        start = time.monotonic()
        seconds = math.inf if self.request.seconds is None else self.request.seconds
        with self.session.lease(f"job {self.job.name}", LEASE_S) as renew:
            try:
                self.job.allow(self.controller.cpu_count)
                self.windows.begin()
                while result.code is None and time.monotonic() - start < seconds:
                    result.windows.append(window := self._window())
                    self.on_window(window)
                    renew()
                    result.code = self.job.code()
            except (KeyboardInterrupt, Interrupted):
                result.interrupted = True
        result.took_s = time.monotonic() - start
        return result

    def _window(self) -> WindowOutcome:
        controller, why = self.controller, None
        used, idle, granted = self.job.used_s(), _idle_s(self.job.cpus), controller.cpu_count
        end_ns = self.windows.end_ns
        while (left := (end_ns - _engine.monotonic_ns()) / 1e9) > 0:
            time.sleep(min(READ_S, left))
            slow = self.windows.read_probe()
            if self.request.fixed is None and controller.react_to_requests(slow, self.windows.slow_allowed):
                self.job.allow(controller.cpu_count)
                why = controller.why
        cut = controller.cpu_count < granted
        window = self.windows.close()
        pid = self.request.application.pid
        if pid is not None and not Path(f"/proc/{pid}").exists():
            raise TargetError(
                "program-ended",
                f"the server {self.request.application.name} ended, so supervision ended too",
                hint="start the server again, then repeat",
                name=self.request.application.name,
                pid=pid,
            )
        overwritten = self.job.restore()
        if self.request.fixed is None and controller.react_to_window(window.percentile_us):
            self.job.allow(controller.cpu_count)
            why = controller.why
        return WindowOutcome(
            window,
            granted,
            controller.cpu_count,
            controller.most if self.request.fixed is None else self.request.fixed,
            cut,
            self.job.used_s() - used,
            _idle_s(self.job.cpus) - idle,
            why,
            overwritten,
        )


def _idle_s(cpus: Sequence[int]) -> float:
    """Return the idle time of CPUs since boot, s (idle and iowait of ``/proc/stat``)."""
    wanted, found = {f"cpu{one}" for one in cpus}, 0
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        name, *fields = line.split()
        if name in wanted:
            found += int(fields[3]) + int(fields[4])
    return found / _TICKS
