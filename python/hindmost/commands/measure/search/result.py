"""Result of a search for the highest rate that meets an objective."""

from __future__ import annotations

from typing import Any

from hindmost.commands.measure.search.document import Search
from hindmost.commands.measure.search.kind import latencies
from hindmost.core.results.result import Result
from hindmost.core.store import Study


class SearchResult(Result[Search]):
    """Result of `hindmost.measure` with ``find_rate``."""

    TABLES = ("steps",)

    @property
    def verdict(self) -> str:
        """``found``, or ``open`` if no rate met the objective or the search is unfinished."""
        return "found" if self.document["rate_per_s"] is not None and self.document["finished"] else "open"

    @property
    def rate_per_s(self) -> float | None:
        """The highest rate that met the objective, in requests per second. None if no rate did."""
        return self.document["rate_per_s"]

    @property
    def steps(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per tested rate, in the order of the tests."""
        return self._frame([dict(step) for step in self.document["steps"]])

    def page(self) -> str:
        """Return the page as HTML: every percentile against the rate, with the answer marked."""
        from hindmost.commands.measure.search.view.page import render_search_page

        stored = {} if self.study is None else latencies(Study.open(self.study), self.document)
        return render_search_page(self.document, stored)

    def table(self) -> str:
        """Return the terminal's table."""
        from hindmost.commands.measure.search.view.terminal import render_search

        return render_search(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        """Return latency by rate. The quantile is the objective's."""
        label = self.document["objective"].partition("<")[0]
        rows = []
        for step in sorted(self.document["steps"], key=lambda one: one["rate_per_s"]):
            figures = {name: step[f"{name}_us"] for name in ("value", "low", "high")}  # type: ignore[literal-required]
            rows.append(
                {"rate_per_s": step["rate_per_s"], "quantile": label, **figures}
                | {"runs": step["runs"], "outcome": step["outcome"]}
            )
        return rows
