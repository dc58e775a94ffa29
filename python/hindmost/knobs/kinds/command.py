"""Anything else: commands of the user's that read, write and undo."""

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
from hindmost.errors import HostUnfit, UsageError
from hindmost.knobs import steps
from hindmost.knobs.journal import put_back, told
from hindmost.knobs.knob import Idle, refuse_level, undone
from hindmost.notes import Note
from hindmost.targets import Managed
from hindmost.targets.guard import PR_SET_PDEATHSIG, prctl

LEVEL, FOUND = "{level}", "{found}"
RUNNING = "commands.lock"
"""Next to the journal: held while a command writes (crates/knobs/src/journal.rs)."""
PATIENCE_S = 60.0
"""The same as the journal's undo grants (crates/knobs/src/undo.rs)."""


@dataclass(frozen=True)
class Command(Idle):
    """Programs with arguments, read by no shell; ``{level}`` and ``{found}`` are replaced within words.

    Attributes
    ----------
    write
        Sets it to ``{level}``.
    read
        Prints what it is set to; ``""``: what was set is not verified, and `undo` needs no ``{found}``.
    undo
        Puts it back; by default `write`, with what `read` printed before. It stands in the journal before the
        write, and is run by the next study if this one is killed.
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
        undo = json.dumps([steps.run(_filled(self.undo, FOUND, found))])
        with undone(self._undo):
            told(lambda: _engine.promise_steps(self.name, undo, found, level, str(self.journal), os.getpid()))
            with _ours(self.journal / RUNNING) as running:
                # What the command starts holds this, too: an undo after our end waits for the last of it.
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
        put_back(json.loads(told(lambda: _engine.undo_knob(self.name, str(self.journal), os.getpid()))))

    def _output(self, command: str, *held: int, level: str = "") -> str:
        """What it prints, without the white space around it; a failure is told."""
        program = _filled(command, LEVEL, level)
        try:
            status, words = run(program, *held)
        except OSError as error:
            status, words = 127, f"{program[0]}: {error.strerror}"
        if status != 0:
            how = f"exited with status {status}" if status is not None else f"did not end in {PATIENCE_S:g} s"
            last = words.strip().splitlines()[-1:] or ["no output"]
            raise HostUnfit(
                "command-failed",
                f"{self.name}: {command!r} {how}: {last[0][:200]}",
                hint="run it by hand",
                name=self.name,
                command=command,
                status=status,
            )
        return words.strip()


def _ours(path: Path) -> IO[bytes]:
    """A file of the journal's folder, opened; nobody else's whatever the umask, and not through a link."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.fdopen(os.open(path, flags, 0o600), "ab")
    os.fchmod(file.fileno(), 0o600)
    return file


def _filled(command: str, place: str, value: str) -> list[str]:
    """The program, by its absolute path, and its arguments with a value in them."""
    program, *arguments = (word.replace(place, value) for word in shlex.split(command))
    return [shutil.which(program) or program, *arguments]


def run(command: Sequence[str], *held: int) -> tuple[int | None, str]:
    """Run one in a session of its own; its status (None: killed after a minute), its words.

    Words go to a file in memory: a pipe would be held open by whatever the command left in the background. It
    ends with us, so that it does not write after an undo; what it has started by then still holds `held`
    (descriptors).
    """
    here = os.getpid()

    def end_with_us() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != here:
            os._exit(1)

    with os.fdopen(os.memfd_create("words"), "w+b") as words:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            cwd="/",
            start_new_session=True,
            preexec_fn=end_with_us,
            pass_fds=held,
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
        words.seek(0)
        return status, words.read().decode(errors="replace")


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> Command:
    """The knob ``command = "WRITE {level}"`` with ``read`` or ``undo``, or both."""
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
    """Refuse what only a shell understands: unbalanced quotes, redirections, pipes, lists."""
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
            f"{key} = {command!r} runs without a shell, which alone understands {operators[0]}",
            hint=f"""{key} = "sh -c 'echo $1 > FILE' sh {{level}}\"""",
            key=key,
            value=command,
        )


def missing() -> Note | None:
    """Return nothing: a program is looked for when it is run."""
    return None
