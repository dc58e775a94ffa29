"""One cause, one line: reasons that have one cause are told together, what followed from it last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindmost.run import instrument
from hindmost.run.verdict import accidents
from hindmost.run.verdict.reason import Evidence, Level, Origin, Reason, listed
from hindmost.run.verdict.taken import taken
from hindmost.store import types as documents

ORIGINS: dict[str, Origin] = {
    "set_aside": "host",
    "steal": "host",
    "run_delay": "host",
    "switches": "host",
    "throttled": "host",
    "host_unfit": "host",
    "host_setting": "host",
    "client_busy": "client",
    "client_slow_to_read": "client",
    "sleeping": "client",
    "infinitely_late": "server",
    "server_slow_to_read": "server",
    "never_steady": "server",
    "out_of_range": "server",
}
"""Where reasons come from that do not say so themselves; all others stand alone."""
LEVELS: tuple[Level, ...] = ("invalid", "inconclusive", "mind")


@dataclass(frozen=True, slots=True)
class Cause:
    """What one line says. ``codes``: the reasons that it stands for."""

    level: Level
    text: str
    hint: str | None
    codes: tuple[str, ...]

    def document(self) -> documents.Cause:
        """As it stands in ``result.json``."""
        return {"level": self.level, "text": self.text, "hint": self.hint, "codes": list(self.codes)}


def causes(e: Evidence, reasons: Sequence[Reason]) -> list[Cause]:
    """Merge reasons of one cause, gravest first; of one gravity, what the host did first.

    A server that does not carry the rate comes before: it would not on a calm host either (`run.capacity`).
    """
    groups: dict[str, list[Reason]] = {}
    for place, one in enumerate(reasons):
        origin = one.origin or ORIGINS.get(one.code)
        groups.setdefault(origin or str(place), []).append(one)
    found = [(origin, _merged(e, origin, group)) for origin, group in groups.items()]
    found.sort(
        key=lambda one: (
            LEVELS.index(one[1].level),
            not (one[0] == "server" and "rate_unmet" in one[1].codes),
            one[0] != "host",
        )
    )
    return [cause for _, cause in found]


def _merged(e: Evidence, origin: str, group: Sequence[Reason]) -> Cause:
    codes = tuple(one.code for one in group)
    level = min((one.level for one in group), key=LEVELS.index)
    first, *rest = group
    if origin == "host" and (text := _host(e, group)):
        return Cause(level, text, _host_hint(e) or first.hint, codes)
    after = [one.brief for one in rest if one.brief]
    text = f"{first.text}; with it, {listed(after)}" if after else first.text
    return Cause(level, text, first.hint, codes)


def _host(e: Evidence, group: Sequence[Reason]) -> str:
    """What the host took, the runs that it spoilt, what followed; empty where one reason says it all."""
    aside = e.parted.aside if e.parted is not None else {}
    if len(group) == 1 and not aside:
        return ""
    shares = taken(e).text
    if not shares and not aside:
        return ""
    text = f"the host took the processors: {shares or 'so the clock of the client tells'}"
    if aside and e.parted is not None:
        made = len(e.made) or len(aside) + len(e.runs)
        left = "" if e.parted.believed else ": none is calm"
        text += f"; {len(aside)} of {made} runs {'is' if len(aside) == 1 else 'are'} set aside for it{left}"
    after = [one.brief for one in sorted(group, key=lambda one: one.code == "precision") if one.brief]
    return f"{text}; so {listed(after)}" if after else text


def _host_hint(e: Evidence) -> str:
    """What would help against whoever took most."""
    runs = e.made or e.runs
    took = taken(e)
    if took.programs > took.hypervisor:
        return accidents.keep_off(e, instrument.neighbours(runs))
    return "repeat when the machine is quieter, or on hardware of your own; `hindmost doctor` shows its noise"
