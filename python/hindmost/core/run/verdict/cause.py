"""Merges reasons that share a cause into one line: the cause first, its consequences last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hindmost.core.run import instrument, limits
from hindmost.core.run.text import join_names
from hindmost.core.run.verdict import accidents
from hindmost.core.run.verdict.interference import measure_interference
from hindmost.core.run.verdict.reason import SERVER_STALLED, Evidence, Level, Origin, Reason
from hindmost.core.store import types as documents

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
"""A server silence this long, in s, is not interference: no host takes all CPUs for so long."""
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
        """Return the cause in the form it has in ``result.json``."""
        return documents.Cause(
            level=self.level,
            text=self.text,
            hint=self.hint,
            codes=list(self.codes),
            origin=self.origin,
            values=dict(self.values),
        )


def causes(e: Evidence, reasons: Sequence[Reason]) -> list[Cause]:
    """Merge reasons of one cause: the server's faults first, then the gravest, interference before others.

    A server that fails requests, hangs or does not reach the rate would do so on a quiet host as well
    (`run.capacity`).
    """
    groups: dict[str, list[Reason]] = {}
    origins: dict[str, Origin | None] = {}
    for index, reason in enumerate(reasons):
        origin = reason.origin or ORIGINS.get(reason.code)
        key = origin or str(index)
        groups.setdefault(key, []).append(reason)
        origins[key] = origin
    ranked = [(_fault(group), _merge(e, origins[key], group)) for key, group in groups.items()]
    ranked.sort(key=lambda pair: (pair[0], LEVELS.index(pair[1].level), pair[1].origin != "host"))
    return [cause for _, cause in ranked]


def _fault(group: Sequence[Reason]) -> int:
    """Return the rank among faults of the server: errors, hangs, missing replies, saturation, or other."""
    by_code = {reason.code: reason for reason in group}
    if (errors := by_code.get("errors")) is not None and errors.level != "note":
        return 0
    stalls = by_code[SERVER_STALLED].values["stalls"] if SERVER_STALLED in by_code else []
    if max((stall["for_s"] for stall in stalls), default=0.0) >= LONG_S:
        return 1
    missing = by_code.get("unanswered")
    if missing is not None and missing.values["share"] > limits.ERROR_INCONCLUSIVE:
        return 2
    short = by_code.get("rate-not-reached")
    if short is not None and short.origin == "server":
        return 3
    return 4


def _merge(e: Evidence, origin: Origin | None, group: Sequence[Reason]) -> Cause:
    codes = tuple(reason.code for reason in group)
    level = min((reason.level for reason in group), key=LEVELS.index)
    first, *others = group
    if origin == "host" and (found := _interference(e, group)):
        text, values = found
        return Cause(level, text, _host_hint(e) or first.hint, codes, origin, first.brief, values)
    consequences = [reason.brief for reason in others if reason.brief]
    text = f"{first.text}. Also: {join_names(consequences)}" if consequences else first.text
    return Cause(level, text, first.hint, codes, origin, first.brief)


def _interference(e: Evidence, group: Sequence[Reason]) -> tuple[str, dict[str, Any]] | None:
    """Describe interference, the runs it disturbed, and its consequences; None if one reason says it all."""
    excluded = e.partition.excluded if e.partition is not None else {}
    if len(group) == 1 and not excluded:
        return None
    interference = measure_interference(e)
    shares = interference.text
    if not shares and not excluded:
        return None
    text = f"interference: {shares or 'the client was late by its own clock'}"
    values = interference.values()
    if excluded and e.partition is not None:
        made = len(e.made) or len(excluded) + len(e.runs)
        values |= {
            "excluded": len(excluded),
            "made": made,
            "counted": len(e.runs) if e.partition.any_counts else 0,
        }
        left = "" if e.partition.any_counts else ", so none is left"
        text += f"; {len(excluded)} of {made} runs {'was' if len(excluded) == 1 else 'were'} excluded{left}"
    consequences = [
        reason.brief
        for reason in sorted(group, key=lambda reason: reason.code == "wide-intervals")
        if reason.brief
    ]
    return (f"{text}; as a result, {join_names(consequences)}" if consequences else text), values


def _host_hint(e: Evidence) -> str:
    """Return the hint against the larger source of interference."""
    runs = e.made or e.runs
    interference = measure_interference(e)
    if interference.programs > interference.hypervisor:
        return accidents.keep_off(e, instrument.list_neighbours(runs))
    return (
        "repeat when the host is quieter, or use dedicated hardware; `hindmost host doctor` shows the noise"
    )
