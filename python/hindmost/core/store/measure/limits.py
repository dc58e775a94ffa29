"""Required limits, and the result of each."""

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from hindmost.core.store.types import Blame, Count, Document, Number


class Limit(Document):
    """One limit of ``--require``: ``held``, ``crossed`` or ``undecided``, by the interval of its figure.

    ``value``, ``low``, ``high`` and ``bound`` are in ``unit``: microseconds, a share of 1, or requests per
    second; null if infinite or unknown. The figure has to stay below ``bound``, or ``above`` it. ``about``:
    how the figure combines runs. ``blame``: what leaves it undecided, with its ``code`` and ``values``.
    ``off``: numbers of runs on the wrong side of a limit that is held. ``text``: the figure with its
    interval, and the reason, in words.
    """

    limit: str
    figure: str
    result: Literal["held", "crossed", "undecided"]
    above: bool
    bound: float
    unit: Literal["us", "share", "per_s"]
    value: Number
    low: Number
    high: Number
    about: str | UnsetType = UNSET
    runs: Count
    blame: Blame | None
    code: str | UnsetType = UNSET
    values: dict[str, Any] | UnsetType = UNSET
    off: list[int] | UnsetType = UNSET
    text: str
    hint: str | None
