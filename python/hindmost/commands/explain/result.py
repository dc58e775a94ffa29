"""An explanation for Python users."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec

from hindmost.commands.explain.document import Culprit, Explanation
from hindmost.core.results.result import Result


class ExplainResult(Result[Mapping[str, Any]]):
    """The result of `hindmost.explain`."""

    TABLES = ("parts", "culprits", "candidates")

    @cached_property
    def explanation(self) -> Explanation:
        """The document with types."""
        return msgspec.convert(self.document, Explanation)

    @property
    def verdict(self) -> str:
        """``gain``, ``no-gain`` or ``undecided``."""
        return self.explanation.verdict

    @property
    def parts(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per part of the path: its shares of the variance and of the slowest 1 % of requests."""
        rows = [dict(one) for one in self.document["parts"]]
        return self._frame(rows, "name", "of_variance", "of_slowest")

    @property
    def culprits(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per culprit, the worst first."""
        rows = [dict(one) | {"causes": ", ".join(one["causes"])} for one in self.document["culprits"]]
        return self._frame(rows, *Culprit.__struct_fields__)

    @property
    def candidates(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per candidate: predicted and measured ratio, rounds, outcome, seconds."""
        rows = [
            {"change": one.label, "predicted": one.candidate.predicted, "outcome": one.outcome}
            | {"ratio": one.ratio and one.ratio.value, "low": one.ratio and one.ratio.low}
            | {"high": one.ratio and one.ratio.high, "rounds": one.pairs, "seconds": one.seconds}
            for one in self.explanation.trials
        ]
        return self._frame(
            rows, "change", "predicted", "outcome", "ratio", "low", "high", "rounds", "seconds"
        )

    def page(self) -> str:
        """The page as HTML."""
        from hindmost.commands.explain.view import render_page

        return render_page(self.explanation)

    def table(self) -> str:
        """The terminal's table."""
        from hindmost.commands.explain.view import render_terminal

        return render_terminal(self.explanation)

    def markdown(self) -> str:
        """The answer as Markdown."""
        from hindmost.commands.explain.view import render_markdown

        return render_markdown(self.explanation)

    def _latency(self) -> list[dict[str, Any]]:
        fresh = self.explanation.confirmation
        if fresh is None:
            return []
        sides = {"as it is": fresh.before, " and ".join(fresh.labels): fresh.after}
        return [
            {"side": name, "quantile": label, "value": value, "low": None, "high": None, "pairs": fresh.pairs}
            for name, side in sides.items()
            for label, value in side.latency_us.items()
        ]
