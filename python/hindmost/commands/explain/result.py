"""An explanation for Python users."""

from __future__ import annotations

from typing import Any

import msgspec

from hindmost.commands.explain.document import Culprit, Explanation
from hindmost.core.results.result import Result
from hindmost.core.tracing.document import FunctionShare
from hindmost.present.blocks import View


class ExplainResult(Result[Explanation]):
    """The result of `hindmost.explain`."""

    TABLES = ("parts", "culprits", "functions", "candidates")

    @property
    def verdict(self) -> str:
        """``gain``, ``no-gain`` or ``undecided``."""
        return self.document.verdict

    @property
    def parts(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per part of the path: its shares of the variance and of the slowest 1 % of requests."""
        rows = [msgspec.structs.asdict(one) for one in self.document.parts]
        return self._frame(rows, "name", "of_variance", "of_slowest")

    @property
    def culprits(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per culprit, the worst first."""
        rows = [
            msgspec.structs.asdict(one) | {"causes": ", ".join(one.causes)} for one in self.document.culprits
        ]
        return self._frame(rows, *Culprit.__struct_fields__)

    @property
    def functions(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per function that slow requests executed; empty unless the server's work leads the tail."""
        profile = self.document.profile
        rows = [] if profile is None else [msgspec.structs.asdict(one) for one in profile.functions]
        return self._frame(rows, *FunctionShare.__struct_fields__)

    @property
    def candidates(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per candidate: predicted and measured ratio, rounds, outcome, seconds."""
        rows = [
            {"change": one.label, "predicted": one.candidate.predicted, "outcome": one.outcome}
            | {"ratio": one.ratio and one.ratio.value, "low": one.ratio and one.ratio.low}
            | {"high": one.ratio and one.ratio.high, "rounds": one.pairs, "seconds": one.seconds}
            for one in self.document.trials
        ]
        return self._frame(
            rows, "change", "predicted", "outcome", "ratio", "low", "high", "rounds", "seconds"
        )

    def view(self) -> View:
        """Build the view that terminal, page and Markdown show."""
        from hindmost.commands.explain.view import view

        return view(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        fresh = self.document.confirmation
        if fresh is None:
            return []
        sides = {"as it is": fresh.before, " and ".join(fresh.labels): fresh.after}
        return [
            {"side": name, "quantile": label, "value": value, "low": None, "high": None, "pairs": fresh.pairs}
            for name, side in sides.items()
            for label, value in side.latency_us.items()
        ]
