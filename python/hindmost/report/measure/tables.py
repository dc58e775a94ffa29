"""The tables that a measurement is read from: quantiles with their intervals."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from hindmost.report.common import numbers
from hindmost.report.common.document import finite
from hindmost.report.common.numbers import Interval, Unit
from hindmost.report.measure.values import bounds, labels, run_value
from hindmost.store.measure import Estimates, Measure


class Cell(NamedTuple):
    """One estimate, written."""

    interval: Interval
    infinite: bool
    note: str
    verdict: str


class Row(NamedTuple):
    """One quantile, over the columns of the table."""

    label: str
    cells: dict[str, Cell]
    runs: str
    merged: str


class Table(NamedTuple):
    """Quantiles with intervals; one unit for all."""

    unit: Unit
    columns: list[str]
    rows: list[Row]
    note: str
    """What holds for every cell, said once."""


def cell(estimates: Estimates, label: str, unit: Unit) -> Cell:
    """Write one estimate, with a note where it is infinite or has no interval."""
    value, low, high = bounds(estimates, label)
    one = estimates.get(label)
    note = ""
    infinite = value == math.inf
    if one is not None:
        censored, runs = one.get("censored_runs") or 0, one.get("runs") or 0
        if infinite or censored:
            times = numbers.plural(censored, "run")
            note = f"{times} reached unsent or timed-out requests" if censored else "infinitely late"
        elif value is not None and (low is None or high is None):
            note = "1 run: no interval" if runs == 1 else "no interval"
    return Cell(numbers.interval(value, low, high, unit), infinite, note, one["verdict"] if one else "")


def latency_groups(doc: Measure) -> dict[str, Estimates]:
    """Estimates of each kind of time, those that there are."""
    calm = doc.get("calm")
    groups = {
        "latency": doc["latency_us"],
        "calm": calm["latency_us"] if calm and calm["thefts"] else {},
        "service": doc["service_us"],
        "slip": doc["slip_us"],
    }
    return {name: group for name, group in groups.items() if group or name == "latency"}


def quantile_table(doc: Measure) -> Table:
    """Build the table that the result is read from: a row per quantile, a column per kind of time."""
    return estimate_table(latency_groups(doc), doc["merged_us"])


def estimate_table(
    groups: Mapping[str, Estimates], merged: Mapping[str, float | None] | None = None
) -> Table:
    """Write groups of estimates side by side in one unit."""
    merged = merged or {}
    unit = numbers.unit_for(
        finite(v for group in groups.values() for label in group for v in bounds(group, label)[:2])
    )
    rows = []
    for label in labels(*groups.values()):
        runs = next((str(group[label]["runs"]) for group in groups.values() if label in group), "")
        other = run_value(dict(merged), label)
        other = other if other is None else other / unit.us
        rows.append(
            Row(
                label,
                {name: cell(group, label, unit) for name, group in groups.items()},
                runs,
                numbers.number(other),
            )
        )
    notes = {one.note for row in rows for one in row.cells.values()}
    shared = notes.pop() if len(notes) == 1 else ""
    if shared:
        bare = [{name: one._replace(note="") for name, one in row.cells.items()} for row in rows]
        rows = [row._replace(cells=cells) for row, cells in zip(rows, bare, strict=True)]
    return Table(unit, list(groups), rows, shared)


def both_table(doc: Measure) -> Table | None:
    """Latency as the median and as the mean over runs, side by side; none in documents before 0.4."""
    found = doc.get("over_runs")
    if not found:
        return None
    both: dict[str, Estimates] = {found["about"]: doc["latency_us"]}
    both["mean" if found["about"] == "median" else "median"] = found["beside_us"]
    return estimate_table(both)


def wire_table(doc: Measure) -> Table | None:
    """What the kernel's stamps tell: the way on the wire and through the server, and the client's own."""
    wire, overhead = doc.get("wire_us"), doc.get("overhead_us")
    if not wire or not overhead:
        return None
    return estimate_table({"wire latency": wire, "client overhead": overhead})


def connect_table(doc: Measure) -> Table | None:
    """How long it took to connect, and then to secure it; none where the server kept what was open."""
    both = {"connect": doc.get("connect_us"), "TLS handshake": doc.get("handshake_us")}
    found = {what: estimates for what, estimates in both.items() if estimates}
    return estimate_table(found) if found else None


def held_table(doc: Measure) -> Table | None:
    """How long requests waited for their batches; none where they did not."""
    found = doc.get("held_us")
    return estimate_table({"held": found}) if found else None
