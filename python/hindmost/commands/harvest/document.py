"""The documents of ``hindmost harvest``: their types."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Pattern = Literal["periodic", "constant", "unpredictable"]


class Class(TypedDict):
    """A class of tenants: ``confidence`` in their pattern, ``mean`` and ``peak``, as means over servers."""

    pattern: Pattern
    confidence: float
    mean: float
    peak: float
    tenants: int
    servers: float


ClassifiedTenant = TypedDict(
    "ClassifiedTenant",
    {
        "name": str,
        "environment": str,
        "servers": list[str],
        "racks": dict[str, str],
        "reimages": float,
        "space": float,
        "class": int | None,
        "pattern": Pattern | None,
        "confidence": float | None,
        "mean": float | None,
        "peak": float | None,
        "deviation": float | None,
        "period_s": float | None,
        "share": float | None,
        "missing": float,
        "clipped": float,
        "stable": bool | None,
    },
)
"""A tenant; figures of its trace are null if too much of the trace is missing."""


class Share(TypedDict):
    """One pattern: its shares of tenants and servers; ``stable``: share of tenants with it in both halves."""

    tenants: float
    servers: float
    stable: float | None


class TraceColumns(TypedDict):
    """How the columns of files of one format were interpreted; a column is a name, or a number from 1."""

    format: str
    files: int
    time: str
    server: str
    load: str
    unit: Literal["share", "percent"]


class Classes(TypedDict):
    """``hindmost.classes/1``: tenants and their classes.

    ``other_clocks``: servers whose samples all lie apart in time from most others', and are left out.
    """

    schema: Literal["hindmost.classes/1"]
    slot_s: float
    slots: int
    settings: dict[str, Any]
    classes: list[Class]
    shares: dict[str, Share]
    left_out: list[str]
    unowned_servers: int
    columns: list[TraceColumns]
    other_clocks: list[str]
    tenants: list[ClassifiedTenant]


class PlacedBlock(TypedDict):
    """The servers of a block; ``level`` 0: all rules were kept."""

    servers: list[str]
    level: int


class HarvestSimulation(TypedDict):
    """``hindmost.harvest-simulation/1``: the request to a simulated data center, and its result."""

    schema: Literal["hindmost.harvest-simulation/1"]
    kind: Literal["durability", "hazard", "availability", "scheduling"]
    synthetic: bool
    request: dict[str, Any]
    result: dict[str, float | None]
