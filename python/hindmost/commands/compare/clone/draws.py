"""A control variate: the effect of the random draws on the latency of a clone's run [1]_.

Two runs of one clone differ by 5 to 8 % in the mean, mostly because they draw different service times. The
draws of a run follow from its seed, and its log has the arrivals. The simulator serves these arrivals with
the run's draws, and with the draws of other seeds. The ratio of the two is the control variate; the mean of
its logarithm is 0. Dividing by it reduces the scatter of runs without bias. It cannot move a clone towards
its original: an error of the simulator is in both simulated latencies, and the original is not corrected.

.. [1] A. M. Law, Simulation Modeling and Analysis, section 11.4 (control variates).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.fit.reading.table import open_table
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.core.documents import read_json

DRAWS = "draws.json"
"""File with the ratios of each pair, in the folder of the clone's series."""

OTHER_SEEDS = 16
"""Number of other seeds: their scatter adds a sixteenth to the variance of a run."""

SEED_STEP = 7_919
"""Distance between these seeds, so that no run meets the draws of another one."""


def draw_ratios(clone: Clone, arrivals_us: Sequence[float], counted: int, seed: int) -> dict[str, float]:
    """Return the factor by which the draws of one seed increase the latencies.

    Parameters
    ----------
    clone : Clone
        The clone that was served.
    arrivals_us : sequence of float
        Arrival of each request since the server started, rising, in microseconds.
    counted : int
        Number of measured requests, the last ones.
    seed : int
        Seed of the server.

    Returns
    -------
    dict
        Ratios of ``mean``, ``p95`` and ``p99``.

    Examples
    --------
    >>> from hindmost.commands.clone.document import load_clone
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
    seeds = [seed, *((seed + SEED_STEP * step) % 2**32 for step in range(1, OTHER_SEEDS + 1))]
    outcomes = run_points(clone, [{"seed": one} for one in seeds], design)
    own, *others = (one.prediction.latency_us for one in outcomes)
    return {
        name: one.value / float(np.exp(np.mean([np.log(other[name].value) for other in others])))
        for name, one in own.items()
    }


def ratios_from_log(clone: Clone, log: Path, counted: int, seed: int) -> dict[str, float]:
    """Return `draw_ratios` for the log of a clone's server; empty if the log is missing or incomplete."""
    if not log.exists():
        return {}
    (arrivals,) = open_table(log).whole(["arrival_ns"])
    if arrivals.size < counted:
        return {}
    return draw_ratios(clone, ((arrivals - arrivals[0]) / 1e3).tolist(), counted, seed)


def read_draw_ratios(file: Path) -> dict[int, dict[str, float]]:
    """Read the ratios of each pair; empty if there is no file."""
    return {int(pair): found for pair, found in read_json(file).items()} if file.exists() else {}
