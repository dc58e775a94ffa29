"""The exit codes of commands; ``docs/reference/exit-codes.md`` describes them."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended, for scripts."""

    DONE = 0
    ERROR = 1
    USAGE = 2
    CROSSED = 3
    INCONCLUSIVE = 4
    UNFIT = 5
    INVALID = 6
    INTERRUPTED = 130


EPILOGUE = """\
Exit codes: 0 done; 1 error; 2 usage; 3 a limit is exceeded; 4 inconclusive;
5 host unfit; 6 invalid measurement; 130 interrupted.
"""
"""The end of every help page."""
