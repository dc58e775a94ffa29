"""The documents of ``hindmost harvest``."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from hindmost.core.store.types import Document

Pattern = Literal["periodic", "constant", "unpredictable"]


class Class(Document):
    """A class of tenants: ``confidence`` in their pattern, ``mean`` and ``peak``, as means over servers."""

    pattern: Pattern
    confidence: float = 0.0
    mean: float
    peak: float
    tenants: int
    servers: float


class ClassifiedTenant(Document):
    """A tenant; figures of its trace are null if too much of the trace is missing."""

    name: str
    environment: str
    servers: list[str]
    racks: dict[str, str]
    reimages: float
    space: float
    class_: int | None = msgspec.field(name="class")
    pattern: Pattern | None = None
    confidence: float | None = None
    mean: float | None = None
    peak: float | None = None
    deviation: float | None = None
    period_s: float | None = None
    share: float | None = None
    missing: float = 0.0
    clipped: float = 0.0
    stable: bool | None = None


class Share(Document):
    """One pattern: its shares of tenants and servers; ``stable``: share of tenants with it in both halves."""

    tenants: float
    servers: float
    stable: float | None


class TraceColumns(Document):
    """How the columns of files of one format were interpreted; a column is a name, or a number from 1."""

    format: str
    files: int
    time: str
    server: str
    load: str
    unit: Literal["share", "percent"]


class Classes(Document):
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
    unowned_servers: int = 0
    columns: list[TraceColumns]
    other_clocks: list[str]
    tenants: list[ClassifiedTenant]

    @property
    def classified(self) -> list[ClassifiedTenant]:
        """The tenants that have a class."""
        return [one for one in self.tenants if one.class_ is not None]


class PlacedBlock(Document):
    """The servers of a block; ``level`` 0: all rules were kept."""

    servers: list[str]
    level: int


class Placement(Document):
    """The output of ``hindmost harvest place``.

    ``first_full``: the tenant that is full first if placement continues so, and the share of all space in use
    by then.
    """

    blocks: list[PlacedBlock]
    first_full: tuple[str, float] | None


class HarvestSimulation(Document):
    """``hindmost.harvest-simulation/1``: the request to a simulated data center, and its result."""

    schema: Literal["hindmost.harvest-simulation/1"]
    kind: Literal["durability", "hazard", "availability", "scheduling"]
    synthetic: bool
    request: dict[str, Any]
    result: dict[str, float | None]
