"""A program under study: started on a processor of its own, its work counted, stopped and ended with us."""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Sequence
from typing import Self

from hindmost.errors import TargetError
from hindmost.studies.colocation.launch import Launched
from hindmost.studies.colocation.units import Lines, Units

_FIRST_UNIT_S = 5.0
_LEAST_UNITS = 3


class Subject:
    """A running program, all that it starts in its turn included, whose units of work are counted.

    Rates are units a second of its own CPU time: what others take of the processor does not count. That is
    wrong for programs that spin while they wait.

    Parameters
    ----------
    command : sequence of str
    cpu : int
        Where it runs.
    units : Units, optional
        Lines on its stdout, where nothing else is said.
    real_time : bool
        Whether it goes before all that is not real-time, where that is allowed; it is paused between windows.
    """

    def __init__(
        self, command: Sequence[str], cpu: int, units: Units | None = None, *, real_time: bool = False
    ) -> None:
        self.command = list(command)
        self.units = Lines() if units is None else units
        self.hint = self.units.hint
        self._launched = Launched(self.command, cpu, read=self.units.on_stdout, real_time=real_time)
        self._cpu_time = self._launched.cpu_time
        self.real_time = self._launched.real_time
        self.counts_children = self._cpu_time.of_children
        self.units.attach(self._launched.stdout)
        self._begun = time.monotonic()

    def __enter__(self) -> Self:
        """Wait for the first units."""
        end = time.monotonic() + _FIRST_UNIT_S
        while (units := self.units.total()) < _LEAST_UNITS:
            ending = self._launched.ended()
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
        self._launched.end()

    @property
    def name(self) -> str:
        """Of its unit, in the plural."""
        return self.units.name

    def pause(self) -> None:
        """Stop it where it is."""
        self._launched.send(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._launched.send(signal.SIGCONT)

    def last(self, length_s: float) -> None:
        """Let a window last."""
        time.sleep(length_s)

    def count(self, when: str, window: int | None = None, beside: str | None = None) -> tuple[float, int]:
        """Units so far, and CPU time in nanoseconds.

        Parameters
        ----------
        when : str
            For the message: ``in window 7, beside l3``.
        window, beside : optional
            The same as fields of the error.

        Raises
        ------
        TargetError
            Where the program has ended.
        """
        if (ending := self._launched.ended()) is not None:
            lasted = time.monotonic() - self._begun
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
