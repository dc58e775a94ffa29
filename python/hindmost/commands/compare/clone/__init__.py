"""A clone compared with its original, in pairs of runs at several loads.

::

    pair 1 at a load:   original   clone      original again     (each starts a server; same arrivals;
    pair 2:             clone      original   original again      random order in each pair)

The ratio of clone to original (the geometric mean of its two runs) is tested for equivalence
(`hindmost.stats.runs.equivalence`) within the margins of the goal. The ratio of the original to itself is the
noise floor. The clone, the second run of the original, and each pair draw their own service times. With the
same draws in every run, ratios would scatter less than the claim deserves. Two control variates reduce the
scatter: the effect of the draws on the clone's latency (`draws`), and the effect of the CPU time per request
on the original's latency (`costs`), which has its own ratio. Each series is a study in
``STUDY/LOAD/SERIES``.
"""

from hindmost.commands.compare.clone.request import CloneRequest, open_new, reopen

__all__ = ["CloneRequest", "open_new", "reopen"]
