"""An explanation for the terminal, as a page and as Markdown."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from functools import partial

from hindmost.commands.explain.document import Explanation, Ratio
from hindmost.core.store.measure import Curve
from hindmost.present import numbers
from hindmost.present.overlay import draw_overlay
from hindmost.present.sheet import drawing, render
from hindmost.present.svg import Plot, log10, log_domain, log_ticks

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, column heads and rows."""


def tables(doc: Explanation) -> list[Table]:
    """Return the tables of all views, without empty ones."""
    found: list[Table] = [
        (
            "Where the tail comes from",
            ("part of the path", "of the variance", "of the slowest 1 %"),
            [(one.name, _share(one.of_variance), _share(one.of_slowest)) for one in doc.parts],
        ),
        (
            "Culprits",
            ("who", "kind", "of the variance", "of the slowest 1 %", "per request", "evidence"),
            [
                (
                    one.name if one.process is None else f"{one.name} (pid {one.process})",
                    one.kind,
                    _share(one.of_variance),
                    _share(one.of_slowest),
                    numbers.latency(one.mean_us),
                    f"{numbers.count(one.requests)} requests: {', '.join(one.causes)}",
                )
                for one in doc.culprits
            ],
        ),
        (
            "Candidates",
            ("change", "predicted", f"{doc.by} ratio", "rounds", "outcome", "risk", "time", "why"),
            [
                (
                    one.label,
                    f"{one.candidate.predicted:.2f}",
                    ratio_text(one.ratio),
                    str(one.pairs),
                    one.outcome,
                    one.candidate.risk,
                    numbers.seconds(one.seconds),
                    one.candidate.reason,
                )
                for one in doc.trials
            ],
        ),
    ]
    if (fresh := doc.confirmation) is not None:
        rows = [
            (
                name,
                numbers.latency(fresh.before.latency_us[name], missing=numbers.INFINITE),
                numbers.latency(fresh.after.latency_us[name], missing=numbers.INFINITE),
                ratio_text(ratio),
            )
            for name, ratio in fresh.ratios.items()
            if name in fresh.before.latency_us
        ]
        rates = (numbers.rate(fresh.before.rate_per_s), numbers.rate(fresh.after.rate_per_s))
        rows.append(("throughput", *rates, ratio_text(fresh.ratios.get("throughput"))))
        title = f"Before and after: {fresh.pairs} fresh pairs, {numbers.seconds(fresh.seconds)}"
        found.append((title, ("", "as it is", " and ".join(fresh.labels), "ratio"), rows))
    return [one for one in found if one[2]]


def remarks(doc: Explanation) -> list[str]:
    """Return the remarks below the tables: the budget, the host, what was left out."""
    spent = f"{numbers.seconds(doc.spent_s)} of {numbers.seconds(doc.budget_s)} were spent on runs"
    able = ""
    if doc.resolution.decides is not None:
        able = f"; this budget can detect a {doc.by} ratio of {doc.resolution.decides:.2f}"
    more = ""
    if (need := doc.resolution.budget_s) is not None:
        what = "allow the fewest pairs that can decide" if doc.resolution.scatter is None else "decide 10 %"
        more = f"; about {numbers.seconds(need)} would {what}"
    return [f"{spent}{able}{more}", f"host: {doc.host}", *(one["text"] for one in doc.cannot)]


def render_terminal(doc: Explanation, width: int | None = None) -> str:
    """Render it for a terminal `width` columns wide."""
    if width is None:
        width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
    fill = partial(textwrap.fill, width=max(40, width), break_long_words=False)
    lines = [fill(doc.headline), "", *map(fill, doc.answer)]
    for title, heads, rows in tables(doc):
        sizes = [max(len(row[place]) for row in (heads, *rows)) for place in range(len(heads))]
        lines += ["", title]
        for row in (heads, *rows):
            cells = [f"{cell:<{size}}" for cell, size in zip(row, sizes, strict=True)]
            lines.append(f"  {'  '.join(cells)}".rstrip())
    return "\n".join([*lines, "", *map(fill, remarks(doc))])


def render_markdown(doc: Explanation) -> str:
    """Render it as Markdown."""
    lines = [f"# {doc.headline}", "", *(f"- {one}" for one in doc.answer)]
    for title, heads, rows in tables(doc):
        lines += ["", f"## {title}", ""]
        lines += [_row(heads), _row(["---"] * len(heads)), *map(_row, rows)]
    return "\n".join([*lines, "", *(f"- {one}" for one in remarks(doc)), ""])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def render_page(doc: Explanation) -> str:
    """Render the page: one self-contained HTML file without scripts."""
    fresh = doc.confirmation
    return render(
        "explain.html",
        doc=doc,
        mark="inconclusive" if doc.verdict == "undecided" else "valid",
        tables=tables(doc),
        remarks=remarks(doc),
        path=drawing(partial(path, doc)),
        forest=drawing(partial(forest, doc)),
        latencies=None if fresh is None else drawing(partial(latencies, doc)),
        names=() if fresh is None else ("as it is", " and ".join(fresh.labels)),
    )


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
                title = f"{one.name}: {_share(share)}"
                plot.bar((left, top + offset, room * min(1.0, share), 9.0), cls=cls, title=title)
        most = max(one.of_variance or 0.0, one.of_slowest or 0.0)
        plot.text(left + room * min(1.0, most) + 6, top + 13, _share(most), cls="tick")
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


def latencies(doc: Explanation, width: float) -> str | None:
    """Draw the distribution of latency before and after."""
    fresh = doc.confirmation
    assert fresh is not None
    sides: list[tuple[str, Curve | None]] = [
        ("as it is", fresh.before.curve),  # type: ignore[list-item]
        (" and ".join(fresh.labels), fresh.after.curve),  # type: ignore[list-item]
    ]
    return draw_overlay("Latency before and after", sides, width)


def ratio_text(ratio: Ratio | None) -> str:
    """Format a ratio and its interval."""
    if ratio is None:
        return numbers.MISSING
    ends = "" if ratio.low is None or ratio.high is None else f" [{ratio.low:.2f}, {ratio.high:.2f}]"
    return f"{ratio.value:.2f}{ends}"


def _share(share: float | None) -> str:
    return numbers.percent(None if share is None else round(share, 3) + 0.0)
