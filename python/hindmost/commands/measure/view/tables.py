"""The tables of a measurement: quantiles with their intervals."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from hindmost.commands.measure.view.values import bounds, labels, run_value
from hindmost.core.store.measure import Estimates, Measure
from hindmost.present import numbers
from hindmost.present.document import finite
from hindmost.present.numbers import Interval, Unit


class Cell(NamedTuple):
    """One formatted estimate."""

    interval: Interval
    infinite: bool
    note: str
    verdict: str


class Row(NamedTuple):
    """One quantile, for all columns of the table."""

    label: str
    cells: dict[str, Cell]
    runs: str
    merged: str


class Table(NamedTuple):
    """Quantiles with intervals, in one unit."""

    unit: Unit
    columns: list[str]
    rows: list[Row]
    note: str
    """A note that applies to every cell."""


def cell(estimates: Estimates, label: str, unit: Unit) -> Cell:
    """Format one estimate, with a note if it is infinite or has no interval."""
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
    """Return the estimates of each available kind of time."""
    isolated = doc.get("isolated")
    groups = {
        "latency": doc["latency_us"],
        "isolated": isolated["latency_us"] if isolated and isolated["interruptions"] else {},
        "service": doc["service_us"],
        "send_delay": doc["send_delay_us"],
    }
    return {name: group for name, group in groups.items() if group or name == "latency"}


def quantile_table(doc: Measure) -> Table:
    """Build the main table: a row per quantile, a column per kind of time."""
    return estimate_table(latency_groups(doc), doc["merged_us"])


def estimate_table(
    groups: Mapping[str, Estimates], merged: Mapping[str, float | None] | None = None
) -> Table:
    """Build a table of groups of estimates side by side, in one unit."""
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
    """Build a table of latency as the median and as the mean over runs. None in documents before 0.4."""
    found = doc.get("over_runs")
    if not found:
        return None
    both: dict[str, Estimates] = {found["about"]: doc["latency_us"]}
    both["mean" if found["about"] == "median" else "median"] = found["beside_us"]
    return estimate_table(both)


def wire_table(doc: Measure) -> Table | None:
    """Build a table of kernel time stamps: wire latency, and the client's own overhead."""
    wire, overhead = doc.get("wire_us"), doc.get("overhead_us")
    if not wire or not overhead:
        return None
    return estimate_table({"wire latency": wire, "client overhead": overhead})


def connect_table(doc: Measure) -> Table | None:
    """Build a table of the times to connect and to secure a connection. None if connections stayed open."""
    both = {"connect": doc.get("connect_us"), "TLS handshake": doc.get("handshake_us")}
    found = {what: estimates for what, estimates in both.items() if estimates}
    return estimate_table(found) if found else None


def held_table(doc: Measure) -> Table | None:
    """Build a table of the time that requests waited for their batches. None without batching."""
    found = doc.get("held_us")
    return estimate_table({"held": found}) if found else None
