"""The page of a diagnosis: metrics that moved, tested suspects, experiments by pairs, the correction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from hindmost.commands.diagnose.document import Correction, Diagnosis, Evidence, Next, Replica
from hindmost.commands.diagnose.view.charts import COLOURS, CORRECTION, course, pairs, shares, suspects_of
from hindmost.commands.diagnose.view.terminal import STATES, likeness
from hindmost.present import numbers
from hindmost.present.sheet import drawing, render


def render_diagnosis_page(document: Diagnosis) -> str:
    """Render the page as one self-contained HTML file without scripts."""
    names = suspects_of(document)
    normal = document["normal_us"]
    return render(
        "diagnosis.html",
        doc=document,
        mark="valid" if document["ruling"] == "cause" else "inconclusive",
        percentile=f"p{document['percentile']:g}",
        now=numbers.latency(document["now_us"]),
        normal=None if normal is None else numbers.latency(normal),
        times=None if normal is None else f"{document['now_us'] / normal:.1f}",
        after=_after(document),
        course=drawing(partial(course, document)),
        keys=_keys(document, names),
        parts=[_part(part, document, names) for part in (document, document["next"]) if part is not None],
        replica=None if document["replica"] is None else _replica(document["replica"], document, names),
    )


def _keys(document: Diagnosis, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the legend of the course: names and colour classes."""
    parts = [part for part in (document, document["next"]) if part is not None]
    corrected = any((part["correction"] or {}).get("measured") for part in parts)
    return [
        (f"side c{place % COLOURS}", _removal_label(name))
        for place, name in enumerate(names)
        if name != CORRECTION or corrected
    ]


def _removal_label(name: str) -> str:
    return {"sham": "nothing changed (sham)", CORRECTION: CORRECTION}.get(name, f"without {name}")


def _after(document: Diagnosis) -> str | None:
    """Return the percentile with all kept corrections, or None without a kept correction."""
    following = document["next"]
    for part in (following, document):
        correction = None if part is None else part["correction"]
        if correction is not None and correction["kept"] and "after_us" in correction:
            return numbers.latency(correction["after_us"])
    return None


def _replica(replica: Replica, document: Diagnosis, names: Sequence[str]) -> dict[str, Any]:
    """Return the experiments on a replica."""
    return {
        **_tested_section(replica, document, names),
        "name": replica["name"],
        "base": numbers.latency(replica["base_us"]),
        "rate": f"{replica['rate_per_s']:.0f}",
        "processors": f"{replica['processors']:.2f}",
        "host_processors": f"{replica['host_processors']:.2f}",
        "not_tried": replica["not_tried"],
        "removal": replica["removal"],
    }


def _part(part: Diagnosis | Next, document: Diagnosis, names: Sequence[str]) -> dict[str, Any]:
    """Return one search for a cause, for its sections."""
    corrected, normal_us = part["correction"], document["normal_us"]
    return {
        **_tested_section(part, document, names),
        "correction": None if corrected is None else _correction(corrected, names, normal_us),
    }


def _tested_section(
    part: Replica | Diagnosis | Next, document: Diagnosis, names: Sequence[str]
) -> dict[str, Any]:
    suspects, normal_us = part["suspects"], document["normal_us"]
    gates = (document["explains_above"], document["struck_out_below"])
    sham = [] if part["sham"] is None else [part["sham"]]
    return {
        "now": numbers.latency(part["now_us"]),
        "ruling": part["ruling"],
        "why": part["why"],
        "also": part["also"],
        "rows": [_row(one, one["name"] == part["leader"]) for one in (*suspects, *sham)],
        "shares": drawing(partial(shares, suspects, names, gates)),
        "experiments": [
            (one["name"], _caption(one), _pairs_of(one, names, normal_us)) for one in (*suspects, *sham)
        ],
    }


def _pairs_of(one: Evidence, names: Sequence[str], normal_us: float | None) -> Any:  # noqa: ANN401 (markup)
    cls = f"c{names.index(one['name']) % COLOURS}"
    return drawing(partial(pairs, one["measured"], normal_us, cls, f"Pairs with and without {one['name']}"))


def _row(one: Evidence, leads: bool) -> dict[str, Any]:
    low, high = one["low"], one["high"]
    return {
        "name": one["name"],
        "about": one["about"],
        "ratio": f"{one['ratio']:.2f}",
        "interval": "" if low is None or high is None else f"[{low:.2f}, {high:.2f}]",
        "share": "" if one["share"] is None else f"{one['share']:.0%}",
        "bounds": ""
        if one["share_low"] is None or one["share_high"] is None
        else f"[{one['share_low']:.0%}, {one['share_high']:.0%}]",
        "p": f"{one['p']:.4f}",
        "pairs": one["pairs"],
        "state": "" if one["name"] == "sham" else STATES[one["state"]],
        "signature": likeness(one["signature"]),
        "leads": leads,
    }


def _caption(one: Evidence) -> str:
    """Return the sentence below an experiment's chart."""
    if one["name"] == "sham":
        return (
            "The sham changes nothing, with the same timing."
            " If its dots differ by more than chance, no result counts."
        )
    return f"{one['about'][:1].upper()}{one['about'][1:]}: {STATES[one['state']]}."


def _correction(correction: Correction, names: Sequence[str], normal_us: float | None) -> dict[str, Any]:
    cls = f"c{(len(names) - 1) % COLOURS}"
    measured = correction.get("measured", [])
    return {
        "kept": correction["kept"],
        "about": correction.get("about"),
        "why": correction["why"],
        "before": numbers.latency(correction.get("before_us")),
        "after": numbers.latency(correction.get("after_us")),
        "undo": correction.get("undo"),
        "refused": correction.get("refused", []),
        "chart": drawing(partial(pairs, measured, normal_us, cls, "Pairs without and with the correction")),
    }
