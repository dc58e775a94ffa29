"""The controller of a job: it takes CPUs away at once, and gives them back slowly.

It uses additive increase and multiplicative decrease (Chiu and Jain 1989) with hysteresis. The job gets more
only after windows that are well within the promise. Each broken window soon after a resumption doubles the
wait before the next attempt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hindmost.core.notes import Note

CUT_AT = 0.4
"""Share of the slow requests allowed in a window at which the job is cut within that window."""
PAUSE_AT = 0.75
"""Share at which the job is paused, so that the window may still keep the promise."""
SOON = 8
"""Windows after a resumption in which the resumption is blamed for a broken promise."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The promise, and how carefully it is kept.

    Attributes
    ----------
    limit_us : float
        Largest percentile in any window, µs.
    resume : float
        Share of the limit below which a window counts as quiet.
    quiet : int
        Quiet windows in a row before a running job gets another CPU.
    longest : int
        Longest wait after a pause, in windows.
    """

    limit_us: float
    resume: float = 0.8
    quiet: int = 2
    longest: int = 32


@dataclass(slots=True)
class Controller:
    """Decides how many CPUs a job may use; 0 pauses it.

    Attributes
    ----------
    most : int
        CPUs available to the job.
    cpu_count : int
        CPUs granted now.
    why : Note or None
        The reason for the last change.
    """

    rules: Rules
    most: int
    cpu_count: int = 1
    why: Note | None = None
    _last: int = 1
    _wait: int = 1
    _isolated: int = 0
    _since: int = SOON
    _cut: bool = False

    def react_to_requests(self, slow: int, allowed: int) -> bool:
        """React to slow requests within a window; return whether the grant changed.

        Parameters
        ----------
        slow, allowed : int
            Slow requests so far, and the number allowed in a window that keeps the promise.
        """
        if self.cpu_count == 0 or slow == 0:
            return False
        if slow >= PAUSE_AT * allowed:
            why = f"{slow} requests were slower than the limit; a window may have {allowed}"
            return self._set(0, Note("budget-spent", why, {"have": slow, "most": allowed}))
        if slow >= CUT_AT * allowed and not self._cut and self.cpu_count > 1:
            self._cut = True
            why = f"{slow} of the {allowed} slow requests that a window may have were used"
            return self._set(self.cpu_count // 2, Note("budget-used", why, {"have": slow, "most": allowed}))
        return False

    def react_to_window(self, percentile_us: float) -> bool:
        """React to a finished window; return whether the grant changed."""
        rules, ran = self.rules, self.cpu_count > 0
        danger, self._cut = self._cut, False
        self._since += 1
        if percentile_us > rules.limit_us:
            self._isolated = 0
            if self._since > SOON:
                self._wait = 1
            elif ran or self._since == 1:
                self._wait = min(rules.longest, 2 * self._wait)
            value = percentile_us if math.isfinite(percentile_us) else None
            broken = {"value": value, "limit": rules.limit_us, "unit": "us"}
            return ran and self._set(0, Note("promise-broken", "the promise was broken", broken))
        if danger or percentile_us > rules.resume * rules.limit_us:
            self._isolated = 0
            return False
        self._isolated += 1
        if not ran:
            if self._isolated < self._wait:
                return False
            self._since, self._isolated = 0, 0
            return self._set(max(1, self._last // 2), _quiet(self._wait))
        if self._isolated < rules.quiet or self.cpu_count >= self.most:
            return False
        self._isolated = 0
        return self._set(self.cpu_count + 1, _quiet(rules.quiet))

    def _set(self, cpu_count: int, why: Note) -> bool:
        if self.cpu_count > 0:
            self._last = self.cpu_count
        self.cpu_count, self.why = cpu_count, why
        return True


def _quiet(windows: int) -> Note:
    text = f"{windows} windows in a row were well within the promise"
    return Note("quiet-windows", text, {"windows": windows})
