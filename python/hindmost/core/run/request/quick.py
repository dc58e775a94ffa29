"""``--quick``: a first look in about 15 s, and its limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.core.run.request import MeasureRequest

RUNS = 3
"""Fewer runs have no useful interval: at 95 %, two runs give 12.7 standard errors on each side, three 4.3."""
SETTINGS = {"runs": str(RUNS), "duration": "2s", "warmup": "1s", "remake": "0", "quantiles": "50,95,99"}
"""The options it stands for. A run takes 4 s with the start of its server. At 10,000 requests/s, 200 requests
lie beyond p99 and only 20 beyond p99.9, so p99.9 is left out."""
PLAN: dict[str, Any] = {"quick": True, "calibration_s": 0.25}
FREE = ("quantiles",)
"""Options that may be given together with it."""
FULL_S = (150, 450)
"""Time, in s, of 10 to 30 runs of 10 s with warm-up and start."""


def expand(request: MeasureRequest) -> MeasureRequest:
    """Replace ``--quick`` by the options it stands for.

    Raises
    ------
    UsageError
        If an option is given that it sets itself.
    """
    from hindmost.core.run.request import OPTIONS

    settings: dict[str, Any] = {}
    for name, value in SETTINGS.items():
        if getattr(request, name) == OPTIONS[name].default:
            settings[name] = value
        elif name not in FREE:
            raise UsageError(
                "conflicting-options",
                f"{OPTIONS[name].flag} conflicts with --quick, which makes {RUNS} runs of"
                f" {SETTINGS['duration']} after a warm-up of {SETTINGS['warmup']}",
                hint=f"leave out --quick or {OPTIONS[name].flag}",
                options=[OPTIONS[name].flag, "--quick"],
            )
    return replace(request, quick=False, **settings)
