"""The batch job: a command started here that ends with us, or a running process that continues after us."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hindmost.commands.colocate.supervision.group import Group
from hindmost.core.interventions.changes import Places, SuspectGone, places, start_ticks
from hindmost.core.interventions.session import Session
from hindmost.core.knobs.steps import Step
from hindmost.core.targets.procfs import cpu_affinity, process_name, process_tree
from hindmost.errors import UsageError

GATE = 'read -r go && exec "$@" </dev/null'
"""Shell script that waits for a line on stdin and then becomes the job, so that the job starts in its
group."""
PATIENCE_S = 5.0
"""Time between asking a job to end and killing it, s."""


@dataclass(frozen=True)
class Promise:
    """The steps that undo a job's supervision, for the journal."""

    name: str
    description: str
    undo: list[Step]


class Job:
    """A job in its control group.

    Attributes
    ----------
    name : str
    pid : int
        Its topmost process.
    cpus : list of int
        CPUs on which it may run.
    """

    def __init__(
        self,
        name: str,
        pid: int,
        cpus: Sequence[int],
        group: Group,
        process: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.name, self.pid, self.cpus, self.group = name, pid, list(cpus), group
        self._process = process
        self._start = start_ticks(pid)

    def code(self) -> int | None:
        """Return its exit code (128 + n for signal n), None while it runs, or -1 if it was not started here.

        A job may leave daemons behind, so it runs until its group is empty.
        """
        code = self._top_code()
        return None if code is not None and self.group.members() else code

    def _top_code(self) -> int | None:
        if self._process is not None:
            code = self._process.poll()
            return code if code is None or code >= 0 else 128 - code
        with contextlib.suppress(SuspectGone):
            if start_ticks(self.pid) == self._start:
                return None
        return -1

    def allow(self, count: int) -> None:
        """Let the job use the last `count` of its CPUs (interrupts prefer the first); 0 pauses it."""
        self.group.allow(self.cpus[len(self.cpus) - count :])

    def restore(self) -> list[str]:
        """Undo changes that others made to its group, and return the names of the files.

        Raises
        ------
        OSError
        HostUnfit
            The job cannot be moved back.
        """
        changed = self.group.restore()
        if self.code() is None and self.pid not in self.group.members():
            self.group.move_in(self.pid)
            changed.append("cgroup.procs")
        return changed

    def used_s(self) -> float:
        """Return the CPU time of the job and all its descendants under supervision, s."""
        return self.group.used_s()


@contextmanager
def start_job(command: Sequence[str], group: Group, session: Session) -> Iterator[Job]:
    """Start a job in a group; on exit, the job and all its descendants are ended.

    Raises
    ------
    UsageError
        There is no such program.
    """
    if shutil.which(command[0]) is None:
        raise UsageError(
            "missing-program",
            f"there is no program {command[0]}",
            hint="give a command, or the id of a running process",
            name=command[0],
        )
    name = Path(command[0]).name
    with session.journal(
        Promise(f"job {name}", f"start {name} in {group.name}", [*group.release_steps, *group.kill_steps])
    ):
        process = subprocess.Popen(
            ["/bin/sh", "-c", GATE, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdin is not None
        try:
            cpus = sorted(os.sched_getaffinity(0))
            group.prepare(cpus)
            group.move_in(process.pid)
            job = Job(name, process.pid, cpus, group, process)
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(b"go\n")
                process.stdin.close()
            yield job
        finally:
            with contextlib.suppress(OSError):
                process.stdin.close()
            group.release()
            _end(group, process)


def _end(group: Group, process: subprocess.Popen[bytes]) -> None:
    """Ask all members to end, and kill those that do not."""
    for pid in group.members():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + PATIENCE_S
    while group.members() and time.monotonic() < until:
        process.poll()
        time.sleep(0.01)
    for pid in group.members():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


@contextmanager
def adopt_process(pid: int, group: Group, session: Session) -> Iterator[Job]:
    """Move a running process and its descendants into a group; on exit, they are moved back and continue.

    Raises
    ------
    UsageError
        There is no such process.
    """
    if not Path(f"/proc/{pid}").is_dir():
        raise UsageError("no-such-process", f"there is no process {pid}", hint="pgrep -a xz", pid=pid)
    name = f"{process_name(pid)} ({pid})"
    # Older kernels forget the CPU affinity of threads that are moved.
    found = Places(name, "", places(process_tree(pid)), frozenset())
    undo = [*group.release_steps, *group.return_steps(pid), *found.undo]
    with session.journal(Promise(f"job {name}", f"move {name} to {group.name}", undo)):
        cpus = cpu_affinity(pid)
        group.prepare(cpus)
        group.move_in(pid)
        yield Job(name, pid, cpus, group)
