"""The page of a trace: the request's path, culprits, the slowest requests, possible changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hindmost.commands.trace.view.advice import prediction_text
from hindmost.commands.trace.view.culprits import charged_to_nobody, major_parts
from hindmost.commands.trace.view.names import (
    CAUSES,
    STAGES,
    begin_text,
    culprit,
    interference_text,
    text_of_note,
)
from hindmost.commands.trace.view.terminal import GROUPS
from hindmost.present import numbers
from hindmost.present.sheet import drawing, render
from hindmost.present.svg import Plot

COLOURS = 8
ROW = 26.0
LABEL = 215.0


def render_trace_page(document: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> str:
    """Render the page as one self-contained HTML file without scripts.

    Parameters
    ----------
    document : dict
        Document ``hindmost.trace/2``.
    before : dict, optional
        An earlier trace to show next to this one.
    """
    who, others = document["who"], document.get("taken")  # documents of earlier versions lack them
    isolated = others is None or others["isolated"]
    slowest = None if who is None else who["slowest"]
    return render(
        "trace.html",
        doc=document,
        stage_names=STAGES,
        groups=[(title, document[name]) for name, title in GROUPS.items() if document.get(name)],
        begins=None if document.get("begun") is None else begin_text(document["begun"]),
        taken="" if others is None else interference_text(others),
        isolated=isolated,
        mark="valid" if document["matched"] >= 0.999 and isolated else "inconclusive",
        stages=[_stage(one) for one in [*document["all"]["stages"], document["all"]["latency"]]],
        path=drawing(partial(path, document, "share_of_mean")),
        variance=drawing(partial(path, document, "share_of_variance")),
        covariance=_covariance(document),
        parts=[] if who is None else [_part(one) for one in major_parts(who["parts"])],
        culprits=[]
        if who is None
        else [[culprit(one["who"]), *_part(one)] for one in major_parts(who["culprits"])],
        notes=[text_of_note(note) for note in document["notes"]],
        nobody=[] if who is None else charged_to_nobody(who),
        slowest=slowest,
        flame=None if slowest is None else drawing(partial(flame, slowest)),
        slow=[] if slowest is None else [_slow(one, slowest) for one in slowest["parts"][:12]],
        advice=[
            {
                "change": one["change"],
                "why": one["why"],
                "share": numbers.percent(one["share_of_variance"]),
                "predicted": None if one["predicted"] is None else prediction_text(one["predicted"]),
                "trial": one.get("trial"),
            }
            for one in document["advice"]
        ],
        before=None if before is None else _stage_rows(before, document),
    )


def path(document: Mapping[str, Any], figure: str, width: float) -> str | None:
    """Draw each stage's share of the mean or of the variance as a bar. A negative share has no bar."""
    stages = document["all"]["stages"]
    name = "mean" if figure == "share_of_mean" else "variance"
    plot = Plot(width, 34 + ROW * len(stages), f"Share of the {name} of latency by stage", top=24)
    plot.text(4, 12, f"share of the {name}", cls="name")
    for place, stage in enumerate(stages):
        share = stage[figure] if figure == "share_of_mean" else (stage[figure] or {"value": 0.0})["value"]
        top = 24 + ROW * place
        plot.text(4, top + 16, STAGES[stage["stage"]], cls="tick")
        long = max(0.0, min(1.0, share)) * (width - LABEL - 70)
        title = f"{STAGES[stage['stage']]}: {numbers.percent(share)} of the {name}"
        plot.bar((LABEL, top + 4, max(long, 0.5), ROW - 8), cls=f"c{place}", title=title)
        plot.text(LABEL + long + 6, top + 16, numbers.percent(share), cls="tick")
    return str(plot)


def flame(slowest: Mapping[str, Any], width: float) -> str | None:
    """Draw the mean slow request as a flame graph: stages, below them causes, below them culprits."""
    total = slowest["latency_us"]
    if not total:
        return None
    plot = Plot(width, 30 + 3 * (ROW + 4), "Where the slowest requests spent their time", top=24)
    plot.text(4, 12, f"mean of the slowest: {numbers.latency(total)}", cls="name")
    scale = (width - 8) / total
    at = 4.0
    first = {
        "stage": "network_to_tcp",
        "cause": "running",
        "name": None,
        "mean_us": slowest["network_to_tcp_us"],
    }
    parts = [first, *slowest["parts"]]
    for place, stage in enumerate(list(STAGES)[:5]):
        own = [one for one in parts if one["stage"] == stage]
        begun = at
        for cause in dict.fromkeys(one["cause"] for one in own):
            alike = [one for one in own if one["cause"] == cause]
            _block(plot, (at, 1, sum(one["mean_us"] for one in alike) * scale), place, CAUSES[cause])
            for one in alike:
                long = one["mean_us"] * scale
                _block(plot, (at, 2, long), place, CAUSES[cause] if one["name"] is None else culprit(one))
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


def _stage(stage: Mapping[str, Any]) -> list[str]:
    share = stage["share_of_variance"]
    whole = stage["stage"] == "latency"
    return [
        STAGES[stage["stage"]],
        _figure(stage["mean_us"]),
        numbers.number(stage["variance_us2"]["value"] ** 0.5),
        numbers.MISSING if stage["c2"] is None else numbers.number(stage["c2"]["value"]),
        numbers.percent(stage["share_of_mean"]),
        numbers.MISSING if share is None or whole else _shares(share),
    ]


def _figure(one: Mapping[str, Any]) -> str:
    ends = "" if one["low"] is None else f" [{numbers.number(one['low'])}, {numbers.number(one['high'])}]"
    return f"{numbers.number(one['value'])}{ends}"


def _shares(one: Mapping[str, Any]) -> str:
    ends = "" if one["low"] is None else f" [{numbers.percent(one['low'])}, {numbers.percent(one['high'])}]"
    return f"{numbers.percent(one['value'])}{ends}"


def _part(one: Mapping[str, Any]) -> list[str]:
    return [
        CAUSES[one["cause"]],
        STAGES[one["stage"]],
        _figure(one["mean_us"]),
        _shares(one["share_of_variance"]),
        numbers.number(one["sd_without_us"]),
    ]


def _slow(one: Mapping[str, Any], slowest: Mapping[str, Any]) -> list[str]:
    return [
        CAUSES[one["cause"]],
        numbers.MISSING if one["name"] is None else culprit(one),
        STAGES[one["stage"]],
        numbers.number(one["mean_us"]),
        numbers.percent(one["mean_us"] / slowest["latency_us"]) if slowest["latency_us"] else numbers.MISSING,
    ]


def _covariance(document: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, float]]]]:
    """Return the rows of the covariance matrix: texts, and each cell's share of the variance."""
    matrix: Sequence[Sequence[float]] = document["all"]["covariance_us2"]
    variance = document["all"]["latency"]["variance_us2"]["value"] or 1.0
    names = list(STAGES)[:5]
    return [
        (STAGES[name], [(numbers.number(cell), min(1.0, abs(cell) / variance)) for cell in row])
        for name, row in zip(names, matrix, strict=True)
    ]


def _stage_rows(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[list[str]]:
    """Return mean, spread and share of the variance of each stage, before and after."""
    rows = []
    pairs = zip(
        [*before["all"]["stages"], before["all"]["latency"]],
        [*after["all"]["stages"], after["all"]["latency"]],
        strict=True,
    )
    for one, two in pairs:
        cells = [STAGES[one["stage"]]]
        for old, new in (
            (one["mean_us"]["value"], two["mean_us"]["value"]),
            (one["variance_us2"]["value"] ** 0.5, two["variance_us2"]["value"] ** 0.5),
        ):
            ratio = numbers.MISSING if not old else f"{new / old:.2f}"
            cells += [numbers.number(old), numbers.number(new), ratio]
        rows.append(cells)
    return rows
