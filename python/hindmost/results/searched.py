"""A search for the highest rate under an objective."""

from __future__ import annotations

from typing import Any

from hindmost.errors import StudyError
from hindmost.results.result import Result
from hindmost.store import Study
from hindmost.store.search import Search
from hindmost.studies.measure.answer import answer


class SearchResult(Result[Search]):
    """What `hindmost.measure` returns with ``find_rate``."""

    @property
    def verdict(self) -> str:
        """``found``, or ``open`` where no rate held, or the search is not over."""
        return "found" if self.document["rate_per_s"] is not None and self.document["finished"] else "open"

    @property
    def headline(self) -> str:
        """The answer in a sentence."""
        return self.document["headline"]

    @property
    def rate_per_s(self) -> float | None:
        """The highest rate that held, in requests a second; None where none did."""
        return self.document["rate_per_s"]

    @property
    def steps(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """A row a rate that was tried, in the order in which they were."""
        return self._frame([dict(step) for step in self.document["steps"]])

    def page(self) -> str:
        """The page of the step that answers: the highest rate that held, else the lowest that was tried.

        Raises
        ------
        StudyError
            No step has a finished run.
        """
        from hindmost.report.measure import render_page

        steps = [one for one in self.document["steps"] if one["runs"] > 0]
        if not steps or self.study is None:
            raise StudyError("the search has no step with a finished run", hint="result.steps")
        held = [one for one in steps if one["rate_per_s"] == self.rate_per_s]
        step = (held or sorted(steps, key=lambda one: one["rate_per_s"]))[0]
        return render_page(answer(Study.open(self.study / step["study"])))

    def table(self) -> str:
        """The terminal's table."""
        from hindmost.report.search.terminal import render_search

        return render_search(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        """By rate; the quantile is that of the objective."""
        label = self.document["objective"].partition("<")[0]
        rows = []
        for step in sorted(self.document["steps"], key=lambda one: one["rate_per_s"]):
            late = step["value_us"] is None and step["runs"] > 0
            figures = {name: step[f"{name}_us"] for name in ("value", "low", "high")}  # type: ignore[literal-required]
            if late:
                figures["value"] = float("inf")
            rows.append(
                {"rate_per_s": step["rate_per_s"], "quantile": label, **figures}
                | {"runs": step["runs"], "outcome": step["outcome"]}
            )
        return rows
