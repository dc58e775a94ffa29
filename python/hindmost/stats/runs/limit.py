"""Does a figure keep within a limit? Its interval decides, and what may have bent the figure.

A value alone decides nothing: of two servers whose true figure is the limit itself, one looks good by chance.
So a limit is *held* where the whole interval lies on its right side, *crossed* where all of it lies on the
other, else *undecided*.

What bends a figure mostly bends it one way. A host that takes processors, and a client that sends late, only
add to latency: where requests come later, no queue answers any of them earlier (departures of a queue are
monotone in its arrivals), and latency counts from when they were due. So a latency that such a host measured
below a limit is below it. A server that did not carry the load has a queue that grows, so what was measured
is the least that will be: such a latency above a limit is above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hindmost.stats.estimate import Estimate

Judgement = Literal["held", "crossed", "undecided"]


@dataclass(frozen=True, slots=True)
class Bent:
    """Which way a figure may be untrue: measured ``too_high``, ``too_low``, or either."""

    too_high: bool = False
    too_low: bool = False

    def __or__(self, other: Bent) -> Bent:
        """Both."""
        return Bent(self.too_high or other.too_high, self.too_low or other.too_low)


def judged(figure: Estimate, limit: float, *, above: bool = False) -> Judgement:
    """What the interval says, as if nothing bent the figure.

    Parameters
    ----------
    figure
        In the limit's unit; infinite ends are ordinary ones, NaN ends are none and decide nothing.
    above
        The figure has to stay above the limit, not below it.

    Examples
    --------
    >>> [judged(Estimate(400.0, 390.0, 410.0, 10, 0.95), limit) for limit in (500.0, 400.0, 390.0)]
    ['held', 'undecided', 'crossed']
    """
    below, beyond = figure.high < limit, figure.low >= limit
    if above:
        below, beyond = figure.low > limit, figure.high <= limit
    return "held" if below else "crossed" if beyond else "undecided"


def stands(judgement: Judgement, bent: Bent, *, above: bool = False) -> bool:
    """Whether a judgement stays what it is, whatever bent the figure by whatever amount.

    >>> noisy_host = Bent(too_high=True)
    >>> stands("held", noisy_host), stands("crossed", noisy_host), stands("held", noisy_host, above=True)
    (True, False, False)
    """
    if judgement == "undecided":
        return True
    says_high = (judgement == "held") == above
    return not (bent.too_high if says_high else bent.too_low)
