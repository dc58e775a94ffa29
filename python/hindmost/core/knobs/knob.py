"""The interface of a setting; each kind overrides what it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from hindmost.errors import HindmostError, UsageError

if TYPE_CHECKING:
    from hindmost.core.targets import ManagedServer, TargetSpec


class Knob(Protocol):
    """Something that a study sets to one of several levels for a run.

    ::

        check -> attempt -> spec -> before ─────────────────────────────────────> undo
                                      └ server starts ─ on_server ───> undo ─ server stops
                                                          └ load

    Attributes
    ----------
    name : str
        Its name in the study file: ``"host thp"``, ``"option threads"``, ``"cpus"``.
    sets : frozenset of str
        What it changes. Two factors whose `sets` overlap would undo each other.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def sets(self) -> frozenset[str]: ...  # noqa: D102

    def check(self, level: str) -> None:
        """Refuse a level that cannot be set, before anything starts; write and run nothing.

        Raises
        ------
        UsageError
            If `level` is not one of its levels.
        HostUnfit
            If it is not available on this host; names what is missing.
        """

    def attempt(self, level: str) -> None:
        """Refuse a level that only a trial can refuse; run the user's commands, or change the host briefly.

        Raises
        ------
        UsageError
            If `level` is not one of its levels.
        HostUnfit
            If it is not available on this host; says what failed.
        """

    def spec(self, spec: TargetSpec, level: str) -> TargetSpec:
        """Return the changed description of how the server is started."""

    def before(self, level: str) -> AbstractContextManager[None]:
        """Set and verify the level before the server starts; restore on exit."""

    def on_server(self, level: str, server: ManagedServer) -> AbstractContextManager[None]:
        """Set and verify the level on the running server, before the load; restore on exit."""


class Idle:
    """A setting that changes nothing: the base class of the kinds."""

    def attempt(self, level: str) -> None:
        """Do nothing: no trial is needed."""

    def spec(self, spec: TargetSpec, level: str) -> TargetSpec:  # noqa: D102
        return spec

    def before(self, level: str) -> AbstractContextManager[None]:  # noqa: D102
        return nullcontext()

    def on_server(self, level: str, server: ManagedServer) -> AbstractContextManager[None]:  # noqa: D102
        return nullcontext()


def needs_attempt(knob: Knob) -> bool:
    """Whether only `Knob.attempt` shows that it can be set."""
    return getattr(type(knob), "attempt", None) is not Idle.attempt


def can_be_kept(knob: Knob) -> bool:
    """Whether a level can stay in force while servers start and stop."""
    parts = (getattr(type(knob), name, None) for name in ("spec", "on_server"))
    return tuple(parts) == (Idle.spec, Idle.on_server)


@contextmanager
def undo_on_exit(undo: Callable[[], None]) -> Iterator[None]:
    """Undo on every exit. Enter it before anything is set, so that no signal comes between.

    If the body fails, its error is raised, with a failure of the undo as a note.
    """
    try:
        yield
    except BaseException as error:
        try:
            undo()
        except HindmostError as failure:
            error.add_note(failure.message)
        raise
    undo()


def refuse_level(
    name: str,
    level: str,
    why: str,
    hint: str | None = None,
    *,
    code: str = "bad-value",
    **fields: Any,  # noqa: ANN401 (as of HindmostError)
) -> UsageError:
    """Return the error for a value that a setting cannot have."""
    return UsageError(code, f"{name} cannot be {level!r}: {why}", hint=hint, name=name, value=level, **fields)
