"""The page's charts as SVG.

Each function takes a document and a width in pixels, and returns the chart, or ``None`` if there is nothing
to draw. Text does not shrink with the screen, so the page contains a wide and a narrow drawing.
"""

import math
from collections.abc import Mapping, Sequence

from hindmost.commands.measure.view import wording
from hindmost.commands.measure.view.tables import latency_groups
from hindmost.commands.measure.view.values import bounds, labels
from hindmost.core.store.measure import Curve, IntervalStep, Measure, Series
from hindmost.present import numbers
from hindmost.present.axes import tail_ticks, time_ticks
from hindmost.present.curves import (
    Values,
    drawable_points,
    flattens_latency,
    grid,
    infinite_from,
    on_grid,
)
from hindmost.present.numbers import finite
from hindmost.present.svg import Plot, Scale, linear_domain, linear_ticks, log10, log_domain, tail

ROW = 24
"""Height of a row of the summary, in pixels."""


def _curve_points(x: Scale, y: Scale, levels: Sequence[float], values: Values) -> list[tuple[float, float]]:
    return [(x(q), y(v)) for q, v in zip(levels, values, strict=True) if v is not None]


def distribution(
    doc: Measure, width: float, names: Sequence[str] = ("latency", "service", "send_delay")
) -> str | None:
    """Draw the merged quantile curves, and with latency one thin curve per run."""
    found = doc.distributions
    every: dict[str, Curve | None] = {
        "latency": found.latency,
        "service": found.service,
        "send_delay": found.send_delay,
    }
    if "latency" in names and flattens_latency(every["latency"], every["send_delay"]):
        names = [name for name in names if name != "send_delay"]
    curves = {name: curve for name, curve in every.items() if name in names and curve}
    title = "Quantiles on a scale with equal space for each further nine"
    if "latency" in names:
        return _draw_quantiles(title, curves, (width, 340), doc.per_run_curves)
    return _draw_quantiles(title, curves, (width, 260))


def capture(doc: Measure, width: float) -> str | None:
    """Draw the client's quantile curves and the capture's, for the same requests (paper, Figures 5 and 6)."""
    if not doc.capture:
        return None
    every = doc.capture.curves
    curves = {"capture": every.capture, "wire": every.wire, "service": every.service}
    return _draw_quantiles("Quantiles of the same requests", curves, (width, 300))


def _draw_quantiles(
    title: str, curves: Mapping[str, Curve], size: tuple[float, float], runs: Sequence[Curve] = ()
) -> str | None:
    """Draw curves, and thin ones of runs, on the tail scale."""
    curves = {name: curve for name, curve in curves.items() if curve.q}
    drawn = [drawable_points(curve) for curve in (*curves.values(), *runs)]
    values = finite(v for _, vs in drawn for v in vs)
    if not values:
        return None
    end = max(0.9, *(q for qs, _ in drawn for q in qs))
    plot = Plot(*size, f"{title}: {', '.join(curves)}", top=24)
    x, y = plot.x(0.0, end, tail), plot.y(*log_domain(values), log10)
    plot.axes(x, y, x_ticks=tail_ticks(end), y_ticks=time_ticks(y.low, y.high), x_title="percentile")
    levels = grid([q for qs, _ in drawn for q in qs], 90)
    for qs, us in drawn[len(curves) :] if len(runs) > 1 else []:
        plot.line(_curve_points(x, y, qs, us), "run")
    for name, curve in curves.items():
        plot.line(_curve_points(x, y, levels, on_grid(curve, levels)), name)
        from_ = infinite_from(curve)
        if from_ is not None:
            plot.add("path", d=f"M{x(from_):.1f} {y.start:.1f}V{y.end:.1f}", class_=f"line limit {name}")
            note = f"{name} ∞ from p{numbers.about_level(from_)}"
            plot.text(x(from_) - 6, y.end + 10, note, anchor="end", cls="tick")
    return str(plot)


def summary(doc: Measure, width: float) -> str | None:
    """Draw percentiles of latency and isolated latency with their intervals on one time scale."""
    groups = {name: group for name, group in latency_groups(doc).items() if name in ("latency", "isolated")}
    rows = [
        (label, name, bounds(groups[name], label))
        for label in labels(*groups.values())
        for name in groups
        if label != "mean" and label in groups[name]
    ]
    values = finite(v for _, _, ends in rows for v in ends)
    if not values:
        return None
    title = "Percentiles of latency with their 95 % intervals"
    plot = Plot(width, 40 + ROW * len(rows), title, left=112, right=70, top=8, bottom=30)
    x, y = plot.x(*log_domain(values), log10), plot.y(0, len(rows))
    plot.axes(x, y, x_ticks=time_ticks(x.low, x.high), y_ticks=[])
    for place, (label, name, (value, low, high)) in enumerate(rows):
        run_of_look = y(len(rows) - place - 0.5)
        plot.text(x.start - 8, run_of_look + 4, f"{label} {wording.COLUMNS[name]}", anchor="end", cls="tick")
        if low is not None and high is not None:
            end = x.end if high == math.inf else x(high)
            plot.add("path", d=f"M{x(low):.1f} {run_of_look:.1f}H{end:.1f}", class_=f"line {name}")
        text = numbers.latency(value)
        if value is not None and value != math.inf:
            plot.dot(
                x(value), run_of_look, cls=f"{name} dot", title=f"{label} {wording.COLUMNS[name]}: {text}"
            )
        plot.text(x.end + 8, run_of_look + 4, text, cls="tick")
    return str(plot)


def runs(doc: Measure, width: float, label: str) -> str | None:
    """Draw one quantile: one dot per run, and the running figure with its interval (paper, Figure 4)."""
    points = [(run.run, run.latency_us.get(label), wording.run_word(run)) for run in doc.runs]
    path: list[IntervalStep] = doc.stopping.path.get(label, [])
    values = finite([v for _, v, _ in points] + [look.value for look in path])
    if not points or not (values or any(v == math.inf for _, v, _ in points)):
        return None
    band = [k for k in path if len(finite((k.value, k.low, k.high))) == 3]
    low, high = run_domain(values, band)
    plot = Plot(
        width,
        280,
        f"Latency {label} of each run, and the running {wording.interval_subject(doc)} with its interval",
        top=24,
    )
    plot.text(4, 12, f"latency {label}", cls="name")
    numbers_ = [n for n, _, _ in points]
    x, y = plot.x(min(numbers_) - 0.5, max(numbers_) + 0.5), plot.y(low, high)
    step = max(1, math.ceil(len(numbers_) / (width / 40)))
    plot.axes(
        x,
        y,
        x_ticks=[(n, str(n)) for n in numbers_[::step]],
        y_ticks=[(t, numbers.tick(t)) for t in linear_ticks(low, high)],
        x_title="run",
    )
    plot.area(
        [(x(run_of_look(k)), y(k.high or 0.0)) for k in band],
        [(x(run_of_look(k)), y(k.low or 0.0)) for k in band],
        "band",
    )
    plot.line([(x(run_of_look(k)), y(k.value or 0.0)) for k in band], "mean")
    for number, value, verdict in points:
        if value is None:
            continue
        where = f"run {number}: {numbers.latency(value)} ({verdict})"
        if value == math.inf:
            plot.text(x(number), y.end + 10, numbers.INFINITE, anchor="middle", cls="infinite")
        else:
            plot.dot(x(number), y(value), cls="point" if verdict == "valid" else "point hollow", title=where)
    return str(plot)


def run_of_look(look: IntervalStep) -> int:
    """Return the run after which a look was taken. In documents before 0.4 every run counted."""
    return look.run or look.runs


def run_domain(values: Sequence[float], band: Sequence[IntervalStep]) -> tuple[float, float]:
    """Return the axis range for runs and their running interval.

    The first intervals of a mean are so wide that they would flatten the rest, so they are cut at the edge.
    """
    if not values:
        return (0.0, 1.0)
    low, high = min(values), max(values)
    spread = max(high - low, 0.02 * high)
    reach = finite(v for look in band[len(band) // 3 :] for v in (look.low, look.high))
    return linear_domain([*values, *(v for v in reach if low - spread <= v <= high + spread)])


def outstanding(doc: Measure, width: float) -> str | None:
    """Draw the distribution of outstanding requests that arrivals found (paper, Figure 1)."""
    table = cumulative(doc)
    if not table:
        return None
    shown = next((n for n, share in table if share >= 0.99995), table[-1][0])
    plot = Plot(width, 260, "Share of arrivals that found at most this many requests outstanding", top=24)
    x, y = plot.x(0.0, float(max(shown, 1))), plot.y(0.0, 1.0)
    plot.axes(
        x,
        y,
        x_ticks=[
            (t, f"{t:g}") for t in linear_ticks(0, max(shown, 1), 8 if width > 500 else 5) if t % 1 == 0
        ],
        y_ticks=[(share, numbers.percent(share)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        x_title="requests outstanding when the next one was scheduled",
    )
    steps: list[tuple[float, float]] = []
    before = 0.0
    for n, share in table:
        if n > shown:
            break
        steps += [(x(n), y(before)), (x(n), y(share))]
        before = share
    plot.line([*steps, (x.end, y(before))], "latency")
    return str(plot)


def cumulative(doc: Measure) -> list[tuple[int, float]]:
    """Return the cumulative shares of the outstanding counts."""
    total, out = 0.0, []
    found = doc.outstanding
    for n, share in sorted(zip(found.values, found.share, strict=False)) if found else []:
        total += share
        out.append((n, min(1.0, total)))
    return out


def clients(doc: Measure, width: float) -> str | None:
    """Draw each client's share of the samples around each quantile, stacked (paper, Figure 2)."""
    rows = sorted(doc.clients.by_quantile, key=lambda row: row.q)
    if doc.clients.count < 2 or not rows:
        return None
    plot = Plot(width, 270, "Share of samples by client at each quantile", top=14)
    x, y = plot.x(0.0, float(len(rows))), plot.y(0.0, 1.0)
    plot.axes(
        x,
        y,
        x_ticks=[(i + 0.5, numbers.level_label(row.q)) for i, row in enumerate(rows)],
        y_ticks=[(share, numbers.percent(share)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        x_title="percentile",
    )
    gap = 2 if width / len(rows) > 14 else 0.5
    for i, row in enumerate(rows):
        below = 0.0
        for index, share in enumerate(row.shares):
            top, bottom = y(below + share), y(below)
            plot.bar(
                (x(i) + gap, top, x(i + 1) - x(i) - 2 * gap, max(0.0, bottom - top)),
                cls=f"instance i{index % 8}",
                title=f"p{numbers.level_label(row.q)}: client {index} has {numbers.percent(share)}",
            )
            below += share
    count = doc.clients.count
    for index in range(1, count):
        plot.add("path", d=f"M{x.start:.1f} {y(index / count):.1f}H{x.end:.1f}", class_="fair")
    return str(plot)


def series(one: Series, width: float) -> str | None:
    """Draw a run over time: rate above, p50 and p99 below, with the warm-up shaded."""
    latencies = finite([*one.p50_us, *one.p99_us])
    asked: list[float | None] = list(one.requested or ())
    rates = finite([*one.rate, *asked])
    if not one.t_s or not (latencies or rates):
        return None
    end = max(one.t_s) or 1.0
    plot = Plot(width, 340, f"Rate, p50 and p99 of run {one.run} in time", top=24)
    x = plot.x(min(one.t_s), end)
    upper = Scale(0.0, max(rates or [1.0]) * 1.1, 110, plot.top)
    lower = plot.y(*log_domain(latencies), log10)
    lower = Scale(lower.low, lower.high, lower.start, 136, log10)
    warm = one.measure_from_s
    if warm is not None and warm > x.low:
        for scale in (upper, lower):
            plot.bar((x.start, scale.end, x(warm) - x.start, scale.start - scale.end), cls="warm")
        plot.text(x(warm) - 5, lower.end + 14, "warm-up", anchor="end", cls="tick")
    marks = [(t, numbers.group_thousands(f"{t:g}")) for t in linear_ticks(0, upper.high, 2)]
    plot.axes(x, upper, x_ticks=[], y_ticks=marks)
    plot.axes(
        x,
        lower,
        x_ticks=[(t, f"{t:g}") for t in linear_ticks(x.low, end, 8 if width > 500 else 4)],
        y_ticks=time_ticks(lower.low, lower.high),
        x_title="seconds since the run began",
    )
    of = "requests/s: answered, and requested (dashed)" if asked else "requests/s"
    plot.text(x.end, 14, of, anchor="end", cls="name")
    plot.text(x.end, 132, "p99 (upper) and p50", anchor="end", cls="name")

    def places(values: Values, scale: Scale) -> list[tuple[float, float]]:
        return [(x(t), scale(v)) for t, v in zip(one.t_s, values, strict=False) if v is not None]

    plot.line(places(asked, upper), "requested")
    plot.line(places(one.rate, upper), "rate")
    plot.line(places(one.p50_us, lower), "service")
    plot.line(places(one.p99_us, lower), "latency")
    return str(plot)
