"""Views of ``hindmost watch show``, ``merge`` and ``list``."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from typing import Any

from hindmost import _engine
from hindmost.commands.watch.document import Batch, RingView, ServiceRow, Services
from hindmost.present import numbers
from hindmost.present.blocks import Item, Items, Section, Table, Text, Tone, View

SHOWN_EVENTS = 8
REPORTS = ("threads", "neighbours")
SHOWN_REPORTS = 2
"""Reports of threads and neighbours among the shown events: a busy host has several a minute."""
TONES: dict[str, Tone] = {"none": "valid", "anomaly": "invalid"}


def ring_view(doc: RingView) -> View:
    """Return the view of a ring: whether latency changed, and what moved with it."""
    since = "" if doc.change.since_s is None else f", since {_clock(doc.change.since_s - doc.block_s)}"
    culprits = [
        (one.name, numbers.percent(one.share), f"{one.cause} in {one.stage}".replace("_", " "))
        for one in doc.culprits
    ]
    moved = [
        (
            one.name,
            numbers.percent(round(one.explained, 2)),
            "+" if one.correlation > 0 else "−",
            f"{one.p:.2f}",
            one.suggests,
        )
        for one in doc.moved
    ]
    wait = "" if doc.moved_wait is None else f"not ranked yet: {doc.moved_wait.why}"
    events = [
        Item(f"{_clock(at)}  {_engine.describe_event(json.dumps(what))}") for at, what in _last_events(doc)
    ]
    return View(
        title="Ring",
        word=doc.change.kind,
        tone=TONES.get(doc.change.kind, "inconclusive"),
        headline=f"{doc.change.why}{since}",
        blocks=[
            *(Text(line) for line in _summary(doc)),
            Section(
                "Culprits that delayed requests, from the trace (test these first)",
                [Table(("culprit", "of the variance", "cause"), culprits, "<><")],
            ),
            Section(
                "Metrics that moved with latency (correlation only; test them in this order)",
                [Table(("metric", "explains", "sign", "p", "suggests"), moved, "<>>><"), Text(wait)],
            ),
            Section("Events", [Items(events)]),
        ],
        schema=doc.schema,
    )


def _last_events(doc: RingView) -> list[tuple[float, Any]]:
    """Return the last events, among them a few reports, in their order."""
    reports = [one for one in doc.events if any(key in one[1] for key in REPORTS)]
    others = [one for one in doc.events if one not in reports]
    shown = [*reports[-SHOWN_REPORTS:], *others[-(SHOWN_EVENTS - SHOWN_REPORTS) :]]
    return sorted(shown, key=lambda one: one[0])


def _summary(doc: RingView) -> list[str]:
    cut = "; the file was cut off" if doc.cut else ""
    lines = [
        f"{doc.about['application']} on {doc.about['host']}: {doc.samples} samples over"
        f" {doc.lasted_s:.0f} s{cut}"
    ]
    if known := [value for _, value in doc.blocks if value is not None]:
        last, low, high = map(numbers.latency, (known[-1], min(known), max(known)))
        lines.append(f"p{doc.percentile:g}: last {last}, {low} to {high}")
    change, boot = doc.change, doc.bootstrap
    if not math.isnan(change.ratio):
        ends = "" if boot.low is None else f"; by block bootstrap [{boot.low:.2f}, {boot.high:.2f}]"
        lines.append(
            f"{change.ratio:.2f} [{change.low:.2f}, {change.high:.2f}] times the baseline's"
            f" (blocks of {doc.block_s:g} s, effectively {change.effective:.0f}){ends}"
        )
    if doc.paper_mode:
        lines.append("equation 6.1 as printed calls the last block an anomaly, as it does half of all blocks")
    return lines


def _clock(at_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_s))


def merged_view(batches: Sequence[Batch]) -> View:
    """Return the view of merged rings."""
    rows = [
        (
            f"{one.at_s:.0f}",
            numbers.count(one.requests),
            numbers.latency(one.p50_us),
            numbers.latency(one.p99_us),
            ", ".join(
                f"{host} {numbers.latency(us)}" for host, us in one.by_host.items() if not math.isnan(us)
            ),
        )
        for one in batches
    ]
    heads = ("time (s)", "requests", "p50", "p99", "p99 by host")
    headline = f"{len(rows)} batch{'' if len(rows) == 1 else 'es'} of wall-clock time"
    return View("Merged rings", "", "", headline, [Table(heads, rows, ">>>><")])


def services_view(doc: Services) -> View:
    """Return the view of the services that a daemon watches."""
    count = len(doc.services)
    watched = sum(one.watched for one in doc.services)
    rows = [
        (one.name, one.application or "", one.latency or "none", one.on_change or "", _state(one))
        for one in doc.services
    ]
    return View(
        "Watched services",
        "",
        "",
        f"{count} service{'' if count == 1 else 's'} in {doc.folder}, {watched} watched now",
        [Table(("service", "application", "latency", "on change", "state"), rows, "<<<<<")],
        schema=doc.schema,
    )


def _state(row: ServiceRow) -> str:
    if row.fault is not None:
        return row.fault
    runs = "runs" if row.runs else "does not run"
    return f"{runs}, {'watched' if row.watched else 'not watched'}"
