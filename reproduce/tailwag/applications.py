"""The eight applications of TailWAG at 20, 50 and 70 % load, under both readings of its "mean".

The "mean" in Table 2 (BID 2023) can be the
median of a lognormal component (SciPy's ``scale``) or its mean; the paper's text does not say which. Both
readings get the same rate: a fraction of the capacity under the first.
"""

from __future__ import annotations

import copy
from typing import Any

from hindmost.commands.clone.document import APPLICATIONS, Clone, load_clone
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.present.numbers import latency, percent

LOADS = (0.2, 0.5, 0.7)
FIGURES = ("mean", "p95", "p99")


def read_as_mean(document: dict[str, Any]) -> Clone:
    """Return the clone with every lognormal's median used as its mean."""
    other = copy.deepcopy(document)
    laws = [one["law"] for one in other["service"]] + [lock["hold"] for lock in other["locks"]]
    for law in laws:
        law["mean_us"] = law.pop("median_us")
    return Clone.from_document(other)


def print_table() -> None:
    """Print latency under both readings."""
    design = Design(requests=500_000)
    head = "".join(f"  {figure + ', median':>14}{figure + ', mean':>12}" for figure in FIGURES)
    print(f"{'application':<12}{'load':>6}{head}")
    for name in APPLICATIONS:
        median = load_clone(name)
        assert median.capacity_per_s is not None
        points = [{"load": {"rate_per_s": share * median.capacity_per_s}} for share in LOADS]
        rows = [run_points(clone, points, design) for clone in (median, read_as_mean(median.document))]
        for share, *pair in zip(LOADS, *rows, strict=True):
            cells = ""
            for figure in FIGURES:
                one, other = (found.prediction.latency_us[figure].value for found in pair)
                cells += f"  {latency(one):>14}{latency(other):>12}"
            print(f"{name:<12}{percent(share):>6}{cells}")
