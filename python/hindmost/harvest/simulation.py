"""Years and data centers in seconds: the engine's simulators, on synthetic data centers."""

from __future__ import annotations

from typing import Any, Literal

from hindmost.errors import UsageError
from hindmost.harvest.classes import engine
from hindmost.store.harvest import HarvestSimulation

SCHEMA = "hindmost.harvest-simulation/1"
Kind = Literal["durability", "hazard", "availability", "scheduling"]
CENTERS = 10


def published(number: int, **changes: float) -> dict[str, Any]:
    """Give the synthetic stand-in of one of the ten data centers of chapter IV, some of it changed.

    Within the bands that the chapter publishes; what it does not publish (sizes, waves of reimages,
    amplitudes) is assumed. ``crates/harvest/src/simulate/center.rs`` says which is which.
    """
    if not 0 <= number < CENTERS:
        raise UsageError(f"there is no DC-{number}: there are DC-0 to DC-{CENTERS - 1}")
    made: dict[str, Any] = engine("center", number)
    return made | changes


def simulate(kind: Kind, center: dict[str, Any] | None = None, **asked: object) -> HarvestSimulation:
    """Simulate a data center.

    Parameters
    ----------
    kind
        ``durability``: blocks lost to reimages; ``hazard``: the exact rate of that, for blocks too safe to
        lose any in a simulation; ``availability``: accesses that find all replicas busy; ``scheduling``: jobs
        and kills.
    center : dict, optional
        From `published`.
    **asked
        Settings of the simulator, as in ``crates/harvest/src/simulate``: ``policy`` (stock, racks,
        environments, grid, cost), ``blocks``, ``replicas``, ``months``, ``utilisation``, ``scheduler``
        (aware, history).

    Raises
    ------
    UsageError
        A setting is unknown or out of range.

    Examples
    --------
    >>> small = published(9, servers=300, tenants=60)
    >>> found = simulate("availability", small, utilisation=0.1, blocks=500, days=1.0)
    >>> found["result"]["failed"]
    0
    """
    document = {**asked, "center": published(9) if center is None else center}
    return {
        "schema": SCHEMA,
        "kind": kind,
        "synthetic": True,
        "asked": document,
        "result": engine(kind, document),
    }
