"""A trial (``hindmost.trial/1``) for the terminal: the sentence, then each level."""

from __future__ import annotations

import shutil
import sys
import textwrap

from hindmost.report.common import numbers
from hindmost.store.trial import Level, Trial


def render_trial(document: Trial, width: int | None = None) -> str:
    """Write it for a terminal `width` columns wide."""
    if width is None:
        width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
    lines = [textwrap.fill(document["headline"], max(40, width), break_long_words=False), ""]
    rows = [heads(document), *(row(document, place) for place in range(len(document["levels"])))]
    sizes = [max(len(one[i]) for one in rows) for i in range(len(rows[0]))]
    for one in rows:
        rest = (f"{cell:>{size}}" for cell, size in zip(one[1:], sizes[1:], strict=True))
        lines.append("  ".join([f"{one[0]:<{sizes[0]}}", *rest]).rstrip())
    aside = f", {len(document['aside'])} excluded" if document["aside"] else ""
    foot = f"{rounds(document)}{aside}; * lowest {document['by']}; ratios to {document['levels'][0]['level']}"
    foot += f", {together(document)}" if document["comparisons"] > 1 else ""
    lines += ["", textwrap.fill(foot, max(40, width), break_long_words=False)]
    return "\n".join(lines)


def rounds(document: Trial) -> str:
    """How many counted, stage by stage."""
    _, *later = (one["rounds"] for one in document["stages"])
    text = numbers.plural(document["rounds"], "round")
    return text + (f" and {' and '.join(map(str, later))} about the best level" if later else "")


def together(document: Trial) -> str:
    """For how many comparisons the intervals hold together."""
    return f"intervals of {document['comparisons']} comparisons that hold together at 95 %"


def columns(document: Trial) -> list[str]:
    """Figures that a table shows: mean, spread, and the tail."""
    names = [name for name in document["levels"][0]["latency_us"] if name not in ("mean", "sd")]
    tail = [name for name in names if name in ("p50", "p99", document["by"])] or names[-1:]
    return ["mean", "sd", *tail]


def heads(document: Trial) -> list[str]:
    """Names of the columns."""
    return ["  level", *columns(document), *(f"{name} ratio" for name in _ratios(document))]


def _ratios(document: Trial) -> list[str]:
    """Figures whose ratio is shown: the one that is to be low, and the mean."""
    return list(dict.fromkeys((document["by"], "mean")))


def row(document: Trial, place: int) -> list[str]:
    """The cells of one level."""
    level = document["levels"][place]
    mark = "* " if place == document["best"] else "  "
    figures = [numbers.latency(level["latency_us"][name]["value"]) for name in columns(document)]
    return [f"{mark}{level['level']}", *figures, *(_ratio(level, name) for name in _ratios(document))]


def _ratio(level: Level, name: str) -> str:
    one = level["against"].get(name)
    if one is None:
        return numbers.MISSING
    low, high = one["ratio"]["low"], one["ratio"]["high"]
    ends = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    return f"{one['ratio']['value']:.2f}{ends}"
