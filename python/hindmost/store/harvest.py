"""Documents of ``hindmost harvest``."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Pattern = Literal["periodic", "constant", "unpredictable"]


class Class(TypedDict):
    """A class of tenants; confidence in their pattern, mean and peak are means over its servers."""

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
"""A tenant; what its trace shows is null where too much of it was missing."""


class Share(TypedDict):
    """Of one pattern: shares of tenants and servers; of its tenants, who shows it in both halves, too."""

    tenants: float
    servers: float
    stable: float | None


class TraceColumns(TypedDict):
    """How the columns of files of one format were understood; a column is a name, or a number from 1."""

    format: str
    files: int
    time: str
    server: str
    load: str
    unit: Literal["share", "percent"]


class Classes(TypedDict):
    """``hindmost.classes/1``: tenants and their classes.

    ``other_clocks``: servers whose readings all lie apart from most others', and are left out.
    """

    schema: str
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
    """Servers of a block; 0: all rules kept."""

    servers: list[str]
    level: int


class HarvestSimulation(TypedDict):
    """``hindmost.harvest-simulation/1``: what was asked of a data center, and what came out."""

    schema: str
    kind: Literal["durability", "hazard", "availability", "scheduling"]
    synthetic: bool
    asked: dict[str, Any]
    result: dict[str, float | None]
