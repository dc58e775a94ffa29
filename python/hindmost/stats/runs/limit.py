"""Decision whether a figure meets a limit: from its interval, and from the direction of possible distortions.

A value alone decides nothing: of two servers whose true figure equals the limit, one looks good by chance. So
a limit is *held* if the whole interval lies on its right side, *crossed* if all of it lies on the other side,
else *undecided*.

Most distortions have one direction. A host that takes processors, and a client that sends late, only add to
latency: if requests arrive later, no queue answers any of them earlier (departures of a queue are monotone in
its arrivals), and latency counts from the scheduled time. So a latency that is below a limit on such a host
is below it. A server that did not carry the load has a growing queue, so the measured latency is a lower
bound, and if it is above a limit it is above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hindmost.stats.estimate import Estimate

Judgement = Literal["held", "crossed", "undecided"]


@dataclass(frozen=True, slots=True)
class Distortion:
    """Possible direction of a figure's error: measured ``too_high``, ``too_low``, or either."""

    too_high: bool = False
    too_low: bool = False

    def __or__(self, other: Distortion) -> Distortion:
        """Both."""
        return Distortion(self.too_high or other.too_high, self.too_low or other.too_low)


def judge(figure: Estimate, limit: float, *, above: bool = False) -> Judgement:
    """Return the judgement from the interval alone, without distortion.

    Parameters
    ----------
    figure
        In the limit's unit. Infinite ends are ordinary ones; NaN ends mean no interval, and decide nothing.
    above
        Whether the figure has to stay above the limit, not below it.

    Examples
    --------
    >>> [judge(Estimate(400.0, 390.0, 410.0, 10, 0.95), limit) for limit in (500.0, 400.0, 390.0)]
    ['held', 'undecided', 'crossed']
    """
    below, beyond = figure.high < limit, figure.low >= limit
    if above:
        below, beyond = figure.low > limit, figure.high <= limit
    return "held" if below else "crossed" if beyond else "undecided"


def is_robust(judgement: Judgement, bent: Distortion, *, above: bool = False) -> bool:
    """Return whether a judgement remains valid, whatever the size of the distortion.

    >>> noisy_host = Distortion(too_high=True)
    >>> [is_robust(one, noisy_host) for one in ("held", "crossed")], is_robust("held", noisy_host, above=True)
    ([True, False], False)
    """
    if judgement == "undecided":
        return True
    says_high = (judgement == "held") == above
    return not (bent.too_high if says_high else bent.too_low)
