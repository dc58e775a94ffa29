"""A batch job in place of a stressor: it runs during a window, and is stopped between windows."""

from __future__ import annotations

import json
import shlex
import signal
import time
from collections.abc import Sequence
from typing import Self

from hindmost import _engine
from hindmost.commands.colocate.launch import LaunchedProgram
from hindmost.errors import TargetError

_AGAIN = 'while :; do "$@" || exit; done'
"""Shell script that restarts a job after success, and ends when it fails."""


class CoRunner:
    """A command that runs on its own CPU, and is restarted whenever it ends.

    Parameters
    ----------
    command : sequence of str
    cpu : int
    """

    def __init__(self, command: Sequence[str], cpu: int) -> None:
        self.command = list(command)
        self._program = LaunchedProgram(["/bin/sh", "-c", _AGAIN, "sh", *command], cpu)
        self._program.send(signal.SIGSTOP)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the command and all its descendants."""
        self._program.end()

    def run(self, window: str) -> str:
        """Run for a window, like a stressor. The result counts one unit and the job's CPU time."""
        request = json.loads(window)
        time.sleep(max(0.0, (request["start_ns"] - _engine.monotonic_ns()) / 1e9))
        before = self._program.cpu_time.ns()
        self._program.send(signal.SIGCONT)
        time.sleep(request["duration_ns"] / 1e9)
        self._program.send(signal.SIGSTOP)
        return json.dumps({"cpu_ns": self._program.cpu_time.ns() - before, "done": 1.0, "real_time": False})

    def check(self) -> None:
        """Check that the command still runs.

        Raises
        ------
        TargetError
            The command has failed.
        """
        if (ending := self._program.ending()) is not None:
            raise TargetError(
                "program-ended",
                f"{shlex.join(self.command)}: {ending} while it ran next to the server",
                hint="run the command alone and look at its exit code and stderr",
                command=self.command,
                **ending.fields,
            )
