"""The instrument's self-diagnosis in ``result.json``."""

from typing import Literal

from hindmost.core.store.engine import Mark
from hindmost.core.store.types import Count, Document, Number


class Figure(Document):
    """One figure of the instrument, with its limits.

    A ``share`` is of the time, or of requests. A value above ``note_above`` deserves a note; above
    ``grave_above`` it can change the verdict. Limits that depend on a quantile are for the highest requested
    one. ``mark``: ``note``, or ``unfit`` if it changed the verdict.
    """

    id: str
    title: str
    value: Number
    unit: Literal["share", "per_s", "count", "us"]
    note_above: Number
    grave_above: Number
    mark: Mark


class Neighbour(Document):
    """A process on the clients' CPUs; if not ``bound`` to them, part of its use may have been elsewhere."""

    name: str
    pid: Count
    share: float
    turns_per_s: float
    bound: bool
    kernel: bool


class InterruptSource(Document):
    """A source of interrupts on the clients' CPUs."""

    source: str
    per_s: float


class Instrument(Document):
    """The instrument's self-diagnosis."""

    figures: list[Figure]
    neighbours: list[Neighbour]
    interrupts: list[InterruptSource]
