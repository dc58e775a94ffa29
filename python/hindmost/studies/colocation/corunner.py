"""A batch job in a stressor's place: it works while a window lasts, and stands still between windows."""

from __future__ import annotations

import json
import shlex
import signal
import time
from collections.abc import Sequence
from typing import Self

from hindmost import _engine
from hindmost.errors import TargetError
from hindmost.studies.colocation.launch import Launched

_AGAIN = 'while :; do "$@" || exit; done'
"""For the shell: a job that ends well begins again, and one that fails ends all."""


class CoRunner:
    """A command that is run, again and again where it ends, on a processor of its own.

    Parameters
    ----------
    command : sequence of str
    cpu : int
    """

    def __init__(self, command: Sequence[str], cpu: int) -> None:
        self.command = list(command)
        self._launched = Launched(["/bin/sh", "-c", _AGAIN, "sh", *command], cpu)
        self._launched.send(signal.SIGSTOP)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it, with all that it started."""
        self._launched.end()

    def run(self, window: str) -> str:
        """Work for a window as a stressor does; its work is a window, and costs its CPU time."""
        asked = json.loads(window)
        time.sleep(max(0.0, (asked["start_ns"] - _engine.monotonic_ns()) / 1e9))
        before = self._launched.cpu_time.ns()
        self._launched.send(signal.SIGCONT)
        time.sleep(asked["duration_ns"] / 1e9)
        self._launched.send(signal.SIGSTOP)
        return json.dumps({"cpu_ns": self._launched.cpu_time.ns() - before, "done": 1.0, "real_time": False})

    def check(self) -> None:
        """Look whether it still is there.

        Raises
        ------
        TargetError
            Where it has failed.
        """
        if (ending := self._launched.ended()) is not None:
            raise TargetError(
                "program-ended",
                f"{shlex.join(self.command)}: {ending} while it ran next to the server",
                hint="run the command by itself and look at its exit code and stderr",
                command=self.command,
                **ending.fields,
            )
