"""Results of all kinds of comparison."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from hindmost.commands.compare.documents.batching import Batching
from hindmost.commands.compare.documents.clone import Verification
from hindmost.commands.compare.documents.setting import Trial
from hindmost.commands.compare.documents.targets import Comparison
from hindmost.commands.compare.view import batching, clone, setting, targets
from hindmost.core.plan.batching import batching_text
from hindmost.core.results.result import Result
from hindmost.present.blocks import View


class ComparisonResult(Result[Comparison]):
    """The result of `hindmost.compare`."""

    TABLES = ("ratios", "limits")

    @property
    def verdict(self) -> str:
        """``same``, ``different``, ``undecided`` or ``invalid``."""
        return self.document.verdict

    @property
    def ratios(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """A DataFrame with a row per arm and percentile: its ratio to the first arm, interval and outcome.

        ``of`` is ``latency`` or ``isolated`` (isolated latency); ``difference`` is in microseconds. ``p`` is
        by relabelling, ``p_textbook`` by the textbook test, ``adjusted`` is `p` for all rows together.
        """
        rows = [
            {"side": one.side, "of": of, "quantile": label, "ratio": contrast.ratio.value}
            | {"low": contrast.ratio.low, "high": contrast.ratio.high, "word": contrast.word}
            | {"difference": contrast.difference_us.value, "p": contrast.p}
            | {"p_textbook": contrast.p_textbook, "adjusted": contrast.adjusted}
            for one in self.document.against
            for of, contrasts in (("latency", one.latency), ("isolated", one.isolated))
            for label, contrast in contrasts.items()
        ]
        return self._frame(rows, *("side", "of", "quantile", "ratio", "low", "high", "word"))

    @property
    def limits(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """A DataFrame with a row per limit of ``fail_if`` and arm: ``held``, ``crossed`` or ``undecided``."""
        rows = [asdict(one) for one in self.document.limits]
        return self._frame(
            rows, *("text", "side", "figure", "value", "low", "high", "unit", "result", "said")
        )

    def view(self) -> View:
        """Build the view that terminal, page and Markdown show."""
        return targets.view(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        return [
            {"side": side.label, "quantile": label, **asdict(one), "runs": len(side.runs)}
            for side in self.document.sides
            for label, one in side.latency_us.items()
        ]


class TrialResult(Result[Trial]):
    """The result of ``hindmost compare --set``, as `hindmost.open_study` reads it."""

    @property
    def verdict(self) -> str:
        """``set`` (a level is better than the present one), ``leave`` or ``undecided``."""
        return self.document.verdict

    @property
    def best(self) -> str | None:
        """The level with the lowest figure; None if no level has a finite one."""
        place = self.document.best
        return None if place is None else self.document.levels[place].level

    def view(self) -> View:
        """Build the view that terminal, page and Markdown show."""
        return setting.view(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        return [
            {
                "level": level.level,
                "quantile": name,
                **asdict(one),
                "runs": len(level.values_us[name]),
            }
            for level in self.document.levels
            for name, one in level.latency_us.items()
        ]


class BatchingResult(Result[Batching]):
    """The result of ``hindmost compare --batch``, as `hindmost.open_study` reads it."""

    @property
    def verdict(self) -> str:
        """``found``, or ``open`` if no round counts."""
        return "found" if self.document.rounds else "open"

    @property
    def best(self) -> dict[float, float | None]:
        """The best interval in seconds by rate; None if no interval has a finite figure."""
        found: dict[float, float | None] = {}
        for rate in self.document.rates:
            place = rate.best_interval
            mode = None if place is None else rate.sides[place].batching
            found[rate.rate_per_s] = None if isinstance(mode, str) else mode
        return found

    def view(self) -> View:
        """Build the view that terminal, page and Markdown show."""
        return batching.view(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        return [
            {
                "rate_per_s": rate.rate_per_s,
                "batching": batching_text(side.batching),
                "quantile": name,
                **asdict(one),
                "runs": len(side.rounds),
            }
            for rate in self.document.rates
            for side in rate.sides
            for name, one in side.latency_us.items()
        ]


class VerificationResult(Result[Verification]):
    """The result of `hindmost.clone.verify`."""

    TABLES = ("ratios",)

    @property
    def verdict(self) -> str:
        """``equivalent``, ``different`` or ``open``."""
        return self.document.verdict

    @property
    def headline(self) -> str:
        """The clone, its original and the loads."""
        loads = ", ".join(f"{point.load:.0%}" for point in self.document.points)
        return f"{self.document.clone} against {self.document.original} at {loads} of the capacity"

    @property
    def ratios(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """A DataFrame with a row per load, quantile and comparison: the ratio, its 90 % interval and outcome.

        ``of`` is ``clone`` (clone / original), ``as_logged`` (the same, with the original's cost in its logs)
        or ``floor`` (original / itself).
        """
        rows = [
            {"load": point.load, "quantile": name, "of": of, **asdict(one)}
            for point in self.document.points
            for name, figure in point.figures.items()
            for of in ("clone", "as_logged", "floor")
            if (one := getattr(figure, of)) is not None
        ]
        return self._frame(rows, "load", "quantile", "of", "ratio", "low", "high", "outcome")

    def view(self) -> View:
        """Build the view that terminal, page and Markdown show."""
        return clone.view(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        return [
            {"load": point.load, "of": of, "quantile": name, **asdict(us)}
            for point in self.document.points
            for name, figure in point.figures.items()
            for of, us in (
                ("original", figure.original_us),
                ("clone", figure.clone_us),
                ("predicted", figure.predicted_us),
            )
        ]
