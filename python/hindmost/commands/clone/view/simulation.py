"""View of a simulation: latency with its intervals and parts, and what it is based on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hindmost.commands.clone.documents.predictions import LockPrediction, Simulation
from hindmost.core.laws import law_text
from hindmost.present import numbers
from hindmost.present.axes import tail_ticks, time_ticks
from hindmost.present.blocks import Chart, Facts, Section, Table, View
from hindmost.present.svg import Plot, log10, log_domain, tail

PARTS = (("latency", "latency"), ("send_delay", "queueing"), ("service", "service"))
"""CSS class and name of each line of the chart."""


def view(doc: Simulation) -> View:
    """Return the view of a simulation."""
    threads, rate = numbers.plural(doc.threads, "thread"), numbers.rate(doc.rate_per_s)
    load = "" if doc.load is None else f", {numbers.percent(doc.load)} of the capacity"
    return View(
        title=f"Simulation of {doc.clone}",
        word="",
        tone="",
        headline=f"{doc.clone}, simulated: {threads} at {rate}{load}",
        meta=(f"{law_text(doc.arrivals)} arrivals", f"seed {doc.seed}"),
        schema=doc.schema,
        blocks=[
            Section(
                "Latency",
                [
                    _latencies(doc),
                    Chart(partial(draw, doc), "Latency, and its parts in the queue and in service.", PARTS),
                    Facts(list(_facts(doc))),
                ],
            )
        ],
    )


def _latencies(doc: Simulation) -> Table:
    unit = numbers.unit_for([one.value for one in doc.latency_us.values()])
    rows = []
    for label, one in doc.latency_us.items():
        shown = numbers.interval(one.value, one.low, one.high, unit)
        ends = "" if one.low is None else f"[{shown.low}, {shown.high}]"
        parts = [numbers.number(part[label] / unit.us) for part in (doc.queueing_us, doc.service_us)]
        rows.append((label, shown.value, ends, *parts))
    return Table(("", f"latency {unit.name}", "95 % interval", "queueing", "service"), rows, "<><>>")


def _facts(doc: Simulation) -> Iterator[tuple[str, str]]:
    busy = numbers.latency(doc.demand_us or 0.0)
    yield (
        "capacity",
        "unlimited: the clone has no service time"
        if doc.capacity_per_s is None
        else f"{numbers.rate(doc.capacity_per_s)}; a request occupies a thread for {busy}",
    )
    yield "busy", f"{numbers.percent(doc.busy_share or 0.0)} of the threads' time is spent on requests"
    for lock in doc.locks or ():
        yield f"lock {lock.name}", _lock_text(lock)
    for kind in doc.kinds or ():
        figures = ", ".join(f"{label} {numbers.latency(us)}" for label, us in kind.latency_us.items())
        yield f"kind {kind.name}", f"{numbers.plural(kind.requests, 'request')}: {figures}"
    yield "requests", f"{numbers.count(doc.requests or 0)} after the warm-up"


def _lock_text(lock: LockPrediction) -> str:
    text = f"held {numbers.percent(lock.held_share)} of the time"
    if lock.waited_share:
        text += f"; {numbers.percent(lock.waited_share)} of requests wait for it"
        text += f", {numbers.latency(lock.mean_wait_us)} on average over all requests"
    if lock.sleeps_per_taken:
        text += f"; {lock.sleeps_per_taken:.2g} sleeps per request"
    return text


def draw(doc: Simulation, width: float) -> str | None:
    """Draw latency, queueing and service against the percentile."""
    latency_us = {label: one.value for label, one in doc.latency_us.items()}
    levels = {label: float(label[1:]) / 100.0 for label in latency_us if label != "mean"}
    if not levels:
        return None
    columns = (latency_us, doc.queueing_us, doc.service_us)
    end = max(levels.values())
    plot = Plot(width, 300.0, f"Latency of {doc.clone} by percentile", top=24)
    x, y = plot.x(0.0, end, tail), plot.y(*log_domain([us[q] for us in columns for q in levels], 0.1), log10)
    plot.axes(x, y, x_ticks=tail_ticks(end), y_ticks=time_ticks(y.low, y.high), x_title="percentile")
    for (cls, _), us in zip(PARTS, columns, strict=True):
        plot.line([(x(level), y(us[label])) for label, level in levels.items()], cls)
    return str(plot)
