"""The chart of a search: latency against rate, with the limits and the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hindmost.commands.measure.search.document import Search, Step
from hindmost.commands.measure.search.findings import OUTCOMES
from hindmost.core.plan.objective import parse_objective
from hindmost.core.store.measure import Estimates
from hindmost.present import numbers
from hindmost.present.axes import time_ticks
from hindmost.present.numbers import finite
from hindmost.present.svg import Plot, log10, log_domain, log_ticks

INFORMATIVE = ("holds", "fails", "undecided")
"""Outcomes of steps that carry information about the server."""
COLOURS = 8


def rates(doc: Search, latencies: Mapping[str, Estimates], names: Sequence[str], width: float) -> str | None:
    """Draw latency against rate on logarithmic axes. Uninformative steps are hollow."""
    steps = sorted((one for one in doc.steps if one.study in latencies), key=lambda one: one.rate_per_s)
    points = {name: _points(steps, latencies, name) for name in names}
    values = [us for known in points.values() for _, us, _ in known]
    if not values:
        return None
    limits = [term for term in parse_objective(doc.objective).terms if not term.is_share]
    ends = finite((doc.low_per_s, doc.high_per_s)) if bounds_rate(doc) else []
    plot = Plot(width, 380, "Latency of each percentile against the rate", top=24)
    plot.text(4, 12, "latency", cls="name")
    x = plot.x(*log_domain([*(one.rate_per_s for one in steps), *ends], floor=1.0), log10)
    y = plot.y(*log_domain([*values, *(term.limit for term in limits)]), log10)
    if len(ends) == 2:
        left, right = x(min(ends)), x(max(ends))
        span = f"highest rate that holds: {format_end(min(ends))} to {format_end(max(ends))}"
        plot.bar((left, y.end, max(1.0, right - left), y.start - y.end), cls="band", title=span)
    plot.axes(
        x,
        y,
        x_ticks=[(t, numbers.group_thousands(f"{t:g}")) for t in log_ticks(x.low, x.high)],
        y_ticks=time_ticks(y.low, y.high),
        x_title="requests/s",
    )
    for term in limits:
        at = y(term.limit)
        plot.add("path", d=f"M{x.start:.1f} {at:.1f}H{x.end:.1f}", class_="fair")
        plot.text(x.end, at - 5, f"{term.key} < {numbers.latency(term.limit)}", anchor="end", cls="tick")
    if (best := doc.rate_per_s) is not None:
        plot.add("path", d=f"M{x(best):.1f} {y.start:.1f}V{y.end:.1f}", class_="answer")
        plot.text(x(best), y.end - 4, f"holds at {numbers.rate(best)}", anchor="middle", cls="label")
    for number, (name, known) in enumerate(points.items()):
        colour = f"c{number % COLOURS}"
        informative = [(step, us) for step, us, _ in known if step.outcome in INFORMATIVE]
        plot.line([(x(step.rate_per_s), y(us)) for step, us in informative], f"side {colour}")
        for step, us, (low, high) in known:
            at = x(step.rate_per_s)
            if low is not None and high is not None:
                plot.line([(at, y(low)), (at, y(high))], f"side {colour}")
            title = f"{name} at {numbers.rate(step.rate_per_s)}: {numbers.latency(us)}"
            if step.outcome in INFORMATIVE:
                plot.dot(at, y(us), cls=colour, title=title)
            else:
                hollow = f"hollow side {colour}"
                plot.dot(at, y(us), cls=hollow, title=f"{title} ({OUTCOMES[step.outcome]})")
    return str(plot)


def _points(
    steps: Sequence[Step], latencies: Mapping[str, Estimates], name: str
) -> list[tuple[Step, float, tuple[float | None, float | None]]]:
    found = ((step, latencies[step.study].get(name)) for step in steps)
    return [(step, us, (one.low, one.high)) for step, one in found if one and (us := one.value) is not None]


def bounds_rate(doc: Search) -> bool:
    """Return whether a step bounds the rate. Interference makes it useless; too high a rate does not."""
    return any(step.outcome != "spoiled" for step in doc.steps)


def format_end(rate: float | None) -> str:
    """Format an end of the interval of the highest rate."""
    known = finite([rate])
    return numbers.rate(float(f"{known[0]:.3g}")) if known else "a rate outside the searched range"
