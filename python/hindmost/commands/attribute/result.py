"""Result of a study of factors: effects on each quantile, latency of every cell, recommended setting."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from hindmost.commands.attribute.document import Attribution, Recommendation
from hindmost.core.results.result import Result
from hindmost.present.blocks import View

_EFFECT = (
    *("term", "base", "value", "low", "high", "share", "share_low", "share_high"),
    *("error", "p", "adjusted", "permuted", "verdict", "more_runs"),
)


class AttributionResult(Result[Attribution]):
    """Result of `hindmost.attribute`."""

    TABLES = ("effects", "runs", "confirmations")

    @property
    def verdict(self) -> str:
        """``answered``, ``open`` or ``invalid``."""
        return self.document.verdict

    @property
    def recommendation(self) -> Recommendation:
        """The recommended setting, if the runs show that it is faster than the current one."""
        return self.document.recommendation

    @property
    def effects(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per term, quantile and load: the effect in microseconds and as a share, with its interval.

        ``coding`` is ``average`` (over all levels of the other factors) or ``corner`` (with the other factors
        at their first level).
        """
        rows = [
            {"load": load.name, "quantile": label, "coding": coding}
            | {name: getattr(effect, name) for name in _EFFECT}
            for load in self.document.loads
            for label, answer in load.quantiles.items()
            for coding, effects in (("average", answer.average), ("corner", answer.corner))
            for effect in effects
        ]
        return self._frame(rows, "load", "quantile", "coding", *_EFFECT)

    @property
    def runs(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per run and quantile: load, the level of each factor, the value in microseconds."""
        return self._frame(
            [
                {"load": load.name, **cell.levels, "quantile": label, "value": value}
                for load in self.document.loads
                for cell in load.cells
                for label, values in cell.values.items()
                for value in values
            ]
        )

    @property
    def confirmations(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per load and quantile: the recommended over the previous setting, in fresh runs."""
        return self._frame(
            [
                {"load": one.load, "quantile": label, "ratio": ratio.value}
                | {"low": ratio.low, "high": ratio.high, "outcome": one.outcome}
                for one in self.document.confirmations
                for label, ratio in one.ratio.items()
            ],
            *("load", "quantile", "ratio", "low", "high", "outcome"),
        )

    def view(self) -> View:
        """Return what the terminal, the page and Markdown show."""
        from hindmost.commands.attribute.view import view

        return view(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        return [
            {
                "load": load.name,
                **cell.levels,
                "quantile": label,
                **asdict(one),
                "runs": cell.runs,
            }
            for load in self.document.loads
            for cell in load.cells
            for label, one in cell.latency_us.items()
        ]
