"""A certificate of stressors, for the terminal and as an SVG image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from hindmost.core.escapes import plain
from hindmost.present.console import console_text, new_console, print_text
from hindmost.present.numbers import number

if TYPE_CHECKING:
    from hindmost.commands.colocate.documents.pairs import Stress

_CELL = 46
_LEFT = 110
_TOP = 120


def render_stressors(
    document: Mapping[str, Any], *, width: int | None = None, color: bool | None = None
) -> str:
    """Render a document ``hindmost.stressors/1`` for the terminal.

    Parameters
    ----------
    document : dict
    width, color
        As for `hindmost.commands.measure.view.render_terminal`.
    """
    console = new_console(width, color)
    kind = document["processor"]
    print_text(
        console,
        f"{plain(kind['name'])} (family {kind['family']}, model {kind['model']}), processor"
        f" {document['cpu']}, at {document['ghz']:.2f} GHz, measured by a chain of additions",
    )
    console.print()
    console.print(f"{'stressor':<14} {'per tick':>8} {'':<16} {'documented':>10} {'share':>7}  clean")
    for one in document["rates"]:
        console.print(_rate(one), soft_wrap=True)
    console.print()
    for group in document["groups"]:
        what = "a separate axis" if group["axis"] else "shares ports with other axes"
        print_text(console, f"{', '.join(group['classes'])}: {what}", indent=2)
    caches = document["caches"]
    sizes = ", ".join(
        f"{level.upper()} {caches[f'{level}_bytes'] / 1024:g} KiB" for level in ("l1", "l2", "l3")
    )
    print_text(console, f"measured cache sizes: {sizes}")
    for one in document["neighbours"]:
        kept = (
            ""
            if one["same_port"] is None
            else f", a stressor keeps {one['same_port']:.2f} of its rate next to a copy of itself"
        )
        print_text(
            console,
            f"processor {one['cpu']}: {one['placement']} ({number(one['one_way_ns'])} ns one way{kept})",
        )
    print_text(console, f"certificate in {document['certificate_s']:.1f} s, total {document['took_s']:.1f} s")
    return console_text(console)


def _rate(one: Mapping[str, Any]) -> str:
    if one["rate"] is None:
        return f"{one['name']:<14} {'-':>8} this processor lacks {one['missing']}"
    ends = f"[{one['low']:.3f}, {one['high']:.3f}]"
    stated = "-" if one["documented"] is None else f"{one['documented']:.3f}"
    share = "-" if one["share"] is None else f"{one['share']:.1%}"
    row = f"{one['name']:<14} {one['rate']:>8.3f} {ends:<16} {stated:>10} {share:>7}"
    reason = one.get("left_out")
    return f"{row}  {one['clean']}/{one['tried']}{'' if reason is None else ', left out: ' + reason['text']}"


def render_list(stressors: Sequence[Mapping[str, Any]]) -> str:
    """List all stressors with the resource that each uses and the unit of its work."""
    lines = [f"{'stressor':<14} {'resource':<12} unit"]
    for one in stressors:
        paper = " (as the paper printed it)" if one["paper"] else ""
        lines.append(f"{one['name']:<14} {one['resource']:<12} {one['unit']}{paper}")
    return "\n".join(lines) + "\n"


def render_stress(document: Stress) -> str:
    """Render the work of stressors that were run by hand."""
    lines = []
    for one in document["stressors"]:
        low, high = one["ghz"]
        lines.append(
            f"{one['stressor']} on processor {one['cpu']}: {number(one['per_s'])} {one['unit']}/s for"
            f" {one['took_s']:.1f} s, active {one['duty']:.1%} of the time, {one['cpu_share']:.1%} on a"
            f" processor, preempted {one['involuntary']} times, {low:.2f} to {high:.2f} GHz"
            + (", real-time" if one["real_time"] else "")
        )
    return "\n".join(lines) + "\n"


def picture(document: Mapping[str, Any]) -> str:
    """Draw the matrix of overlaps as SVG. A darker cell means more ports shared by two classes."""
    names = [one["name"] for one in document["rates"] if one["rate"] is not None]
    seen = {(one["a"], one["b"]): one["value"] for one in document["overlaps"]}
    side = _CELL * len(names)
    title = f"{document['processor']['name']}: which instructions share ports (0 none, 1 all)"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + side + 10} {_TOP + side + 10}"'
        ' font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<text x="8" y="18" font-size="14">{escape(title)}</text>',
    ]
    for row, a in enumerate(names):
        middle = _TOP + row * _CELL + _CELL // 2 + 4
        across = _LEFT + row * _CELL + _CELL // 2
        parts.append(f'<text x="{_LEFT - 6}" y="{middle}" text-anchor="end">{escape(a)}</text>')
        parts.append(f'<text transform="translate({across + 4} {_TOP - 6}) rotate(-60)">{escape(a)}</text>')
        for column, b in enumerate(names):
            value = seen.get((a, b), seen.get((b, a)))
            if value is not None:
                parts.append(_cell(_LEFT + column * _CELL, _TOP + row * _CELL, value))
    return "\n".join([*parts, "</svg>", ""])


def _cell(x: int, y: int, value: float) -> str:
    shade = min(1.0, max(0.0, value))
    ink = "#fff" if shade > 0.5 else "#222"
    at = _CELL // 2
    return (
        f'<rect x="{x}" y="{y}" width="{_CELL - 1}" height="{_CELL - 1}" fill="#1f4e79"'
        f' fill-opacity="{max(0.03, shade):.2f}"/><text x="{x + at}" y="{y + at + 4}" text-anchor="middle"'
        f' fill="{ink}">{value:.2f}</text>'
    )
