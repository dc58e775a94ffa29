"""Results of a clone's predictions: one load, or a sweep of designs."""

from __future__ import annotations

from typing import Any

import msgspec

from hindmost.commands.clone.documents.predictions import Prediction, Simulation, Sweep
from hindmost.core.results.result import Result
from hindmost.present.blocks import View


class SimulationResult(Result[Simulation]):
    """Result of `hindmost.clone.simulate`."""

    @property
    def verdict(self) -> str:
        """Always ``done``: an invalid or unservable load raises an error instead."""
        return self.document.state

    @property
    def headline(self) -> str:
        """The clone and the simulated load."""
        return self.view().headline

    def view(self) -> View:
        """Build the view that terminal, page and Markdown show."""
        from hindmost.commands.clone.view.simulation import view

        return view(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        return _estimates(self.document)


class SweepResult(Result[Sweep]):
    """Result of `hindmost.clone.sweep`."""

    @property
    def verdict(self) -> str:
        """The outcome of a search: ``found``, ``always``, ``never`` or ``not_monotone``.

        It is ``several`` if designs differ, and ``done`` if the sweep was no search.
        """
        states = {str(one.state) for one in self.document.found} or {"done"}
        return states.pop() if len(states) == 1 else "several"

    @property
    def headline(self) -> str:
        """The answers of the search, or the number of simulated designs and points."""
        from hindmost.commands.clone.view.answers import describe_answer

        answers = [line for one in self.document.found for line in describe_answer(one)]
        return " ".join(answers) or self.view().headline

    @property
    def points(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per design point, with a column for each parameter and figure: `latency` in wide form."""
        return self.document.to_frame(self._library)

    @property
    def found(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per design: the last value at which the objective certainly holds, and its interval."""
        names = ("objective", "by", "state", "safe", "low", "high", "value", "side")
        return self._frame(
            [{**one.set, **{name: getattr(one, name) for name in names}} for one in self.document.found]
        )

    def view(self) -> View:
        """Build the view that terminal, page and Markdown show."""
        from hindmost.commands.clone.view.sweep import view

        return view(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        return [
            {"design": point.design, **point.set, "rate_per_s": point.rate_per_s, "load": point.load} | row
            for point in self.document.points
            for row in _estimates(point)
        ]


def _estimates(found: Prediction) -> list[dict[str, Any]]:
    return [{"quantile": label, **msgspec.structs.asdict(one)} for label, one in found.latency_us.items()]
