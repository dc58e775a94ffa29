"""One tree of errors; each knows its exit code, and says what to do next.

The message says what happened, with numbers, and why it matters; ``hint`` is a command or a change that
helps.
"""

from __future__ import annotations

from typing import Literal

from hindmost.exits import Exit


class HindmostError(Exception):
    """Anything that Hindmost reports to a person instead of a traceback.

    Parameters
    ----------
    message : str
        What happened, with numbers, and why it matters.
    hint : str, optional
        What to do next; an exact command where there is one.
    exit_code : int, optional
        Overrides the class's own exit code.
    """

    exit_code: int = Exit.ERROR

    def __init__(self, message: str, *, hint: str | None = None, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code


class UsageError(HindmostError):
    """What was asked for cannot be meant: a bad flag, plan, workload or target file (exit 2)."""

    exit_code = Exit.USAGE


Shows = Literal["silent", "failing", "missing"]
"""What all requests come to at a server: no answer, an error, a miss."""


class TargetError(HindmostError):
    """The server under test could not be started, reached or recognised (exit 1).

    ``shows``: what that tells of the server itself, which limits may speak of; None where a person has to
    put something right.
    """

    shows: Shows | None = None


class InstanceError(HindmostError):
    """A load instance failed in mid-run (exit 1); ``code`` is the engine's name for it, if it gave one."""

    code: str | None = None
    shows: Shows | None = None


class HostLost(InstanceError):
    """A load host went in mid-run (exit 1): the run is void, and is made again if the host comes back."""

    def __init__(self, host: str, why: str) -> None:
        super().__init__(
            f"host {host} was lost: {why}",
            hint=f"look at {host} (power, network, memory: dmesg | tail), then go on with the study",
        )
        self.host = host
        self.code = "host_lost"


class StudyError(HindmostError):
    """A study folder cannot be read or written (exit 1)."""


class Inconclusive(HindmostError):
    """The machine or the sample cannot carry the claim (exit 4)."""

    exit_code = Exit.INCONCLUSIVE


class HostUnfit(HindmostError):
    """The host cannot do what was asked (exit 5)."""

    exit_code = Exit.UNFIT


class InvalidMeasurement(HindmostError):
    """The instrument distorted the result (exit 6)."""

    exit_code = Exit.INVALID


class Interrupted(HindmostError):
    """A person pressed Ctrl-C, or a signal asked us to end (exit 130)."""

    exit_code = Exit.INTERRUPTED
