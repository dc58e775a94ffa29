"""Result of a trial: levels of one setting compared with the current level."""

from __future__ import annotations

from typing import Any

from hindmost.results.result import Result
from hindmost.store.trial import Trial


class TrialResult(Result[Trial]):
    """Result of a trial, as `hindmost.open_study` returns it."""

    @property
    def verdict(self) -> str:
        """``found``, or ``open`` if there is no valid round."""
        return "found" if self.document["rounds"] else "open"

    @property
    def best(self) -> str | None:
        """The level with the lowest figure. None if the figure of every level is infinite."""
        place = self.document["best"]
        return None if place is None else self.document["levels"][place]["level"]

    def page(self) -> str:
        """Return the page as HTML."""
        from hindmost.report.trial import render_trial_page

        return render_trial_page(self.document)

    def table(self) -> str:
        """Return the terminal's table."""
        from hindmost.report.trial import render_trial

        return render_trial(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        return [
            {"level": level["level"], "quantile": name, **one, "runs": len(level["values_us"][name])}
            for level in self.document["levels"]
            for name, one in level["latency_us"].items()
        ]
