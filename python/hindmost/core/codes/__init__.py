"""All message codes, with their meaning and the action to take.

A code names a kind of problem, not a place in the code. Codes are stable: programs may depend on them. The
sentence that a person reads is written where the problem is detected, and may change at any time.
``docs/reference/messages.md`` is generated from these tables.
"""

from __future__ import annotations

from hindmost.core.codes import clones, colocation, common, fleet, plan, run, statistics, studies, trace
from hindmost.core.codes.code import Code

__all__ = ["CODES", "Code"]

CODES: dict[str, Code] = {}
for _table in (clones, colocation, common, fleet, plan, run, statistics, studies, trace):
    if _duplicates := CODES.keys() & _table.CODES.keys():
        raise AssertionError(f"codes defined twice: {sorted(_duplicates)}")
    CODES.update(_table.CODES)
