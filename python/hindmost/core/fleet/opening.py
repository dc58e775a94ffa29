"""Opens the fleet of a plan for the duration of its study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from hindmost.core.fleet.fleet import Fleet
from hindmost.core.fleet.local import HERE
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.errors import HindmostError


@contextmanager
def fleet_of(plan: MeasurePlan, say: Callable[[str], None] = lambda _: None) -> Iterator[Fleet]:
    """Open the fleet of a plan; this machine, if the plan names no other.

    Parameters
    ----------
    say : callable, optional
        Called with the text of each note, with its code.

    Raises
    ------
    InstanceError
        If a host is not available: names the host and the reason.
    HindmostError
        If Dask is not installed.
    """
    if plan.fleet is None:
        yield HERE
        return
    need_dask()
    from hindmost.core.fleet.dask.fleet import DaskFleet
    from hindmost.core.fleet.dask.hosts import Hosts

    def tell(note: Note) -> None:
        say(f"note[{note.code}]: {note}")

    fleet = DaskFleet(Hosts.model_validate(plan.fleet), tell)
    try:
        yield fleet
    finally:
        fleet.close()


def need_dask() -> None:
    """Raise an error if the libraries of the extra are missing."""
    for name in ("asyncssh", "distributed"):
        if find_spec(name) is None:
            raise HindmostError(
                "missing-library",
                f"a fleet needs {name}, which is not installed",
                hint="pip install 'hindmost[fleet]'",
                name=name,
            )
