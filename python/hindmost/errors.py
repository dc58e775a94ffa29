"""The hierarchy of errors. Each error has a code, an exit code and fields, and a hint about what to do next.

Programs and tests read ``code`` and ``fields``; people read ``message`` and ``hint``. All codes are listed in
``hindmost.core.codes``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from hindmost.core.escapes import plain
from hindmost.core.exits import Exit

if TYPE_CHECKING:
    from pathlib import Path


class HindmostError(Exception):
    """An error that Hindmost reports to a person instead of a traceback.

    Parameters
    ----------
    code : str
        The kind of problem: one of ``hindmost.core.codes.CODES``. Codes are stable; messages are not.
    message : str
        What happened, with the numbers, and why it matters.
    hint : str, optional
        What to do next: an exact command, if there is one.
    exit_code : int, optional
        Replaces the exit code of the class.
    **fields
        The values in the message, by name: ``option``, ``value``, ``path``, ``line``, ``limit``.
    """

    exit_code: int = Exit.ERROR

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        exit_code: int | None = None,
        **fields: object,
    ) -> None:
        message = plain(message)
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = None if hint is None else plain(hint)
        self.fields: dict[str, Any] = fields
        if exit_code is not None:
            self.exit_code = exit_code

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without calling ``__init__``, whose arguments differ between classes."""
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[HindmostError], args: tuple[Any, ...], state: dict[str, Any]) -> HindmostError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class UsageError(HindmostError):
    """A bad option, plan, workload or target file (exit code 2)."""

    exit_code = Exit.USAGE


class ArgumentError(HindmostError, ValueError):
    """A bad argument of a Python function (exit code 2). It is also a ``ValueError``, as users expect."""

    exit_code = Exit.USAGE


ServerState = Literal["silent", "failing", "missing"]
"""How a server answers all requests: not at all, with errors, or with misses."""


class TargetError(HindmostError):
    """The server under test could not be started, reached or recognised (exit code 1).

    ``shows`` is the state of the server, for limits. It is None if a person has to correct something first.
    """

    shows: ServerState | None = None


class ClientError(HindmostError):
    """A client failed during a run (exit code 1); ``code`` is the engine's code for it, if it has one."""

    shows: ServerState | None = None


class HostLost(ClientError):
    """A load host was lost during a run (exit code 1). The run is void, and is repeated if it comes back."""

    def __init__(self, host: str, why: str) -> None:
        super().__init__(
            "host-lost",
            f"host {host} was lost: {why}",
            hint=f"look at {host} (power, network, memory: dmesg | tail), then go on with the study",
            host=host,
        )
        self.host = host


def unreadable_file(path: Path, why: OSError, *, place: str = "", option: str | None = None) -> UsageError:
    """Return the error for a file of a user that cannot be read; `place` precedes its path."""
    error = UsageError(
        "no-such-file" if isinstance(why, FileNotFoundError) else "unreadable-file",
        f"{place}{path} cannot be read: {why.strerror}",
        hint=f"ls -l {path}",
        path=str(path),
    )
    if option is not None:
        error.fields["option"] = option
    return error


class StudyError(HindmostError):
    """A study folder cannot be read or written (exit code 1)."""


class Inconclusive(HindmostError):
    """The machine or the sample cannot support the claim (exit code 4)."""

    exit_code = Exit.INCONCLUSIVE


class HostUnfit(HindmostError):
    """The host cannot do what was requested (exit code 5)."""

    exit_code = Exit.UNFIT


class InvalidMeasurement(HindmostError):
    """The load generator distorted the result (exit code 6)."""

    exit_code = Exit.INVALID


class Interrupted(HindmostError):
    """A person pressed Ctrl-C, or a signal asked the process to end (exit code 130)."""

    exit_code = Exit.INTERRUPTED

    def __init__(
        self, message: str = "interrupted", *, hint: str | None = "run the command again", **fields: object
    ) -> None:
        super().__init__("interrupted", message, hint=hint)
        self.fields.update(fields)
