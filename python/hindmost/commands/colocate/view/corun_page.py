"""The page of a server next to jobs: heat maps of sensitivity and contentiousness, predicted and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hindmost.commands.colocate.documents.profiles import CoRun
from hindmost.commands.colocate.view.corun import between, factor, percent
from hindmost.commands.colocate.view.profile import share_text
from hindmost.present.sheet import render

_FULL = 0.5
"""Share from which on a cell has its darkest shade."""


def render_corun_page(document: CoRun) -> str:
    """Render the page as one self-contained HTML file without scripts."""
    stressors = [axis["stressor"] for axis in document["axes"]]
    each = [*document["jobs"], *(job for load in document["loads"] for job in load["jobs"])]
    promises = [one["promise"] for one in each]
    return render(
        "corun.html",
        doc=document,
        mark="invalid" if "broken" in promises else "inconclusive" if "undecided" in promises else "valid",
        stressors=stressors,
        sensitivity=[
            (what, [_cell(_part(axis, keys)) for axis in document["axes"]])
            for what, keys in (
                ("rate lost", ("sensitivity",)),
                ("p50 grows", ("latency", "p50")),
                ("p99 grows", ("latency", "p99")),
            )
        ],
        contentiousness=[
            (
                one["job"],
                _cells(stressors, {axis["stressor"]: axis["contentiousness"] for axis in one["axes"]}),
            )
            for one in document["jobs"]
        ],
        products=[(one["job"], _products(document["axes"], one["axes"])) for one in document["jobs"]],
        share=share_text,
        percent=percent,
        between=between,
        factor=factor,
    )


def _part(axis: Mapping[str, Any], keys: Sequence[str]) -> Mapping[str, Any] | None:
    found: Any = axis
    for key in keys:
        found = found[key]
    return found  # type: ignore[no-any-return]


def _cells(stressors: Sequence[str], by: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [_cell(by.get(one)) for one in stressors]


def _cell(share: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the text, the darkness in percent, and whether the interval excludes zero."""
    if share is None:
        return {"text": "-", "dark": 0, "shown": False, "title": "windows were lost"}
    return {
        "text": f"{share['value']:.0%}",
        "dark": round(100 * min(1.0, max(0.0, share["value"]) / _FULL)),
        "shown": share["low"] > 0 or share["high"] < 0,
        "title": share_text(share).strip(),
    }


def _products(server: Sequence[Mapping[str, Any]], job: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return p99's growth next to a stressor times the job's contentiousness, by stressor."""
    taken = {axis["stressor"]: axis["contentiousness"] for axis in job}
    cells = []
    for axis in server:
        grown, con = axis["latency"]["p99"], taken.get(axis["stressor"])
        if grown is None or con is None:
            cells.append(_cell(None))
            continue
        value = grown["value"] * max(0.0, con["value"])
        sure = (grown["low"] > 0 or grown["high"] < 0) and con["low"] > 0
        dark = round(100 * min(1.0, max(0.0, value) / _FULL))
        cells.append({"text": f"{value:.0%}", "dark": dark, "shown": sure, "title": f"{value:.2%}"})
    return cells
