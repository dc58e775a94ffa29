"""What every knob can do; a kind overrides what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from hindmost.errors import HindmostError, UsageError

if TYPE_CHECKING:
    from hindmost.targets import ManagedServer, TargetSpec


class Knob(Protocol):
    """Something that a study sets to one of several levels for a run.

    ::

        check -> attempt -> spec -> before ──────────────────────────────────> undo
                                      └ server starts ─ beside ───> undo ─ server stops
                                                          └ load

    Attributes
    ----------
    name : str
        How the study file calls it: ``"host thp"``, ``"option threads"``, ``"cpus"``.
    sets : frozenset of str
        What it writes. Two factors whose `sets` meet would undo each other.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def sets(self) -> frozenset[str]: ...  # noqa: D102

    def check(self, level: str) -> None:
        """Refuse what cannot be set, before anything starts; nothing is written or run.

        Raises
        ------
        UsageError
            `level` is not one of its levels.
        HostUnfit
            It cannot be had on this host; says what is missing.
        """

    def attempt(self, level: str) -> None:
        """Refuse what only a trial shows; it runs commands of the user's, or changes the host for a moment.

        Raises
        ------
        UsageError
            `level` is not one of its levels.
        HostUnfit
            It cannot be had on this host; says what failed.
        """

    def spec(self, spec: TargetSpec, level: str) -> TargetSpec:
        """What changes in how the server is started."""

    def before(self, level: str) -> AbstractContextManager[None]:
        """Set and verified before the server starts; undone on exit."""

    def beside(self, level: str, server: ManagedServer) -> AbstractContextManager[None]:
        """Set and verified on the running server, before the load; undone on exit."""


class Idle:
    """A knob that changes nothing: what the kinds start from."""

    def attempt(self, level: str) -> None:
        """Nothing has to be tried."""

    def spec(self, spec: TargetSpec, level: str) -> TargetSpec:  # noqa: D102
        return spec

    def before(self, level: str) -> AbstractContextManager[None]:  # noqa: D102
        return nullcontext()

    def beside(self, level: str, server: ManagedServer) -> AbstractContextManager[None]:  # noqa: D102
        return nullcontext()


def takes_a_trial(knob: Knob) -> bool:
    """Whether only `Knob.attempt` shows that it can be set."""
    return getattr(type(knob), "attempt", None) is not Idle.attempt


@contextmanager
def undone(undo: Callable[[], None]) -> Iterator[None]:
    """Undo on exit, however it comes; entered before anything is set, so that no signal falls between.

    Where the body failed, that is what is raised, with a failure of the undo as a note.
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
    """Refuse a value that a setting cannot have."""
    return UsageError(code, f"{name} cannot be {level!r}: {why}", hint=hint, name=name, value=level, **fields)
