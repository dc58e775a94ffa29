"""A program under study: started on its own CPU, its work counted; it ends with us."""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Sequence
from typing import Self

from hindmost.commands.colocate.launch import LaunchedProgram
from hindmost.commands.colocate.units import Lines, Units
from hindmost.errors import TargetError

_FIRST_UNIT_S = 5.0
_LEAST_UNITS = 3


class Subject:
    """A running program with its descendants, whose units of work are counted.

    Rates are units per second of its own CPU time, so CPU time used by other programs does not matter. They
    are wrong for programs that spin while they wait.

    Parameters
    ----------
    command : sequence of str
    cpu : int
        CPU of the program.
    units : Units, optional
        Where units are counted; by default lines on stdout.
    real_time : bool
        Whether to ask for real-time priority. The program is stopped between windows.
    """

    def __init__(
        self, command: Sequence[str], cpu: int, units: Units | None = None, *, real_time: bool = False
    ) -> None:
        self.command = list(command)
        self.units = Lines() if units is None else units
        self.hint = self.units.hint
        self._program = LaunchedProgram(self.command, cpu, read=self.units.on_stdout, real_time=real_time)
        self._cpu_time = self._program.cpu_time
        self.real_time = self._program.real_time
        self.counts_children = self._cpu_time.counts_children
        self.units.attach(self._program.stdout)
        self._start = time.monotonic()

    def __enter__(self) -> Self:
        """Wait for the first units."""
        end = time.monotonic() + _FIRST_UNIT_S
        while (units := self.units.total()) < _LEAST_UNITS:
            ending = self._program.ending()
            if ending is not None or time.monotonic() > end:
                why = ending or f"it reported {units:g} {self.units.name} in {_FIRST_UNIT_S:g} s"
                self.__exit__()
                raise TargetError(
                    "program-ended" if ending else "few-units",
                    f"{shlex.join(self.command)}: {why}; at least {_LEAST_UNITS} units of work are needed",
                    hint=self.units.hint,
                    command=self.command,
                    have=units,
                    need=_LEAST_UNITS,
                    unit=self.units.name,
                    **(ending.fields if ending else {}),
                )
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        """End the program and all that it started."""
        self._program.end()

    @property
    def name(self) -> str:
        """Name of its unit, in the plural."""
        return self.units.name

    def pause(self) -> None:
        """Stop the program."""
        self._program.send(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue the program."""
        self._program.send(signal.SIGCONT)

    def run_window(self, length_s: float) -> None:
        """Wait for the end of the window."""
        time.sleep(length_s)

    def count(self, when: str, window: int | None = None, beside: str | None = None) -> tuple[float, int]:
        """Return the units so far, and the CPU time, ns.

        Parameters
        ----------
        when : str
            For the error message: ``in window 7, beside l3``.
        window, beside : optional
            The same, as fields of the error.

        Raises
        ------
        TargetError
            The program has ended.
        """
        if (ending := self._program.ending()) is not None:
            lasted = time.monotonic() - self._start
            raise TargetError(
                "program-ended",
                f"{shlex.join(self.command)}: {ending} {when}, {lasted:.1f} s after its start. A profile"
                " compares windows of the same work, so the program must run until it is stopped",
                hint="repeat its work in a loop, or use --work cpu if a run is the unit",
                command=self.command,
                after_s=lasted,
                **ending.fields,
                window=window,
                beside=beside,
            )
        return self.units.total(), self._cpu_time.ns()
