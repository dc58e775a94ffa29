"""Predictions of a clone by the engine's queue simulator, with intervals.

The interval of a figure includes the randomness of the simulation and, for a fitted clone, the uncertainty of
its parameters (`uncertainty`). Differences between designs of one clone include only the former.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from hindmost import _engine
from hindmost.commands.clone.document import Clone, load_clone
from hindmost.commands.clone.documents.predictions import Interval, Prediction, Simulation
from hindmost.commands.clone.refusals import refusal
from hindmost.commands.clone.uncertainty import draw_changes
from hindmost.core.laws import DEFAULT_LAW, LawDocument
from hindmost.core.progress import step
from hindmost.core.store.estimates import bounds
from hindmost.errors import Interrupted, UsageError
from hindmost.stats.series.sectioning import section_interval
from hindmost.stats.tables import t_quantile

QUANTILES = (0.5, 0.95, 0.99, 0.999)
SECTIONS = 20
LEAST_DRAWN = 100_000
"""Fewest requests for each draw of parameters, unless the prediction has fewer."""

LEAST_IN_SECTION = 50
"""Fewest requests of a section: shorter ones do not have a p99, so there are fewer sections."""


@dataclass(frozen=True)
class Design:
    """The load and length of a simulation.

    Parameters
    ----------
    requests
        Counted requests of each design point.
    warmup
        Requests before those; by default, a tenth of them.
    seed
        Seed of all random numbers. Designs with the same seed get the same requests.
    arrivals
        A law of arrivals, by name or as an object (`hindmost.core.laws`), or the arrival times in us of all
        requests including warm-up.
    clients, think_us
        A closed loop instead of arrivals at a rate: the number of clients, and their mean (exponential)
        think time between reply and next request.
    quantiles
        Levels in (0, 1).
    sections
        Number of parts whose scatter gives the intervals.
    backlog
        Whether to allow rates above the capacity; the figures then depend on the number of requests.
    """

    requests: int = 1_000_000
    warmup: int | None = None
    seed: int = 1
    arrivals: LawDocument | Sequence[float] = DEFAULT_LAW
    clients: int | None = None
    think_us: float = 0.0
    quantiles: tuple[float, ...] = QUANTILES
    sections: int = SECTIONS
    backlog: bool = False

    @property
    def law(self) -> LawDocument:
        """The law of arrivals in documents: ``trace`` for arrival times."""
        return self.arrivals if isinstance(self.arrivals, str | dict) else "trace"

    def text(self, points: Sequence[Mapping[str, Any]]) -> str:
        """Return the design of these points as text for the engine."""
        warmup = self.requests // 10 if self.warmup is None else self.warmup
        arrivals: dict[str, Any]
        if self.clients is not None:
            arrivals = {"kind": "closed", "clients": self.clients, "think_us": self.think_us}
        elif isinstance(self.arrivals, str):
            arrivals = {"kind": self.arrivals}
        elif isinstance(self.arrivals, dict):
            arrivals = self.arrivals
        else:
            arrivals = {"kind": "trace", "times_us": list(self.arrivals)}
        return json.dumps(
            {
                "points": [{"seed": self.seed, **point} for point in points],
                "arrivals": arrivals,
                "requests": self.requests,
                "warmup": warmup,
                "sections": max(1, min(self.sections, self.requests // LEAST_IN_SECTION)),
                "quantiles": list(self.quantiles),
                "backlog": self.backlog,
            },
            allow_nan=False,
        )


@dataclass(frozen=True)
class Outcome:
    """A prediction and the figures of its sections (name to us), for comparing designs in pairs."""

    prediction: Prediction
    sections_us: dict[str, list[float]]


def simulate(
    clone: Clone | str | Path,
    *,
    rate_per_s: float | None = None,
    utilisation: float | None = None,
    design: Design | None = None,
) -> Prediction:
    """Predict the latency of a clone at one rate.

    Parameters
    ----------
    clone
        A clone, or a source for `load_clone`.
    rate_per_s, utilisation
        The load: a rate, or a share of the capacity. Exactly one is needed, unless the design's arrivals
        define the load.

    Raises
    ------
    UsageError
        The design is invalid, or the load is above the capacity.

    Examples
    --------
    >>> from hindmost.commands.clone.document import load_clone
    >>> found = simulate(load_clone("xapian"), utilisation=0.7, design=Design(requests=20_000))
    >>> 2_000 < found.latency_us["mean"].value < 4_000
    True
    """
    clone = clone if isinstance(clone, Clone) else load_clone(clone)
    point: dict[str, Any] = {}
    if rate_per_s is not None:
        point["load"] = {"rate_per_s": rate_per_s}
    elif utilisation is not None:
        point["load"] = {"utilisation": utilisation}
    design = design or Design()
    found = run_points(clone, [point], design)[0].prediction
    if found.state == "above_capacity":
        raise above_capacity(found)
    if changes := draw_changes(clone, design.seed):
        traced = not isinstance(design.arrivals, str | dict)
        fewer = max(min(design.requests, LEAST_DRAWN), design.requests // len(changes))
        less = design if traced else replace(design, requests=fewer)
        points = [point, *({**point, "set": change} for change in changes)]
        return _widen(found, [one.prediction for one in run_points(clone, points, less)])
    return found


def _widen(found: Prediction, drawn: Sequence[Prediction]) -> Prediction:
    """Add to each interval the variation of the figure between draws of the clone's parameters.

    The first of `drawn` has the fitted parameters. If the queue of another grows without bound, the upper end
    is infinite.
    """
    fit, *others = drawn
    done = [one for one in others if one.state == "done"]
    if len(done) < 2:
        return found
    top = 1.0 if len(done) == len(others) else math.inf
    widened = {}
    for name, figure in found.latency_us.items():
        value, low, high = figure.value, figure.low, figure.high
        if low is not None and high is not None and value > 0.0:
            own = fit.latency_us[name].value
            squares = [math.log(one.latency_us[name].value / own) ** 2 for one in done]
            half = t_quantile(len(done) - 1, 0.975) * math.sqrt(math.fsum(squares) / len(done))
            low = value * math.exp(-math.hypot(half, math.log(value / low)))
            high = top * value * math.exp(math.hypot(half, math.log(high / value)))
        widened[name] = Interval(value=value, low=low, high=high)
    return msgspec.structs.replace(found, latency_us=widened)


def simulation_document(clone: Clone, load: Mapping[str, float], design: Design) -> Simulation:
    """Return the document of a prediction at one load (``hindmost.simulation/1``), as `simulate`."""
    return Simulation(
        schema="hindmost.simulation/1",
        clone=clone.name,
        seed=design.seed,
        arrivals=design.law,
        **msgspec.structs.asdict(simulate(clone, **load, design=design)),
    )


def above_capacity(found: Prediction) -> UsageError:
    """Return the error for a load above the clone's capacity."""
    rate, capacity = found.rate_per_s or 0.0, found.capacity_per_s or 0.0
    threads = f"{found.threads} thread{'s' if found.threads > 1 else ''}"
    of_it = f", {rate / capacity:.1%} of" if capacity else ", above"
    return UsageError(
        "above-capacity",
        f"the rate is {_rate(rate)} requests/s{of_it} the capacity of {_rate(capacity)} requests/s"
        f" ({threads}), so the queue would grow without end",
        hint=f"--rate {_rate(0.9 * capacity).replace(',', '')}, more threads,"
        " or --backlog to simulate the growing queue",
        rate_per_s=rate,
        capacity_per_s=capacity,
        threads=found.threads,
    )


def _rate(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 1000 else f"{per_second:.4g}"


def run_points(
    clone: Clone,
    points: Sequence[Mapping[str, Any]],
    design: Design,
    progress: Callable[[int], None] | None = None,
) -> list[Outcome]:
    """Simulate design points on all cores; a point has ``load`` and ``set`` (new values by JSON pointer).

    Raises
    ------
    UsageError
        A point is invalid; then none is run.
    """
    with engine_errors(), step("simulating the clone"):
        answers = json.loads(_engine.simulate(clone.text, design.text(points), progress))["points"]
    return [_outcome(answer) for answer in answers]


@contextmanager
def engine_errors() -> Iterator[None]:
    """Convert errors of the simulator to our errors."""
    try:
        yield
    except _engine.EngineError as error:
        code, message = error.args
        if code == "interrupted":
            raise Interrupted(message) from None
        fields: dict[str, Any] = {}
        if code not in ("above-capacity", "always-stopped"):
            code, fields = refusal(message)
        raise UsageError(code, message, hint="hindmost clone simulate --help", **fields) from None


def _outcome(answer: dict[str, Any]) -> Outcome:
    sections = answer.pop("sections_us", {})
    rate, capacity = answer["rate_per_s"], answer["capacity_per_s"]
    answer["load"] = rate / capacity if rate is not None and capacity else None
    for name, value in answer.get("latency_us", {}).items():
        found = section_interval(value, sections[name])
        answer["latency_us"][name] = {"value": value, **bounds(found.low, found.high)}
    if kinds := answer.get("kinds"):
        answer["kinds"] = [
            {"name": name, "requests": count, "latency_us": figures} for name, count, figures in kinds
        ]
    return Outcome(msgspec.convert(answer, Prediction), sections)
