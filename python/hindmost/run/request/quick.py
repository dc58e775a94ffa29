"""``--quick``: an honest look in a quarter of a minute, and what it cannot say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.run.request import MeasureRequest

RUNS = 3
"""Fewer carry no interval worth the name: that of two runs, at 95 %, is 12.7 standard errors wide on each
side, that of three 4.3."""
SETTINGS = {"runs": str(RUNS), "duration": "2s", "warmup": "1s", "remake": "0", "quantiles": "50,95,99"}
"""What it stands for. A run takes 4 s with the start of its server; at 10,000 requests a second 200 of them
lie beyond p99, and 20 beyond p99.9, which is why that is left out."""
PLAN: dict[str, Any] = {"quick": True, "calibration_s": 0.25}
FREE = ("quantiles",)
"""What may be given next to it."""
FULL_S = (150, 450)
"""What 10 to 30 runs of 10 s take, with warm-up and start."""


def asked(request: MeasureRequest) -> MeasureRequest:
    """What is asked of a measurement by a quick look.

    Raises
    ------
    UsageError
        If it is given an option that it decides itself.
    """
    from hindmost.run.request import OPTIONS

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
