"""A clone compared with its original, in pairs of runs at several loads.

::

    pair 1 at a load:   original   clone      original again     (each starts a server; same arrivals;
    pair 2:             clone      original   original again      random order in each pair)

The ratio of clone to original (the geometric mean of its two runs) is tested for equivalence
(`hindmost.stats.runs.equivalence`) within the margins of the goal. The ratio of the original to itself is the
noise floor. The clone, the second run of the original, and each pair draw their own service times. With the
same draws in every run, ratios would scatter less than the claim deserves. Two control variates reduce the
scatter: the effect of the draws on the clone's latency (`draws`), and the effect of the CPU time per request
on the original's latency (`costs`), which has a ratio of its own. Each series is a study in
``STUDY/LOAD/SERIES``.
"""

from hindmost.studies.comparison.clone.answer import answer
from hindmost.studies.comparison.clone.costs import cost_ratios
from hindmost.studies.comparison.clone.draws import DRAWS, read_draw_ratios
from hindmost.studies.comparison.clone.logged import LoggedCost, read_logged
from hindmost.studies.comparison.clone.ratios import (
    MARGINS,
    SERIES,
    LoadPoint,
    compare_series,
    counted_pairs,
    decide,
)
from hindmost.studies.comparison.clone.request import (
    CloneRequest,
    open_new,
    open_or_resume,
    parse_loads,
    refuse_other_request,
    reopen,
    run_request,
)
from hindmost.studies.comparison.clone.series import excluded_pairs, with_seed

__all__ = [
    "DRAWS",
    "MARGINS",
    "SERIES",
    "CloneRequest",
    "LoadPoint",
    "LoggedCost",
    "answer",
    "compare_series",
    "cost_ratios",
    "counted_pairs",
    "decide",
    "excluded_pairs",
    "open_new",
    "open_or_resume",
    "parse_loads",
    "read_draw_ratios",
    "read_logged",
    "refuse_other_request",
    "reopen",
    "run_request",
    "with_seed",
]
