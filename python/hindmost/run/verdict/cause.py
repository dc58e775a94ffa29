"""One cause, one line: merges reasons that share a cause, with what followed from it last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hindmost.run import instrument, limits
from hindmost.run.text import listed
from hindmost.run.verdict import accidents
from hindmost.run.verdict.reason import SERVER_STALLED, Evidence, Level, Origin, Reason
from hindmost.run.verdict.taken import taken
from hindmost.store import types as documents

ORIGINS: dict[str, Origin] = {
    "excluded-runs": "host",
    "steal-time": "host",
    "run-delay": "host",
    "context-switches": "host",
    "throttled": "host",
    "noisy-host": "host",
    "host-setting": "host",
    "client-busy": "client",
    "client-reads-slowly": "client",
    "sleeping-clients": "client",
    "unanswered": "server",
    "server-reads-slowly": "server",
    "not-steady": "server",
    "above-calibration": "server",
}
"""Origins of reasons that do not state theirs; all others stand alone."""
LONG_S = 0.5
"""A silence of the server that is no interference: no host takes all processors for so long."""
LEVELS: tuple[Level, ...] = ("invalid", "inconclusive", "note")


@dataclass(frozen=True, slots=True)
class Cause:
    """One line. ``codes``: the reasons that it stands for; ``origin``: their origin, if known.

    ``brief``: the first reason in short; ``values``: parameters of the line that no single reason has.
    """

    level: Level
    text: str
    hint: str | None
    codes: tuple[str, ...]
    origin: Origin | None = None
    brief: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> documents.Cause:
        """Return the cause as it stands in ``result.json``."""
        return {
            "level": self.level,
            "text": self.text,
            "hint": self.hint,
            "codes": list(self.codes),
            "origin": self.origin,
            "values": dict(self.values),
        }


def causes(e: Evidence, reasons: Sequence[Reason]) -> list[Cause]:
    """Merge reasons of one cause: what the server did wrong, then the gravest; of these, interference first.

    A server that fails requests, hangs or does not reach the rate would do so on a quiet host as well
    (`run.capacity`).
    """
    groups: dict[str, list[Reason]] = {}
    origins: dict[str, Origin | None] = {}
    for place, one in enumerate(reasons):
        origin = one.origin or ORIGINS.get(one.code)
        key = origin or str(place)
        groups.setdefault(key, []).append(one)
        origins[key] = origin
    ranked = [(_fault(group), _merged(e, origins[key], group)) for key, group in groups.items()]
    ranked.sort(key=lambda pair: (pair[0], LEVELS.index(pair[1].level), pair[1].origin != "host"))
    return [one for _, one in ranked]


def _fault(group: Sequence[Reason]) -> int:
    """Place among faults of the server: errors, hangs, missing answers, saturation; else the last."""
    by_code = {one.code: one for one in group}
    if (one := by_code.get("errors")) is not None and one.level != "note":
        return 0
    stalls = by_code[SERVER_STALLED].values["stalls"] if SERVER_STALLED in by_code else []
    if max((one["for_s"] for one in stalls), default=0.0) >= LONG_S:
        return 1
    if (one := by_code.get("unanswered")) is not None and one.values["share"] > limits.ERROR_INCONCLUSIVE:
        return 2
    if (one := by_code.get("rate-not-reached")) is not None and one.origin == "server":
        return 3
    return 4


def _merged(e: Evidence, origin: Origin | None, group: Sequence[Reason]) -> Cause:
    codes = tuple(one.code for one in group)
    level = min((one.level for one in group), key=LEVELS.index)
    first, *rest = group
    if origin == "host" and (found := _interference(e, group)):
        text, values = found
        return Cause(level, text, _host_hint(e) or first.hint, codes, origin, first.brief, values)
    after = [one.brief for one in rest if one.brief]
    text = f"{first.text}. Also: {listed(after)}" if after else first.text
    return Cause(level, text, first.hint, codes, origin, first.brief)


def _interference(e: Evidence, group: Sequence[Reason]) -> tuple[str, dict[str, Any]] | None:
    """Interference, the runs it spoiled, and what followed; None where one reason says it all."""
    aside = e.parted.aside if e.parted is not None else {}
    if len(group) == 1 and not aside:
        return None
    took = taken(e)
    shares = took.text
    if not shares and not aside:
        return None
    text = f"interference: {shares or 'the client was late by its own clock'}"
    values = took.values()
    if aside and e.parted is not None:
        made = len(e.made) or len(aside) + len(e.runs)
        values |= {"excluded": len(aside), "made": made, "counted": len(e.runs) if e.parted.believed else 0}
        left = "" if e.parted.believed else ", so none is left"
        text += f"; {len(aside)} of {made} runs {'was' if len(aside) == 1 else 'were'} excluded{left}"
    after = [one.brief for one in sorted(group, key=lambda one: one.code == "wide-intervals") if one.brief]
    return (f"{text}; as a result, {listed(after)}" if after else text), values


def _host_hint(e: Evidence) -> str:
    """What helps against whoever took most."""
    runs = e.made or e.runs
    took = taken(e)
    if took.programs > took.hypervisor:
        return accidents.keep_off(e, instrument.list_neighbours(runs))
    return (
        "repeat when the host is quieter, or use dedicated hardware; `hindmost host doctor` shows the noise"
    )
