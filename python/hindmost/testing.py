"""Quicker defaults for the tests of Hindmost itself: ``HINDMOST_TEST_PLAN``, a JSON object.

The variable shortens times that a test does not check. It is refused outside pytest. The values that it
changes in a plan are stored with the study like all others.

=================  ========================================================================
``calibration_s``  seconds of calibration before each measurement
``remake``         repeated runs, as a share of the planned runs
``pacing``         how clients wait if the command says ``auto``: ``spin`` or ``sleep``
``host_looks``     how often an unfit host is checked before a study begins
``host_spin_s``    seconds of spinning in one check of the host
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
    """Return the default for tests, or the usual one.

    Parameters
    ----------
    name : str
        One of ``FIELDS``.
    usual : object
        The default for users; the value in the variable must have the same type.

    Raises
    ------
    UsageError
        ``test-only`` outside pytest; ``bad-value`` if the variable is not valid.
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
