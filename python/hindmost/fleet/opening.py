"""The fleet that a plan asks for, open as long as its study is at work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from hindmost.errors import HindmostError
from hindmost.fleet.fleet import Fleet
from hindmost.fleet.local import HERE
from hindmost.notes import Note
from hindmost.plan import MeasurePlan


@contextmanager
def fleet_of(plan: MeasurePlan, say: Callable[[str], None] = lambda _: None) -> Iterator[Fleet]:
    """Open it; this machine, where the plan names no other.

    Parameters
    ----------
    say : callable, optional
        Given the text of each note, with its code.

    Raises
    ------
    InstanceError
        If a host cannot be had: says which, and why.
    HindmostError
        If Dask is not installed.
    """
    if plan.fleet is None:
        yield HERE
        return
    need_dask()
    from hindmost.fleet.dask.fleet import DaskFleet
    from hindmost.fleet.dask.hosts import Hosts

    def tell(note: Note) -> None:
        say(f"note[{note.code}]: {note}")

    fleet = DaskFleet(Hosts.model_validate(plan.fleet), tell)
    try:
        yield fleet
    finally:
        fleet.close()


def need_dask() -> None:
    """Refuse to go on without what the extra brings."""
    for name in ("asyncssh", "distributed"):
        if find_spec(name) is None:
            raise HindmostError(
                "missing-library",
                f"a fleet needs {name}, which is not installed",
                hint="pip install 'hindmost[fleet]'",
                name=name,
            )
