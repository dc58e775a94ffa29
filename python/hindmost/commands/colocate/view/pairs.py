"""Losses of programs next to each other, and how well predictors do: terminal text and page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hindmost.commands.colocate.documents.pairs import Pairs
from hindmost.commands.colocate.view.profile import share_text
from hindmost.core.escapes import plain
from hindmost.present.console import console_text, new_console, print_text
from hindmost.present.sheet import render

_FULL = 0.5
"""Share from which on a cell has its darkest shade."""
_WIDTH = 9


def render_pairs(document: Pairs, *, width: int | None = None, color: bool | None = None) -> str:
    """Render a document ``hindmost.pairs/2`` for the terminal.

    Parameters
    ----------
    document : Pairs
    width, color
        As for `hindmost.commands.measure.view.render_terminal`.
    """
    console = new_console(width, color)
    names, method = document["programs"], document["method"]
    print_text(
        console,
        f"{len(names)} programs next to each other on {plain(document['processor']['name'])}, processors"
        f" {document['placement']}: loss of each (rows) next to each; * significant",
    )
    console.print()
    heads = " ".join(f"{plain(name)[:_WIDTH]:>{_WIDTH}}" for name in names)
    console.print(f"{'':<14} {heads}", soft_wrap=True)
    for name, row in zip(names, document["lost"], strict=True):
        cells = " ".join(f"{_cell(one):>{_WIDTH}}" for one in row)
        console.print(f"{plain(name)[:14]:<14} {cells}", soft_wrap=True)
    console.print()
    print_text(console, _noise(document))
    if document["scores"]:
        console.print()
        console.print(f"{'predictor':<38} {'error':>7} {'':<16} {'skill':>7}")
        for one in document["scores"]:
            ends = f"[{one['low']:.2%}, {one['high']:.2%}]"
            line = f"{one['name']:<38} {one['error']:>7.2%} {ends:<16} {_skill(one):>7}"
            console.print(line, soft_wrap=True)
        print_text(
            console, f"{document['splits']} random splits into training and test halves; {_best(document)}"
        )
    for note in document["notes"]:
        print_text(console, f"note: {note['text']}", indent=2)
    print_text(
        console,
        f"{method['windows']} windows of {method['window_ms']:g} ms, {method['dropped']} dropped,"
        f" {'real-time' if method['real_time'] else 'ordinary'} programs, in {method['took_s']:.1f} s",
    )
    return console_text(console)


def _cell(one: Mapping[str, Any] | None) -> str:
    return "-" if one is None else f"{one['value']:.1%}" + (" " if one["noise"] else "*")


def _noise(document: Pairs) -> str:
    told = sum(one is not None and not one["noise"] for row in document["lost"] for one in row)
    every, shown = document["split_half"], document["split_half_told"]
    agree = "too few to compare" if every is None else f"{every:.2f}"
    if shown is not None:
        agree += f", {shown:.2f} over the significant ones"
    return (
        f"{told} of {len(document['programs']) ** 2} pairs show a significant loss, the others are within"
        " the noise (of"
        f" {document['noise']:.1%}); correlation of odd rounds with even ones: {agree}"
    )


def _skill(one: Mapping[str, Any]) -> str:
    if one["trivial"]:
        return "trivial"
    return "-" if one["skill"] is None else f"{one['skill']:+.2f}"


def _best(document: Pairs) -> str:
    ours = [one for one in document["scores"] if not one["trivial"] and one["skill"] is not None]
    if not ours:
        number = {0: "no pair loses", 1: "one pair loses"}.get(
            document["above"], f"{document['above']} pairs lose"
        )
        return f"{number} more than three times the noise, so no predictor can show skill"
    best = max(ours, key=lambda one: one["skill"] or 0.0)
    if (best["skill"] or 0.0) <= 0:
        return f"no model beats the best trivial one on the {document['above']} pairs above the noise"
    return f"on the {document['above']} pairs above the noise {best['name']} has skill {best['skill']:+.2f}"


def render_pairs_page(document: Pairs) -> str:
    """Render the page as one self-contained HTML file without scripts."""
    return render(
        "pairs.html",
        doc=document,
        rows=[
            (name, [_shade(one) for one in row])
            for name, row in zip(document["programs"], document["lost"], strict=True)
        ],
        noise=_noise(document),
        best=_best(document) if document["scores"] else "",
        skill=_skill,
    )


def _shade(one: Mapping[str, Any] | None) -> dict[str, Any]:
    if one is None:
        return {"text": "-", "dark": 0, "shown": False, "title": "windows were lost"}
    return {
        "text": f"{one['value']:.1%}",
        "dark": round(100 * min(1.0, max(0.0, one["value"]) / _FULL)),
        "shown": not one["noise"],
        "title": share_text(one).strip(),
    }
