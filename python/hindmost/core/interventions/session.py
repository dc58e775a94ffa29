"""A session of interventions: journalled first, guarded by a watchdog, undone on every exit path."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost import _engine
from hindmost.core.knobs.journal import FOLDER, call_engine, check_restored, recover, undo_change
from hindmost.core.knobs.knob import undo_on_exit
from hindmost.errors import HindmostError

if TYPE_CHECKING:
    from hindmost.core.interventions.changes import Intervention, Reversible

LONGEST_S = 10.0
"""Longest time in seconds that a suspect stays removed. Then the watchdog restores it, even if we have
died."""
WATCHDOG = Path(__file__).with_name("watchdog.py")


class Session:
    """Removes suspects and restores them. A host has at most one session at a time."""

    def __init__(self, journal: Path, watchdog: subprocess.Popen[bytes]) -> None:
        self._journal = journal
        self._watchdog = watchdog

    @contextmanager
    def journal(self, suspect: Reversible) -> Iterator[None]:
        """Journal the undo steps of `suspect`. Inside, `remove` may remove it any number of times."""
        with undo_on_exit(lambda: undo_change(suspect.name, self._journal)):
            call_engine(
                lambda: _engine.promise_steps(
                    suspect.name,
                    json.dumps(suspect.undo),
                    "there",
                    suspect.description,
                    str(self._journal),
                    os.getpid(),
                )
            )
            yield

    @contextmanager
    def remove(self, suspect: Intervention) -> Iterator[None]:
        """Remove the suspect inside the block. The watchdog restores it after `LONGEST_S`."""
        self._tell_watchdog({"hold": suspect.name, "seconds": LONGEST_S})
        try:
            suspect.remove()
            yield
        finally:
            suspect.give_back()
            self._tell_watchdog({"done": suspect.name})

    @contextmanager
    def lease(self, name: str, seconds: float) -> Iterator[Callable[[], None]]:
        """Make the watchdog undo the change called `name` unless it is renewed every `seconds`.

        Yields
        ------
        callable
            Call it to renew the lease.
        """
        until = time.monotonic() + seconds

        def renew() -> None:
            nonlocal until
            now = time.monotonic()
            if now > until:
                raise HindmostError(
                    "lease-expired",
                    f"this command stood still for more than {seconds:g} s, so the watchdog has undone"
                    f" {name}",
                    hint="run the same command again",
                    name=name,
                    limit=seconds,
                    unit="s",
                )
            self._tell_watchdog({"hold": name, "seconds": seconds})
            until = now + seconds

        renew()
        try:
            yield renew
        finally:
            self._tell_watchdog({"done": name})

    def keep(self, correction: Intervention) -> None:
        """Leave a correction in force after the command ends; `hindmost host knobs restore` undoes it."""
        call_engine(lambda: _engine.keep_knob(correction.name, str(self._journal), os.getpid()))
        correction.remove()

    def _tell_watchdog(self, order: dict[str, object]) -> None:
        assert self._watchdog.stdin is not None
        try:
            self._watchdog.stdin.write(f"{json.dumps(order)}\n".encode())
            self._watchdog.stdin.flush()
        except OSError:
            raise HindmostError(
                "watchdog-ended",
                "the watchdog has ended, and nothing is changed without it",
                hint="run hindmost host knobs restore, then the same command again",
            ) from None


@contextmanager
def start_session(journal: Path = FOLDER) -> Iterator[Session]:
    """Start a session of interventions, after undoing what a killed session left behind.

    Raises
    ------
    HindmostError
        Another diagnosis or supervision runs on this host, or the journal cannot be kept.
    """
    check_restored(recover(journal))
    with _alone(journal):
        watchdog = subprocess.Popen(
            [sys.executable, "-P", str(WATCHDOG), str(journal), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert watchdog.stdout is not None
        try:
            if watchdog.stdout.readline() != b"ready\n":
                raise HindmostError("watchdog-ended", "the watchdog did not start; nothing was changed")
            yield Session(journal, watchdog)
        finally:
            assert watchdog.stdin is not None
            with contextlib.suppress(OSError):
                watchdog.stdin.close()
            watchdog.wait()
            watchdog.stdout.close()


@contextmanager
def _alone(journal: Path) -> Iterator[None]:
    journal.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(
        os.open(journal / "diagnose.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "rb"
    ) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HindmostError(
                "diagnosis-in-progress",
                "another diagnosis or supervision is changing this host, and two would see each other's"
                " changes",
                hint="wait until it ends",
                path=str(journal),
            ) from None
        yield
