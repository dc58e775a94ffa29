"""The batch job: one that is started here and ends with us, or one that runs already and goes on after us."""

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

from hindmost.errors import UsageError
from hindmost.interventions.changes import Places, SuspectGone, places, start_ticks
from hindmost.interventions.session import Session
from hindmost.knobs.steps import Step
from hindmost.studies.colocation.supervision.group import Group
from hindmost.targets.procfs import cpu_affinity, process_name, process_tree

GATE = 'read -r go && exec "$@" </dev/null'
"""For the shell: wait for a line on standard input, then become the job; without the line there is no job."""
PATIENCE_S = 5.0
"""Between asking a job to end and ending it."""


@dataclass(frozen=True)
class Promise:
    """What undoes the supervision of a job, as the journal has it."""

    name: str
    about: str
    undo: list[Step]


class Job:
    """A job in its group.

    Attributes
    ----------
    name : str
    pid : int
        Its topmost process.
    cpus : list of int
        Where it may run.
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
        """Its exit code, 128 and more for a signal; None while anything of it runs, -1 where it was not ours.

        A job may leave daemons behind: it runs until the group is empty.
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
        """Give it so many of its processors, the last ones (interrupts prefer the first); 0 pauses it."""
        self.group.allow(self.cpus[len(self.cpus) - count :])

    def restore(self) -> list[str]:
        """Undo what others changed of its group, and return the names of those files.

        Raises
        ------
        OSError
        HostUnfit
            It cannot be moved back.
        """
        changed = self.group.restore()
        if self.code() is None and self.pid not in self.group.members():
            self.group.take(self.pid)
            changed.append("cgroup.procs")
        return changed

    def used_s(self) -> float:
        """Processor time under supervision, with all that it started and that has ended."""
        return self.group.used_s()


@contextmanager
def running(command: Sequence[str], group: Group, session: Session) -> Iterator[Job]:
    """Start a job in a group; at the end, however it comes, all of it is ended.

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
    with session.journal(Promise(f"job {name}", f"start {name} in {group.name}", [*group.freed, *group.end])):
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
            group.take(process.pid)
            job = Job(name, process.pid, cpus, group, process)
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(b"go\n")
                process.stdin.close()
            yield job
        finally:
            with contextlib.suppress(OSError):
                process.stdin.close()
            group.free()
            _end(group, process)


def _end(group: Group, process: subprocess.Popen[bytes]) -> None:
    """Ask all of it to end; the journal's undo ends what does not."""
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
def taken(pid: int, group: Group, session: Session) -> Iterator[Job]:
    """Take a running process with all that it started into a group; at the end all go back and go on.

    Raises
    ------
    UsageError
        There is no such process.
    """
    if not Path(f"/proc/{pid}").is_dir():
        raise UsageError("no-such-process", f"there is no process {pid}", hint="pgrep -a xz", pid=pid)
    name = f"{process_name(pid)} ({pid})"
    # Older kernels forget where threads may run when they are moved.
    found = Places(name, "", places(process_tree(pid)), frozenset())
    undo = [*group.freed, *group.back(pid), *found.undo]
    with session.journal(Promise(f"job {name}", f"move {name} to {group.name}", undo)):
        cpus = cpu_affinity(pid)
        group.prepare(cpus)
        group.take(pid)
        yield Job(name, pid, cpus, group)
