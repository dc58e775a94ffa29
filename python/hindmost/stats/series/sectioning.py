"""Interval of a figure of one simulation, from the scatter of its sections.

A simulation is cut into k sections with equal numbers of requests. The figure is that of the whole run. The
sections only show its scatter: ``sd^2 = sum (section - whole)^2 / (k (k - 1))`` and Student's t with k - 1
degrees of freedom (sectioning: Asmussen & Glynn, *Stochastic Simulation*, 2007, III.5a). Unlike in batch
means, whose centre is the mean of the sections, the bias of a short section's quantile does not affect the
value; it widens the interval instead. Sections must be long compared with the queue's memory: at 90 % load of
M/M/1, thousands of requests.

For designs with common random numbers, the difference is known better than either: `paired_ratio`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hindmost.errors import ArgumentError
from hindmost.stats.estimate import Estimate
from hindmost.stats.tables import t_quantile


def section_interval(whole: float, sections: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Estimate a figure of a whole run with its interval.

    Parameters
    ----------
    whole
        The figure of all requests, in any unit, at least 0.
    sections
        The same figure of each section, in the same unit. Fewer than two give no interval.
    confidence
        Nominal level, in (0, 1).

    Examples
    --------
    >>> print(section_interval(10.0, [9.0, 10.0, 12.0, 9.5, 10.5]))
    10 [8.645, 11.46] (95 %, n=5)
    """
    k = len(sections)
    if k < 2:
        return Estimate(whole, math.nan, math.nan, 1, confidence)
    # numpy's sums depend on the processor in the last digit; a sweep on many hosts must equal one on a single
    # host.
    squares = math.fsum((one - whole) ** 2 for one in sections)
    half = t_quantile(k - 1, 0.5 + confidence / 2.0) * math.sqrt(squares / (k * (k - 1)))
    # The low end is on the ratio scale, so a non-negative figure never reaches zero.
    low = whole * math.exp(-half / whole) if whole > 0.0 else whole
    return Estimate(whole, low, whole + half, k, confidence)


def paired_ratio(
    new: float,
    old: float,
    new_sections: Sequence[float],
    old_sections: Sequence[float],
    confidence: float = 0.95,
) -> Estimate:
    """Estimate the ratio of a figure in two designs with common random numbers, section by section.

    Raises
    ------
    ValueError
        If the designs have different numbers of sections, or the old figure is not above 0.

    Examples
    --------
    >>> print(paired_ratio(22.0, 20.0, [20.0, 24.0, 22.0], [18.0, 22.0, 20.0]))
    1.1 [1.075, 1.125] (95 %, n=3)
    """
    if len(new_sections) != len(old_sections):
        raise ArgumentError(
            "bad-argument",
            f"{len(new_sections)} sections cannot be paired with {len(old_sections)}",
            argument="new_sections",
        )
    if not old > 0.0:
        raise ArgumentError("bad-argument", f"no ratio to {old}", argument="old", value=old)
    ratio = new / old
    # Linearised: new - ratio * old has mean 0 over sections (Fieller's numerator).
    pairs = zip(new_sections, old_sections, strict=True)
    return section_interval(ratio, [ratio + (one - ratio * other) / old for one, other in pairs], confidence)
