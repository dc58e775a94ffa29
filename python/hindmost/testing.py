"""Quicker defaults for the tests of Hindmost itself: ``HINDMOST_TEST_PLAN``, a JSON object.

The variable shortens what a test does not look at. It is refused outside pytest, and what it changes in a
plan is stored with the study like any other value.

=================  ========================================================================
``calibration_s``  seconds of calibration before each measurement
``remake``         repeated runs, as a share of those asked for
``pacing``         how clients wait where the command says ``auto``: ``spin`` or ``sleep``
``host_looks``     how often an unfit host is examined before a study begins
``host_spin_s``    seconds of spinning in one examination of the host
=================  ========================================================================
"""

from __future__ import annotations

import json
import os
from typing import TypeVar

from hindmost.errors import UsageError

VARIABLE = "HINDMOST_TEST_PLAN"
FIELDS = ("calibration_s", "remake", "pacing", "host_looks", "host_spin_s")

T = TypeVar("T")


def default_of(name: str, usual: T) -> T:
    """Return a default as the tests want it, or the usual one.

    Parameters
    ----------
    name : str
        One of ``FIELDS``.
    usual : object
        The value of users; the one in the variable must have its type.

    Raises
    ------
    UsageError
        ``test-only`` outside pytest; ``bad-value`` if the variable cannot be read.
    """
    text = os.environ.get(VARIABLE)
    if text is None:
        return usual
    if "PYTEST_CURRENT_TEST" not in os.environ:
        raise UsageError(
            "test-only",
            f"{VARIABLE} is set, which only the tests of Hindmost may do",
            hint=f"unset {VARIABLE}",
            name=VARIABLE,
        )
    try:
        value = json.loads(text).get(name, usual)
        if not isinstance(value, type(usual)):
            value = type(usual)(value)  # type: ignore[call-arg]
    except (ValueError, TypeError, AttributeError):
        raise UsageError(
            "bad-value",
            f"{VARIABLE} must be a JSON object with keys from {', '.join(FIELDS)}",
            hint=f"unset {VARIABLE}",
            name=VARIABLE,
            value=text,
        ) from None
    return value
