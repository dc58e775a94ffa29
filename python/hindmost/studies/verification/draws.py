"""How much the draws of a clone's run move its latency, and nothing else does: a control variate [1]_.

Two runs of one clone differ by 5 to 8 % in the mean, mostly because they draw other service times. Which ones
a run drew is known, from its seed, and when its requests arrived, from its own log: the simulator serves both
again, and the same arrivals with the draws of other seeds. The ratio of the two, whose logarithm is 0 in the
mean, is the control variate; divided by it, runs scatter less and are as right as before. It cannot make a
clone closer to its original: whatever the simulator gets wrong is in both, and the original is left as it is.

.. [1] A. M. Law, Simulation Modeling and Analysis, section 11.4 (control variates).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hindmost.documents import read_json
from hindmost.models import Clone
from hindmost.models.fit.reading.table import open_table
from hindmost.models.simulation import Design, run_points

DRAWS = "draws.json"
"""What was found of each pair, in the folder of the clone's series."""

OTHERS = 16
"""Seeds next to the run's own: their scatter adds a sixteenth to the variance of a run."""

FAR = 7_919
"""From one of these seeds to the next, so that no run meets the draws of another."""


def draw_ratios(clone: Clone, arrivals_us: Sequence[float], counted: int, seed: int) -> dict[str, float]:
    """By how much the draws of one seed make the latencies longer than those of others.

    Parameters
    ----------
    clone : Clone
        What was served.
    arrivals_us : sequence of float
        When each request arrived, rising, from the first that the server ever served.
    counted : int
        How many of them, from the end, were measured.
    seed : int
        The server's.

    Returns
    -------
    dict
        Figure to ratio: ``mean``, ``p95``, ``p99``.

    Examples
    --------
    >>> from hindmost.models import load_clone
    >>> import numpy as np
    >>> arrivals = np.cumsum(np.random.default_rng(1).exponential(2000.0, 3_000))
    >>> sorted(draw_ratios(load_clone("xapian"), list(arrivals), 2_500, 7))
    ['mean', 'p95', 'p99']
    """
    first = arrivals_us[0]
    design = Design(
        requests=counted,
        warmup=len(arrivals_us) - counted,
        arrivals=[one - first for one in arrivals_us],
        quantiles=(0.95, 0.99),
        sections=1,
        backlog=True,
    )
    seeds = [seed, *((seed + FAR * step) % 2**32 for step in range(1, OTHERS + 1))]
    found = [
        one.prediction["latency_us"] for one in run_points(clone, [{"seed": one} for one in seeds], design)
    ]
    return {
        name: own["value"] / float(np.exp(np.mean([np.log(other[name]["value"]) for other in found[1:]])))
        for name, own in found[0].items()
    }


def draw_ratios_of_log(clone: Clone, log: Path, counted: int, seed: int) -> dict[str, float]:
    """As `draw_ratios`, of the log that the clone's server wrote; nothing if it is not whole."""
    if not log.exists():
        return {}
    (arrivals,) = open_table(log).whole(["arrival_ns"])
    if arrivals.size < counted:
        return {}
    return draw_ratios(clone, ((arrivals - arrivals[0]) / 1e3).tolist(), counted, seed)


def stored(file: Path) -> dict[int, dict[str, float]]:
    """What was found of each pair so far."""
    return {int(pair): found for pair, found in read_json(file).items()} if file.exists() else {}
