"""What a supervision learns: a line of evidence a minute, in a file next to the server's profile.

`colocate predict` reads the file. A killed supervision loses the minute that had not ended.
"""

from __future__ import annotations

import math
import os
import secrets
import stat
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hindmost import _engine
from hindmost.commands.colocate.documents.stored import load_card, supervised_path
from hindmost.commands.colocate.documents.supervision import (
    SUPERVISED_SCHEMA,
    SupervisedBlock,
    SupervisedLatency,
)
from hindmost.commands.colocate.processor import read_processor
from hindmost.commands.colocate.program import identify_command, identify_process
from hindmost.commands.colocate.supervision.procedure import SuperviseRequest, WindowOutcome
from hindmost.commands.colocate.supervision.windows import Window
from hindmost.commands.watch.application import Application
from hindmost.core.documents import append_line
from hindmost.core.targets.procfs import cpu_affinity, cpu_seconds, process_name, process_tree
from hindmost.errors import UsageError
from hindmost.stats.series.violations import BLOCK_S

LEAST_USED = 0.1
"""CPUs that a job must use in a window that keeps the limit, or the window says nothing about the job."""


@dataclass(slots=True)
class WindowCounts:
    """The windows of a block by what they show, as in `SupervisedBlock`."""

    judged: int = 0
    broken: int = 0
    prevented: int = 0
    alone: int = 0
    alone_broken: int = 0


def count_windows(
    windows: Sequence[WindowOutcome], limit_us: float, window_s: float, *, adapted: bool
) -> WindowCounts:
    """Count windows by what they show.

    After a violation the supervisor pauses the job, so the rest of the block does not show whether the
    violation would have lasted. It counts as *prevented*. The first window of a pause may still suffer from
    the job, so it does not count as one without the job.
    """
    counts, reacted, paused = WindowCounts(), False, False
    for one in windows:
        kept = one.window.percentile_us <= limit_us
        if not one.ran:
            counts.alone += paused
            counts.alone_broken += paused and not kept
            counts.prevented += reacted
        elif not kept:
            counts.judged += 1
            counts.broken += 1
            reacted = adapted
        elif reacted or one.cut:
            counts.prevented += 1
            reacted = True
        elif one.granted == one.most and one.used_s >= LEAST_USED * window_s:
            counts.judged += 1
        paused = not one.ran
    return counts


class Recorder:
    """Collects windows into blocks, and appends each block to the file.

    A thread writes, so that a slow disk delays no window.

    Attributes
    ----------
    path : Path
    fault : OSError or None
        Why a block could not be written.
    """

    def __init__(self, path: Path, handle: int, facts: SupervisedBlock, application: Application) -> None:
        self.path = path
        self.fault: OSError | None = None
        self._handle, self._facts = handle, facts
        self._load = _ServerLoad(application)
        self._windows: list[WindowOutcome] = []
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._writes: list[Future[None]] = []

    def add(self, outcome: WindowOutcome) -> None:
        """Add a window; a block that is long enough is written."""
        self._windows.append(outcome)
        if len(self._windows) * self._facts.window_s >= BLOCK_S:
            self._write_block()

    def close(self) -> None:
        """Write the last block, and wait until all are on disk."""
        if self._windows:
            self._write_block()
        self._thread.shutdown()
        for one in self._writes:
            try:
                one.result()
            except OSError as error:
                self.fault = error

    def _write_block(self) -> None:
        block = describe_block(self._facts, self._windows, self._load.read())
        self._windows = []
        self._writes.append(self._thread.submit(append_line, self._handle, msgspec.json.encode(block)))


def describe_block(
    facts: SupervisedBlock, windows: Sequence[WindowOutcome], load: float | None
) -> SupervisedBlock:
    """Describe windows as a block of a supervision with these facts."""
    age_s = (_engine.monotonic_ns() - windows[0].window.begin_ns) / 1e9
    counts = count_windows(windows, facts.limit_us, facts.window_s, adapted=facts.adapted)
    quantile = facts.percentile / 100
    return replace(
        facts,
        began=(datetime.now(UTC) - timedelta(seconds=age_s)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        processors=windows[0].most,
        windows=len(windows),
        judged=counts.judged,
        broken=counts.broken,
        prevented=counts.prevented,
        alone=counts.alone,
        alone_broken=counts.alone_broken,
        latency=_latency([one.window for one in windows if one.ran], quantile),
        latency_alone=_latency([one.window for one in windows if not one.ran], quantile),
        used_s=sum(one.used_s for one in windows),
        load=load,
    )


def _latency(windows: Sequence[Window], quantile: float) -> SupervisedLatency | None:
    """Return the medians of the windows in which enough requests were answered; None without any."""
    rows = [[one.percentile(level) for level in (0.5, 0.99, quantile)] for one in windows]
    finite = [row for row in rows if all(map(math.isfinite, row))]
    if not finite:
        return None
    p50, p99, promised = map(statistics.median, zip(*finite, strict=True))
    return SupervisedLatency(p50_us=p50, p99_us=p99, percentile_us=promised)


@contextmanager
def record_evidence(profile: Path, name: str | None, request: SuperviseRequest) -> Iterator[Recorder]:
    """Keep what a supervision learns next to the profile of its server.

    Parameters
    ----------
    profile : Path
        The server's profile.
    name : str or None
        Name of the job's profile; by default the program's.
    request : SuperviseRequest

    Raises
    ------
    UsageError
        There is no such profile, or the file next to it cannot be written.
    """
    path = supervised_path(profile)
    facts = _facts(load_card(profile).name, name, request)
    handle = _open(path)
    try:
        recorder = Recorder(path, handle, facts, request.application)
        try:
            yield recorder
        finally:
            recorder.close()
    finally:
        os.close(handle)


def _facts(server: str, name: str | None, request: SuperviseRequest) -> SupervisedBlock:
    """Return a block without windows."""
    job, pid, host = request.job, request.application.pid, os.uname()
    if isinstance(job, int):
        words = Path(f"/proc/{job}/cmdline").read_bytes() if Path(f"/proc/{job}").is_dir() else b""
        command = words.decode(errors="replace").rstrip("\0").split("\0")
        name, program = name or process_name(job), identify_process(job)
    else:
        command, program = list(job), identify_command(job)
        name = name or Path(command[0]).name
    return SupervisedBlock(
        schema=SUPERVISED_SCHEMA,
        began="",
        session=secrets.token_hex(4),
        server=server,
        job=name,
        command=command,
        server_program=None if pid is None else identify_process(pid),
        job_program=program,
        host=host.nodename,
        kernel=host.release,
        processor=read_processor(),
        percentile=round(100 * request.quantile, 10),
        limit_us=request.rules.limit_us,
        window_s=request.window_s,
        processors=0,
        adapted=request.fixed is None,
        windows=0,
        judged=0,
        broken=0,
        prevented=0,
        alone=0,
        alone_broken=0,
        latency=None,
        latency_alone=None,
        used_s=0.0,
        load=None,
    )


def _open(path: Path) -> int:
    """Open the file for appending, not through a link."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, 0o644)
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return handle
        os.close(handle)
        why = "it is not a regular file"
    except OSError as error:
        why = str(error.strerror)
    raise UsageError(
        "unwritable-file",
        f"{path} cannot be written: {why}",
        hint=f"ls -l {path}",
        option="--learn",
        path=str(path),
    )


class _ServerLoad:
    """CPU time of a server as a share of the CPUs that it may use."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._before = cpu_seconds(self._pids()), time.monotonic()

    def read(self) -> float | None:
        """Return the load since the last reading; None if the server's processes are unknown."""
        pids = self._pids()
        (used_s, at_s), self._before = self._before, (cpu_seconds(pids), time.monotonic())
        try:
            cpus = len(cpu_affinity(pids[0]))
        except (IndexError, ProcessLookupError):
            return None
        return max(0.0, self._before[0] - used_s) / max(1e-9, (self._before[1] - at_s) * cpus)

    def _pids(self) -> list[int]:
        if self._application.pid is not None:
            return process_tree(self._application.pid)
        if self._application.cgroup is None:
            return []
        try:
            return [int(one) for one in (Path(self._application.cgroup) / "cgroup.procs").read_text().split()]
        except OSError:
            return []
