"""Results of a clone's predictions: one load, or a sweep of designs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from hindmost.commands.clone.documents.predictions import Interval, Simulation, Sweep
from hindmost.core.results.result import Result


class SimulationResult(Result[Simulation]):
    """Result of `hindmost.clone.simulate`."""

    @property
    def verdict(self) -> str:
        """Always ``done``: an invalid or unservable load raises an error instead."""
        return self.document["state"]

    @property
    def headline(self) -> str:
        """The clone and the simulated load."""
        load = self.document["load"]
        share = f", {load:.0%} of its capacity" if load is not None else ""
        rate = self.document["rate_per_s"] or 0.0
        return f"{self.document['clone']}, simulated at {rate:,.0f} requests/s{share}"

    def page(self) -> str:
        """Return the page as HTML: the page of a sweep with one point."""
        from hindmost.commands.clone.view.sweep.page import render_sweep_page

        one: Any = {
            "clone": self.document["clone"],
            "document": {},
            "requests": self.document.get("requests", 0),
            "seed": self.document["seed"],
            "arrivals": self.document["arrivals"],
            "vary": [],
            "points": [{"design": 0, "set": {}, **self.document}],
            "found": [],
        }
        return render_sweep_page(cast("Sweep", one))

    def table(self) -> str:
        """Return the terminal's table."""
        from hindmost.commands.clone.view.simulation.terminal import render_prediction

        return render_prediction(self.document["clone"], self.document)

    def _latency(self) -> list[dict[str, Any]]:
        return _estimates(self.document.get("latency_us", {}))


class SweepResult(Result[Sweep]):
    """Result of `hindmost.clone.sweep`."""

    @property
    def verdict(self) -> str:
        """The outcome of a search: ``found``, ``always``, ``never`` or ``not_monotone``.

        It is ``several`` if designs differ, and ``done`` if the sweep was no search.
        """
        states = {one["state"] for one in self.document["found"]}
        if not states:
            return "done"
        return states.pop() if len(states) == 1 else "several"

    @property
    def headline(self) -> str:
        """The answers of the search, or the number of simulated designs and points."""
        from hindmost.commands.clone.view.sweep.terminal import describe_answer

        points = self.document["points"]
        designs = len({point["design"] for point in points})
        head = f"{self.document['clone']}: {designs} design(s), {len(points)} points, simulated"
        return " ".join([line for one in self.document["found"] for line in describe_answer(one)]) or head

    @property
    def points(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per design point, with a column for each parameter and figure: `latency` in wide form."""
        from hindmost.commands.clone.sweep import Swept

        return Swept(cast("dict[str, Any]", self.document)).to_frame(self._library)

    @property
    def found(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per design: the last value at which the objective certainly holds, and its interval."""
        names = ("objective", "by", "state", "safe", "low", "high", "value", "side")
        return self._frame([{**one["set"], **{name: one[name] for name in names}} for one in self._answers()])

    def page(self) -> str:
        """Return the page as HTML."""
        from hindmost.commands.clone.view.sweep.page import render_sweep_page

        return render_sweep_page(self.document)

    def table(self) -> str:
        """Return the terminal's table."""
        from hindmost.commands.clone.view.sweep.terminal import render_sweep

        return render_sweep(self.document)

    def _answers(self) -> list[Mapping[str, Any]]:
        return cast("list[Mapping[str, Any]]", self.document["found"])

    def _latency(self) -> list[dict[str, Any]]:
        return [
            {
                "design": point["design"],
                **point["set"],
                "rate_per_s": point["rate_per_s"],
                "load": point["load"],
            }
            | row
            for point in self.document["points"]
            for row in _estimates(point.get("latency_us", {}))
        ]


def _estimates(estimates: Mapping[str, Interval]) -> list[dict[str, Any]]:
    return [{"quantile": label, **one} for label, one in estimates.items()]
