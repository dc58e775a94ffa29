"""The charts of an explanation: shares of the path, ratios of candidates, latency before and after."""

from __future__ import annotations

from hindmost.commands.explain.document import Confirmation, Explanation
from hindmost.commands.explain.wording import ratio_text, share_text
from hindmost.core.store.measure import Curve
from hindmost.present.overlay import draw_overlay
from hindmost.present.svg import Plot, log10, log_domain, log_ticks


def path(doc: Explanation, width: float) -> str | None:
    """Draw the parts of the path of a request, with their shares of the variance and the slowest requests."""
    if not doc.parts:
        return None
    plot = Plot(width, 34.0 + 30.0 * len(doc.parts), "Shares of the parts of a request's path")
    left, room = 170.0, width - 240.0
    for place, one in enumerate(doc.parts):
        top = 10.0 + 30.0 * place
        plot.text(left - 8, top + 13, one.name, anchor="end", cls="tick")
        for offset, share, cls in ((0.0, one.of_variance, "c0"), (10.0, one.of_slowest, "c1")):
            if share is not None and share > 0.0:
                title = f"{one.name}: {share_text(share)}"
                plot.bar((left, top + offset, room * min(1.0, share), 9.0), cls=cls, title=title)
        most = max(one.of_variance or 0.0, one.of_slowest or 0.0)
        plot.text(left + room * min(1.0, most) + 6, top + 13, share_text(most), cls="tick")
    return str(plot)


def forest(doc: Explanation, width: float) -> str | None:
    """Draw the ratio of each candidate with its interval; the fresh pairs come last."""
    rows = [(one.label, one.ratio) for one in doc.trials if one.ratio is not None]
    if (fresh := doc.confirmation) is not None and doc.by in fresh.ratios:
        rows.append((f"fresh: {' and '.join(fresh.labels)}", fresh.ratios[doc.by]))
    if not rows:
        return None
    ends = [end for _, one in rows for end in (one.low, one.value, one.high) if end]
    height = 60.0 + 26.0 * len(rows)
    plot = Plot(width, height, f"{doc.by} with each change, as a ratio to the present state", top=10)
    x = plot.x(*log_domain([0.8, 1.25, *ends]), log10)
    y = plot.y(-0.5, len(rows) - 0.5)
    ticks = [(tick, f"{tick:g}") for tick in log_ticks(x.low, x.high)]
    plot.axes(x, y, x_ticks=ticks, y_ticks=[], x_title=f"{doc.by} / present state")
    plot.line([(x(1.0), y(y.low)), (x(1.0), y(y.high))], "fair")
    for place, (label, one) in enumerate(rows):
        at = y(float(len(rows) - 1 - place))
        colour = "c1" if label.startswith("fresh") else "c0"
        if one.low is not None and one.high is not None:
            plot.line([(x(one.low), at), (x(one.high), at)], f"side {colour}")
        plot.dot(x(one.value), at, cls=colour, title=f"{label}: {ratio_text(one)}", radius=4.0)
        plot.text(x(x.low) + 4, at - 6, label, cls="tick")
    return str(plot)


def latencies(fresh: Confirmation, width: float) -> str | None:
    """Draw the distribution of latency before and after."""
    sides: list[tuple[str, Curve | None]] = [
        ("as it is", fresh.before.curve),
        (" and ".join(fresh.labels), fresh.after.curve),
    ]
    return draw_overlay("Latency before and after", sides, width)
