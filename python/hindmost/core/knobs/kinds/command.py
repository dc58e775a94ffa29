"""Any other setting: commands of the user that read, write and undo it."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from hindmost import _engine
from hindmost.core.knobs import steps
from hindmost.core.knobs.journal import call_engine, undo_change
from hindmost.core.knobs.knob import Idle, refuse_level, undo_on_exit
from hindmost.core.notes import Note
from hindmost.core.targets import Managed
from hindmost.core.targets.guard import PR_SET_PDEATHSIG, prctl
from hindmost.errors import HostUnfit, UsageError

LEVEL, FOUND = "{level}", "{found}"
RUNNING = "commands.lock"
"""Next to the journal: locked while a command writes (crates/knobs/src/journal.rs)."""
PATIENCE_S = 60.0
"""Timeout in s, the same as of the journal's undo (crates/knobs/src/undo.rs)."""


@dataclass(frozen=True)
class Command(Idle):
    """Programs with arguments, run without a shell; ``{level}`` and ``{found}`` are replaced within words.

    Attributes
    ----------
    write
        Sets the value to ``{level}``.
    read
        Prints the present value; ``""``: the value is not verified, and `undo` has no ``{found}``.
    undo
        Restores the old value; default: `write` with what `read` printed before. It is in the journal before
        the write, and the next study runs it if this one is killed.
    """

    write: str
    read: str
    undo: str
    journal: Path

    @property
    def name(self) -> str:  # noqa: D102
        return f"command {self.write}"

    @property
    def sets(self) -> frozenset[str]:  # noqa: D102
        return frozenset({f"command:{self.write}"})

    def check(self, level: str) -> None:  # noqa: D102
        if "\0" in level or "\n" in level:
            raise refuse_level(self.name, level, "a level is one line")

    def attempt(self, level: str) -> None:  # noqa: D102
        if self.read:
            self._output(self.read)

    def before(self, level: str) -> AbstractContextManager[None]:  # noqa: D102
        return self._set(level)

    @contextmanager
    def _set(self, level: str) -> Iterator[None]:
        found = self._output(self.read) if self.read else ""
        undo = json.dumps([steps.run(_fill(self.undo, FOUND, found))])
        with undo_on_exit(self._undo):
            call_engine(
                lambda: _engine.promise_steps(self.name, undo, found, level, str(self.journal), os.getpid())
            )
            with _open_private(self.journal / RUNNING) as running:
                # Programs started by the command hold this lock too: an undo after our end waits for all of
                # them.
                fcntl.flock(running, fcntl.LOCK_SH)
                self._output(self.write, running.fileno(), level=level)
            if self.read and (is_now := self._output(self.read)) != level:
                raise HostUnfit(
                    "setting-differs",
                    f"{self.name} was set to {level!r}, but {self.read!r} then prints {is_now!r}",
                    hint="read must print a level as the study file spells it",
                    name=self.name,
                    value=level,
                    found=is_now,
                )
            yield

    def _undo(self) -> None:
        undo_change(self.name, self.journal)

    def _output(self, command: str, *descriptors: int, level: str = "") -> str:
        """Run a command and return its output, stripped; raise an error if it fails."""
        program = _fill(command, LEVEL, level)
        try:
            status, output = run(program, *descriptors)
        except OSError as error:
            status, output = 127, f"{program[0]}: {error.strerror}"
        if status != 0:
            outcome = (
                f"exited with status {status}" if status is not None else f"did not end in {PATIENCE_S:g} s"
            )
            last = output.strip().splitlines()[-1:] or ["no output"]
            raise HostUnfit(
                "command-failed",
                f"{self.name}: {command!r} {outcome}: {last[0][:200]}",
                hint="run it by hand",
                name=self.name,
                command=command,
                status=status,
            )
        return output.strip()


def _open_private(path: Path) -> IO[bytes]:
    """Open a file of the journal's folder, private to us whatever the umask, and not through a link."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.fdopen(os.open(path, flags, 0o600), "ab")
    os.fchmod(file.fileno(), 0o600)
    return file


def _fill(command: str, placeholder: str, value: str) -> list[str]:
    """Return the program's absolute path, and its arguments with the value filled in."""
    program, *arguments = (word.replace(placeholder, value) for word in shlex.split(command))
    return [shutil.which(program) or program, *arguments]


def run(command: Sequence[str], *descriptors: int) -> tuple[int | None, str]:
    """Run a command in its own session; return its status (None: killed after a minute) and its output.

    The output goes to a file in memory: processes that the command left in the background would keep a pipe
    open. The command ends with us, so that it does not write after an undo; processes that it started still
    hold `descriptors`.
    """
    here = os.getpid()

    def end_with_us() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != here:
            os._exit(1)

    with os.fdopen(os.memfd_create("words"), "w+b") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            start_new_session=True,
            preexec_fn=end_with_us,
            pass_fds=descriptors,
        )
        try:
            status: int | None = process.wait(PATIENCE_S)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            status = None
        output.seek(0)
        return status, output.read().decode(errors="replace")


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> Command:
    """Make the setting ``command = "WRITE {level}"`` with ``read`` or ``undo``, or both."""
    write, read, undo = what["command"], what.get("read", ""), what.get("undo", "")
    for key in ("command", "read", "undo"):
        _refuse_shell(key, what.get(key, ""))
    if LEVEL not in write:
        raise UsageError(
            "bad-value",
            f"command = {write!r} does not contain {LEVEL}",
            hint='command = "sysctl -qw vm.x={level}"',
            key="command",
            value=write,
        )
    if not read and not undo:
        raise UsageError(
            "missing-argument",
            f"command = {write!r} cannot be undone: it has neither read nor undo",
            hint='read = "sysctl -n vm.x" allows Hindmost to restore the old value',
            known=["read", "undo"],
        )
    if FOUND in undo and not read:
        raise UsageError(
            "missing-argument",
            f"undo = {undo!r} contains {FOUND}, but there is no read",
            hint="add read = ...",
            known=["read"],
        )
    return Command(write, read, undo or write.replace(LEVEL, FOUND), journal)


def _refuse_shell(key: str, command: str) -> None:
    """Refuse what needs a shell: unbalanced quotes, redirections, pipes, lists."""
    try:
        shlex.split(command)
        lexer = shlex.shlex(command, posix=False, punctuation_chars=True)  # quotes are kept
        lexer.whitespace_split = True
        operators = [word for word in lexer if set(word) <= set(lexer.punctuation_chars)]
    except ValueError as error:
        raise UsageError(
            "bad-value", f"{key} = {command!r}: {error}", hint="close the quotes", key=key, value=command
        ) from None
    if operators:
        raise UsageError(
            "bad-value",
            f"{key} = {command!r} runs without a shell, but {operators[0]} needs one",
            hint=f"""{key} = "sh -c 'echo $1 > FILE' sh {{level}}\"""",
            key=key,
            value=command,
        )


def missing() -> Note | None:
    """Return None: programs are looked up when they run."""
    return None
