"""The charts of a trace: shares of the stages, and the path of the slowest requests."""

from __future__ import annotations

from hindmost.commands.trace.wording import CAUSES, STAGES, culprit_text
from hindmost.core.tracing.advice import share_of
from hindmost.core.tracing.document import Slowest, SlowPart, Trace
from hindmost.present import numbers
from hindmost.present.svg import Plot

ROW = 26.0
LABEL = 215.0


def shares(doc: Trace, of: str, width: float) -> str | None:
    """Draw each stage's share of the mean or of the variance as a bar. A negative share has no bar."""
    stages = doc.all.stages
    plot = Plot(width, 34 + ROW * len(stages), f"Share of the {of} of latency by stage", top=24)
    plot.text(4, 12, f"share of the {of}", cls="name")
    for place, stage in enumerate(stages):
        share = stage.share_of_mean if of == "mean" else share_of(stage)
        name, top = STAGES[stage.stage], 24 + ROW * place
        plot.text(4, top + 16, name, cls="tick")
        long = max(0.0, min(1.0, share)) * (width - LABEL - 70)
        title = f"{name}: {numbers.percent(share)} of the {of}"
        plot.bar((LABEL, top + 4, max(long, 0.5), ROW - 8), cls=f"c{place}", title=title)
        plot.text(LABEL + long + 6, top + 16, numbers.percent(share), cls="tick")
    return str(plot)


def flame(slowest: Slowest, width: float) -> str | None:
    """Draw the mean slow request as a flame graph: stages, below them causes, below them culprits."""
    total = slowest.latency_us
    if not total:
        return None
    plot = Plot(width, 30 + 3 * (ROW + 4), "Where the slowest requests spent their time", top=24)
    plot.text(4, 12, f"mean of the slowest: {numbers.latency(total)}", cls="name")
    scale = (width - 8) / total
    at = 4.0
    first = SlowPart(stage="network_to_tcp", cause="running", mean_us=slowest.network_to_tcp_us)
    parts = [first, *slowest.parts]
    for place, stage in enumerate(list(STAGES)[:5]):
        own = [one for one in parts if one.stage == stage]
        begun = at
        for cause in dict.fromkeys(one.cause for one in own):
            alike = [one for one in own if one.cause == cause]
            _block(plot, (at, 1, sum(one.mean_us for one in alike) * scale), place, CAUSES[cause])
            for one in alike:
                long = one.mean_us * scale
                _block(plot, (at, 2, long), place, CAUSES[cause] if one.name is None else culprit_text(one))
                at += long
        _block(plot, (begun, 0, at - begun), place, STAGES[stage])
    return str(plot)


def _block(plot: Plot, box: tuple[float, int, float], place: int, text: str) -> None:
    left, row, long = box
    if long < 0.4:
        return
    top = 24 + row * (ROW + 4)
    plot.bar((left, top, long - 0.3, ROW), cls=f"c{place} row{row}", title=text)
    if long > 6.5 * len(text):
        plot.text(left + 4, top + 17, text, cls="on")
