"""All message codes: what each means and what to do.

A code names a kind of problem, not a place in the code. Codes are stable: programs may depend on them. The
sentence that a person reads is written where the problem is found, and may change at any time.
``docs/reference/messages.md`` is generated from these tables.
"""

from __future__ import annotations

from hindmost.codes import clones, colocation, common, fleet, plan, run, statistics, studies, trace
from hindmost.codes.code import Code

__all__ = ["CODES", "Code"]

CODES: dict[str, Code] = {}
for _table in (clones, colocation, common, fleet, plan, run, statistics, studies, trace):
    if _twice := CODES.keys() & _table.CODES.keys():
        raise AssertionError(f"codes defined twice: {sorted(_twice)}")
    CODES.update(_table.CODES)
