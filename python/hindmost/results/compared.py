"""Servers, settings or versions next to each other."""

from __future__ import annotations

from typing import Any

from hindmost.results.result import Result
from hindmost.store.comparison import Comparison


class ComparisonResult(Result[Comparison]):
    """What `hindmost.compare` returns."""

    @property
    def verdict(self) -> str:
        """Whether they differ, are the same within the margin, or it stays open."""
        return self.document["verdict"]

    @property
    def ratios(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """A row a side and percentile: its ratio to the first side with its interval, and what follows.

        ``of`` is ``latency`` or ``calm``; ``difference`` is in microseconds; ``p_twin`` is the textbook's
        beside ``p``, ``adjusted`` is `p` for all rows together.
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
        """A row a limit of ``fail_if`` and side: ``held``, ``crossed`` or ``undecided``."""
        rows = [dict(one) for one in self.document["limits"]]
        return self._frame(
            rows, *("text", "side", "figure", "value", "low", "high", "unit", "result", "said")
        )

    def page(self) -> str:
        """The page as HTML."""
        from hindmost.report.comparison import render_comparison_page

        return render_comparison_page(self.document)

    def table(self) -> str:
        """The terminal's table."""
        from hindmost.report.comparison import render_comparison

        return render_comparison(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        return [
            {"side": side["label"], "quantile": label, **one, "runs": len(side["runs"])}
            for side in self.document["sides"]
            for label, one in side["latency_us"].items()
        ]
