"""What others took of the processors, and whether late sending follows from it."""

from __future__ import annotations

from dataclasses import dataclass

from hindmost.run import instrument, limits
from hindmost.run.verdict.reason import Evidence, listed


@dataclass(frozen=True, slots=True)
class Taken:
    """Shares of the time of the worst processor, mean over runs; ``quota``: of a quota's periods."""

    hypervisor: float
    programs: float
    quota: float
    who: str

    @property
    def most(self) -> float:
        """The greatest share of the time that anybody had."""
        return max(self.hypervisor, self.programs)

    @property
    def text(self) -> str:
        """Who took how much, those that took most first; empty where it is not worth a word."""
        who = f" ({self.who})" if self.who else ""
        parts = [
            (self.hypervisor, f"the hypervisor {100.0 * self.hypervisor:.2g}%"),
            (self.programs, f"other programs {100.0 * self.programs:.2g}%{who}"),
        ]
        told = [text for share, text in sorted(parts, reverse=True) if share > limits.STEAL_MIND]
        text = f"{listed(told)} of the time" if told else ""
        if self.quota > limits.THROTTLED_MIND:
            stops = f"its CPU quota stopped clients in {100.0 * self.quota:.2g}% of its periods"
            text = f"{text}; {stops}" if text else stops
        return text


def taken(e: Evidence, *, whole: bool = True) -> Taken:
    """What was taken, in all runs that were made, or (not `whole`) in those that count."""
    runs = (e.made or e.runs) if whole else e.runs
    programs = [one for one in instrument.neighbours(runs) if not (one.kernel or one.server or one.tracer)]
    return Taken(
        instrument.over(runs, instrument.stolen) or 0.0,
        instrument.over(runs, instrument.kept_off) or 0.0,
        instrument.over(runs, instrument.throttled) or 0.0,
        f"{programs[0].name}, pid {programs[0].pid}" if programs else "",
    )


def explains(e: Evidence, name: str) -> bool:
    """Whether late sending at a quantile follows from what the host took, not from the client itself.

    Where thefts were seen, requests in calm time tell: what is late there, too, is the client's own doing.
    Elsewhere the kernel's counters do: a client that is not busy, and as much taken as reaches the quantile,
    or other runs of the same host disturbed beyond the limits.
    """
    if e.parted is not None and not e.parted.believed:
        return True
    seen = [run.calm for run in e.runs if run.calm is not None and run.calm.refused is None]
    if any(one.thefts for one in seen):
        return 2 * sum(name in one.late for one in seen) <= len(seen)
    level = e.plan.quantiles[e.plan.labels.index(name)]
    disturbed = e.parted is not None and len(e.parted.aside) > 0
    return _idle(e) and (disturbed or taken(e, whole=False).most > limits.TAIL_MIND * (1.0 - level))


def bends(e: Evidence) -> bool:
    """Whether gaps between requests that are not as ordered follow from what the host took."""
    if e.parted is not None and not e.parted.believed:
        return True
    return _idle(e) and taken(e, whole=False).most > limits.STEAL_INCONCLUSIVE


def _idle(e: Evidence) -> bool:
    """Whether clients waited, spinning, for what was due: late by themselves they were not."""
    busy = max(one.busy_share for run in e.runs for one in run.instances)
    return busy <= limits.BUSY_MIND and e.plan.pacing == "spin"
