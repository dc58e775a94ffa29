"""The sharing of locks or memory between threads, and its form in the clone document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hindmost.commands.clone.fit.laws.families import round_digits
from hindmost.core.notes import Note


@dataclass(frozen=True)
class Sharing:
    """The result of comparing logs of several thread counts.

    Parameters
    ----------
    hold_us : float
        Time each request holds a lock; 0 without one.
    stretch : float
        `load.busy` of the document; 0 without a stretch.
    intervals : dict
        95 % intervals by path in the document.
    notes : tuple of Note
        The findings.
    unknown : tuple of Note
        What remains unknown.
    """

    hold_us: float = 0.0
    stretch: float = 0.0
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    unknown: tuple[Note, ...] = ()

    def document(self, clone: dict[str, Any], mean_us: float) -> dict[str, Any]:
        """Return the document with lock and stretch."""
        return with_sharing(clone, mean_us, round_digits(self.hold_us), round_digits(self.stretch))


def with_sharing(clone: dict[str, Any], mean_us: float, hold_us: float, stretch: float) -> dict[str, Any]:
    """Return the document with a lock that every request holds for `hold_us`, and a stretch."""
    document = {**clone, "load": {**clone.get("load", {}), "busy": stretch}}
    if hold_us > 0.0:
        factor = 1.0 - hold_us / mean_us
        for group in [document] if document.get("service") else []:
            document["service"] = [_shorter(component, factor) for component in group["service"]]
        if document.get("kinds"):
            document["kinds"] = [
                {**kind, "service": [_shorter(component, factor) for component in kind["service"]]}
                for kind in document["kinds"]
            ]
        hold = {"kind": "deterministic", "us": hold_us}
        document["locks"] = [{"name": "shared", "at": "before", "hold": hold}]
    return document


def _shorter(component: dict[str, Any], factor: float) -> dict[str, Any]:
    law = dict(component["law"])
    for key, value in law.items():
        if (key == "us" or key.endswith("_us")) and value is not None:
            law[key] = value * factor
        elif key == "points":
            law[key] = [[p, us * factor] for p, us in value]
    return {**component, "law": law}
