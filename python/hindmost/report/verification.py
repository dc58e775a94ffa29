"""The table of a verification: clone against original, and the original against itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hindmost.report import numbers

IN_WORDS = {
    "equivalent": "equivalent: every ratio is shown to lie within its margin",
    "different": "different: at least one ratio is shown to lie outside of its margin",
    "open": "open: more pairs, or a quieter host, would be needed to show it either way",
}


def render_verification(document: Mapping[str, Any]) -> str:
    """Write a document ``hindmost.verification/1`` as text.

    Parameters
    ----------
    document
        As `hindmost.experiment.verification.Verification.run` returns it.
    """
    margins = ", ".join(f"{name} {margin:.0%}" for name, margin in document["margins"].items())
    lines = [
        f"{document['clone']} against {document['original']}",
        f"{IN_WORDS[document['verdict']]} (margins: {margins})",
        "",
        f"{'load':>5} {'rate/s':>9} {'':5} {'original':>10} {'clone':>10}   {'clone / original':28}"
        f"{'original / itself':24}",
    ]
    for point in document["points"]:
        head = f"{point['load']:>5.0%} {point['rate_per_s']:>9,.0f}"
        for name in document["margins"]:
            ours, theirs = (point["values_us"][who][name] for who in ("clone", "original"))
            found, floor = point["clone"][name], point["floor"][name]
            word = found["outcome"] if found else "not known"
            lines.append(
                f"{head} {name:5} {numbers.latency(theirs):>10} {numbers.latency(ours):>10}"
                f"   {_ratio(found):22} {word:10} {_ratio(floor)}".rstrip()
            )
            head = " " * len(head)
        if point["left_out"]:
            lines.append(f"{'':15} {point['left_out']} pair(s) left out: the instrument distorted a run")
    return "\n".join(lines)


def _ratio(one: Mapping[str, Any] | None) -> str:
    if one is None:
        return "infinitely late"
    if one["low"] is None:
        return f"{one['ratio']:.3f}"
    return f"{one['ratio']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
