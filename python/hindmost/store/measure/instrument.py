"""What the instrument watched of itself."""

from typing import Literal, TypedDict

from hindmost.store.engine import Mark
from hindmost.store.types import Count, Number


class Figure(TypedDict):
    """One thing that the instrument watched of itself, next to its limits.

    A ``share`` is of the time, or of requests; above ``mind_above`` it is worth a word, above ``grave_above``
    it can cost the verdict. Limits that depend on a quantile are those of the highest one asked for. ``mark``
    is what became of it: ``mind`` a word, ``unfit`` the verdict.
    """

    id: str
    title: str
    value: Number
    unit: Literal["share", "per_s", "count", "us"]
    mind_above: Number
    grave_above: Number
    mark: Mark


class Neighbour(TypedDict):
    """Who ran on the clients' processors; if not ``bound`` to them, part of it may have been elsewhere."""

    name: str
    pid: Count
    share: float
    turns_per_s: float
    bound: bool
    kernel: bool


class InterruptSource(TypedDict):
    """What interrupted the clients' processors."""

    source: str
    per_s: float


class Instrument(TypedDict):
    """The instrument's self-diagnosis."""

    figures: list[Figure]
    neighbours: list[Neighbour]
    interrupts: list[InterruptSource]
