"""Stressors: those that exist, their certificate, its matrix as an SVG image, and their work."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from hindmost.commands.colocate.documents.pairs import Stress, StressorWork
from hindmost.commands.colocate.documents.profiles import KnownStressor, Neighbour, StressorRate, Stressors
from hindmost.commands.colocate.view.wording import percent
from hindmost.present import numbers
from hindmost.present.blocks import Cell, Item, Items, Section, Table, Text, View

_CELL = 46
_LEFT = 110
_TOP = 120


def view_stressors(doc: Stressors) -> View:
    """Show what stressors reach on a core, and which of them share ports."""
    kind, caches = doc.processor, doc.caches
    sizes = (("L1", caches.l1_bytes), ("L2", caches.l2_bytes), ("L3", caches.l3_bytes))
    groups = [
        Item("a separate axis" if one.axis else "shares ports with other axes", ", ".join(one.classes))
        for one in doc.groups
    ]
    places = [
        Text(f"Cache sizes: {', '.join(f'{name} {numbers.bytes_(size)}' for name, size in sizes)}"),
        *(Text(_neighbour(one)) for one in doc.neighbours),
        Text(f"Certificate in {numbers.seconds(doc.certificate_s)}, total {numbers.seconds(doc.took_s)}"),
    ]
    heads = ("stressor", "per tick", "documented", "share", "clean", "left out")
    return View(
        title=f"Stressors on {kind.name}",
        headline=f"{kind.name} (family {kind.family}, model {kind.model}), processor {doc.cpu}, at"
        f" {doc.ghz:.2f}{numbers.THIN}GHz, measured by a chain of additions",
        blocks=[
            Table(heads, [_rate(one) for one in doc.rates], "<>>>><"),
            Section("Execution ports", [Items(groups)]),
            Section("Measurement", places),
        ],
        schema=doc.schema,
    )


def _rate(one: StressorRate) -> list[str | Cell]:
    if one.rate is None:
        return [one.name, *[numbers.MISSING] * 4, f"this processor lacks {one.missing}"]
    return [
        one.name,
        Cell(f"{one.rate:.3f}", detail=f"[{one.low:.3f}, {one.high:.3f}]"),
        numbers.number(one.documented, 3),
        percent(one.share),
        f"{one.clean}/{one.tried}",
        one.left_out.text if one.left_out else "",
    ]


def _neighbour(one: Neighbour) -> str:
    kept = ""
    if one.same_port is not None:
        kept = f", a stressor keeps {one.same_port:.2f} of its rate next to a copy of itself"
    way = f"{numbers.number(one.one_way_ns)}{numbers.THIN}ns"
    return f"Processor {one.cpu}: {one.placement} ({way} one way{kept})"


def view_list(known: Sequence[KnownStressor]) -> View:
    """List all stressors with the resource that each uses and the unit of its work."""
    rows = [
        (one.name, one.resource, f"{one.unit}{' (as the paper printed it)' if one.paper else ''}")
        for one in known
    ]
    return View(
        title="Stressors",
        headline=f"{len(known)} stressors",
        blocks=[Table(("stressor", "resource", "unit"), rows, "<<<")],
    )


def view_stress(doc: Stress) -> View:
    """Show the work of stressors that were run by hand."""
    return View(
        title="Stressors run by hand",
        headline=numbers.plural(len(doc.stressors), "stressor"),
        blocks=[Items([Item(_work(one)) for one in doc.stressors])],
        schema=doc.schema,
    )


def _work(one: StressorWork) -> str:
    low, high = one.ghz
    return (
        f"{one.stressor} on processor {one.cpu}: {numbers.number(one.per_s)} {one.unit}/s for"
        f" {numbers.seconds(one.took_s)}, active {percent(one.duty)} of the time, {percent(one.cpu_share)} on"
        f" a processor, preempted {one.involuntary} times, {low:.2f} to {high:.2f}{numbers.THIN}GHz"
        + (", real-time" if one.real_time else "")
    )


def picture(doc: Stressors) -> str:
    """Draw the matrix of overlaps as SVG. A darker cell means more ports shared by two classes."""
    names = [one.name for one in doc.rates if one.rate is not None]
    seen = {(one.a, one.b): one.value for one in doc.overlaps}
    side = _CELL * len(names)
    title = f"{doc.processor.name}: which instructions share ports (0 none, 1 all)"
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
