"""Result of a comparison of servers, settings or versions."""

from __future__ import annotations

from typing import Any

from hindmost.results.result import Result
from hindmost.store.comparison import Comparison


class ComparisonResult(Result[Comparison]):
    """Result of `hindmost.compare`."""

    @property
    def verdict(self) -> str:
        """Whether the arms differ, are equal within the margin, or the data cannot decide."""
        return self.document["verdict"]

    @property
    def ratios(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per arm and percentile: its ratio to the first arm with its interval, and the conclusion.

        ``of`` is ``latency`` or ``calm`` (isolated latency). ``difference`` is in microseconds. ``p_twin`` is
        the textbook's p-value next to ``p``. ``adjusted`` is ``p`` adjusted for all rows together.
        """
        rows = [
            {"side": one["side"], "of": of, "quantile": label, "ratio": ratio["ratio"]["value"]}
            | {"low": ratio["ratio"]["low"], "high": ratio["ratio"]["high"], "word": ratio["word"]}
            | {"difference": ratio["difference_us"]["value"], "p": ratio["p"], "p_twin": ratio["p_twin"]}
            | {"adjusted": ratio["adjusted"]}
            for one in self.document["against"]
            for of, contrasts in (("latency", one["latency"]), ("calm", one["calm"]))
            for label, ratio in contrasts.items()
        ]
        return self._frame(rows, *("side", "of", "quantile", "ratio", "low", "high", "word"))

    @property
    def limits(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per limit of ``fail_if`` and arm: ``held``, ``crossed`` or ``undecided``."""
        rows = [dict(one) for one in self.document["limits"]]
        return self._frame(
            rows, *("text", "side", "figure", "value", "low", "high", "unit", "result", "said")
        )

    def page(self) -> str:
        """Return the page as HTML."""
        from hindmost.report.comparison import render_comparison_page

        return render_comparison_page(self.document)

    def table(self) -> str:
        """Return the terminal's table."""
        from hindmost.report.comparison import render_comparison

        return render_comparison(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        return [
            {"side": side["label"], "quantile": label, **one, "runs": len(side["runs"])}
            for side in self.document["sides"]
            for label, one in side["latency_us"].items()
        ]
