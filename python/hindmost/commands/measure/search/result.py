"""Result of a search for the highest rate that meets an objective."""

from __future__ import annotations

from typing import Any

import msgspec

from hindmost.commands.measure.search.document import Search
from hindmost.commands.measure.search.kind import latencies
from hindmost.core.results.result import Result
from hindmost.core.store import Study
from hindmost.present.blocks import View


class SearchResult(Result[Search]):
    """Result of `hindmost.measure` with ``find_rate``."""

    TABLES = ("steps",)

    @property
    def verdict(self) -> str:
        """``found``, or ``open`` if no rate met the objective or the search is unfinished."""
        return self.document.verdict

    @property
    def rate_per_s(self) -> float | None:
        """The highest rate that met the objective, in requests per second. None if no rate did."""
        return self.document.rate_per_s

    @property
    def steps(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per tested rate, in the order of the tests."""
        return self._frame([msgspec.structs.asdict(step) for step in self.document.steps])

    def view(self) -> View:
        """Build the view: latency against rate, and the answer."""
        from hindmost.commands.measure.search.view import view

        stored = {} if self.study is None else latencies(Study.open(self.study), self.document)
        return view(self.document, stored)

    def _latency(self) -> list[dict[str, Any]]:
        """Return latency by rate. The quantile is the objective's."""
        label = self.document.objective.partition("<")[0]
        return [
            {"rate_per_s": step.rate_per_s, "quantile": label, "value": step.value_us, "low": step.low_us}
            | {"high": step.high_us, "runs": step.runs, "outcome": step.outcome}
            for step in sorted(self.document.steps, key=lambda one: one.rate_per_s)
        ]
