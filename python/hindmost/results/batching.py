"""Result of a study of batching: several batching intervals, at one rate or more."""

from __future__ import annotations

from typing import Any

from hindmost.plan.batching import batching_text
from hindmost.results.result import Result
from hindmost.store.batching import Batching


class BatchingResult(Result[Batching]):
    """Result of a batching study, as `hindmost.open_study` returns it."""

    @property
    def verdict(self) -> str:
        """``found``, or ``open`` if there is no valid round."""
        return "found" if self.document["rounds"] else "open"

    @property
    def best(self) -> dict[float, float | None]:
        """The best interval in seconds, by rate. None if the latency of every interval is infinite."""
        found: dict[float, float | None] = {}
        for rate in self.document["rates"]:
            place = rate["best_interval"]
            batching = None if place is None else rate["sides"][place]["batching"]
            found[rate["rate_per_s"]] = None if isinstance(batching, str) else batching
        return found

    def page(self) -> str:
        """Return the page as HTML."""
        from hindmost.report.batching import render_batching_page

        return render_batching_page(self.document)

    def table(self) -> str:
        """Return the terminal's table."""
        from hindmost.report.batching import render_batching

        return render_batching(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        return [
            {
                "rate_per_s": rate["rate_per_s"],
                "batching": batching_text(side["batching"]),
                "quantile": name,
                **one,
                "runs": len(side["rounds"]),
            }
            for rate in self.document["rates"]
            for side in rate["sides"]
            for name, one in side["latency_us"].items()
        ]
