"""What the page and the terminal table both say, written out: taken from the document, not computed."""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hindmost.report.common import numbers
from hindmost.report.common.document import bounds, finite, labels, run_value
from hindmost.report.common.numbers import Interval, Unit
from hindmost.store.measure import Compared, Estimates, Figure, Measure
from hindmost.store.types import Counts

VERDICT_MARKS = {"valid": "✓", "invalid": "✕", "inconclusive": "?"}
FINDING_MARKS = {"fine": "✓", "mind": "!", "unfit": "✕"}
MEANINGS = {
    "latency": "done − due: what a user waits",
    "service": "done − sent: what the server and the network took",
    "slip": "sent − due: how late the instrument was",
    "wire": "between the stamps of the kernel or the card",
}


BRIEFLY = {
    "working": "working",
    "own_slip": "slip p99 beyond its write calls'",
    "late_writing": "late behind its own writes",
    "late_reading": "behind replies",
    "late_waiting": "without its processor",
    "on_cpu": "on its processor",
    "waiting": "waiting for it",
    "switches": "taken off it",
    "stolen": "stolen",
    "throttled": "stopped by its quota",
    "interrupts": "interrupted",
    "retransmitted": "segments sent again",
    "dropped": "connections dropped",
    "blocked": "writes blocked",
    "peer_full": "server's buffer full",
    "receive_fill": "own buffer up to",
}
"""Figures of the instrument's self-diagnosis where there is little room."""


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


def quantile_table(doc: Measure) -> Table:
    """Build the table that the result is read from: a row per quantile, a column per kind of time."""
    groups = {"latency": doc["latency_us"], "service": doc["service_us"], "slip": doc["slip_us"]}
    groups = {name: group for name, group in groups.items() if group or name == "latency"}
    return estimate_table(groups, doc["merged_us"])


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


def wire_table(doc: Measure) -> Table | None:
    """What the kernel's stamps tell: the way on the wire and through the server, and the client's own."""
    wire, overhead = doc.get("wire_us"), doc.get("overhead_us")
    if not wire or not overhead:
        return None
    return estimate_table({"wire latency": wire, "client overhead": overhead})


def stamps_text(doc: Measure) -> str:
    """Say whose stamps the wire latency is made of, of how many requests."""
    found = [one.get("stamps") for run in doc["runs"] for one in run["instances"]]
    seen = [one for one in found if one]
    if not seen:
        return "by kernel stamps on a sample"
    whose = "the network card's" if seen[0]["source"] == "hardware" else "the kernel's"
    asked, came = sum(one["asked"] for one in seen), sum(one["came"] for one in seen)
    return (
        f"by {whose} stamps of one request in {seen[0]['every']}"
        f" ({numbers.count(came)} of {numbers.count(asked)} came)"
    )


def figure(one: Figure) -> str:
    """Write one figure of the instrument's self-diagnosis, or one of its limits."""
    return amount(one["value"], one["unit"])


def amount(value: float | None, unit: str) -> str:
    """Write a share, a rate, a count or a time."""
    if unit == "us":
        return numbers.latency(value)
    if unit == "share":
        return numbers.percent(value)
    return numbers.rate(value) if unit == "per_s" else numbers.count(value)


def beside(doc: Measure, most: int = 3) -> str:
    """Name who ran beside the clients, those that took most first."""
    found = doc["instrument"]["neighbours"]
    parts = [
        f"{one['name']} {'' if one['bound'] else 'up to '}{numbers.percent(one['share'])}"
        for one in found[:most]
    ]
    return f"beside it ran {', '.join(parts)}" if parts else ""


def instrument_text(doc: Measure) -> str:
    """Write the self-diagnosis in one paragraph: what was seen of the instrument, marked where too much."""
    parts = [
        f"{'' if one['mark'] == 'fine' else FINDING_MARKS.get(one['mark'], '!') + ' '}"
        f"{BRIEFLY.get(one['id'], one['title'])} {figure(one)}"
        for one in doc["instrument"]["figures"]
        if one["value"] is not None and (one["value"] or one["id"] in ("waiting", "stolen", "retransmitted"))
    ]
    return "; ".join(filter(None, [", ".join(parts), beside(doc)]))


def accounting(counts: Counts) -> tuple[str, int]:
    """Write the identity that must hold between the counts, and how many requests it leaves unexplained."""
    ways = ("done", "errors", "timeouts", "unsent")
    text = " + ".join(f"{numbers.count(counts[way])} {way}" for way in ways)  # type: ignore[literal-required]
    missing = counts["due"] - counts["done"] - counts["errors"] - counts["timeouts"] - counts["unsent"]
    return f"{numbers.count(counts['due'])} due = {text}", missing


def throughput(doc: Measure) -> str:
    """Say what rate was asked for and what came of it."""
    asked, achieved = doc["throughput"]["asked"], doc["throughput"]["achieved"]
    if asked:
        share = numbers.percent(achieved / asked) if achieved is not None else numbers.MISSING
        return f"asked {numbers.rate(asked)}, achieved {numbers.rate(achieved)} ({share})"
    return f"achieved {numbers.rate(achieved)} (no rate was asked for)"


def saturation(doc: Measure) -> str:
    """Say what was carried where the asked rate was not; nothing where it was."""
    full = doc.get("saturation")
    if not full:
        return ""
    one = full["answered_per_s"]
    text = f"answered {numbers.rate(one['value'])}"
    if one["low"] is not None and one["high"] is not None:
        low, high = (numbers.rate(end).removesuffix("/s") for end in (one["low"], one["high"]))
        text += f" [{low}, {high}]"
    meaning = {
        "server": ", the most that the server can do: rates that hold lie below",
        "client": ", the most that the client could do: the server may carry more",
        "connections": " on the connections that the server serves",
        "silence": "",
    }
    return text + meaning[full["by"]]


def headline(doc: Measure) -> tuple[str, str]:
    """Split the headline in what is so and what to do; the verdict stands before it and is not said twice."""
    text = (doc["headline"] or "").removeprefix(f"{doc['verdict']}: ")
    why, found, todo = text.partition(". To do: ")
    return (f"{why}.", f"To do: {todo}") if found else (why, "")


def runs_text(doc: Measure) -> str:
    """Say how many runs were made, and how long they took."""
    text = numbers.plural(doc["stopping"]["runs"], "run")
    total = doc["seconds_total"]
    return f"{text} in {numbers.seconds(total)}" if total else text


def outstanding_text(doc: Measure) -> str:
    """Say what the chart of outstanding requests shows, and what bounds a closed loop."""
    found = doc["outstanding"]
    within = ", counted within its own worker" if found and found["per_instance"] else ""
    bound = (
        f"its {numbers.plural(found['connections'], 'connection')}"
        if found and found["connections"]
        else "its connections"
    )
    return (
        f"How many requests each arrival found still unanswered{within}. A closed loop cannot go beyond"
        f" {bound}; an open loop shows the queue that users meet."
    )


def target_line(doc: Measure) -> str:
    """Name the target and where it is, once."""
    target = doc["target"]
    name, address = target["name"], target["address"]
    return f"{name} at {address}" if address and address not in name else name


def moment(iso: str) -> str:
    """Write an ISO 8601 moment for people."""
    found = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?$", iso)
    return f"{found[1]} {found[2]} {'UTC' if found[3] == 'Z' else found[3] or ''}".strip() if found else iso


def variance_text(label: str, doc: Measure) -> str:
    """Write the spread of one quantile between and within runs."""
    one = doc["variance"][label]
    between, within = one["between_runs_sd_us"], one["within_run_sd_us"]
    known = [
        f"{where} ±{numbers.latency(sd)}"
        for where, sd in (("between runs", between), ("within a run", within))
        if sd is not None
    ]
    text = ", ".join(known) or "not known"
    share = one["between_share"]
    return text if share is None else f"{text}; {numbers.percent(share)} of the variance is between runs"


def hint_parts(hint: str | None) -> list[tuple[bool, str]]:
    """Split a hint into prose and commands: what stands between backticks is a command.

    Without backticks, a hint that begins with a program is a command as a whole.
    """
    if not hint:
        return []
    if "`" in hint:
        return [(i % 2 == 1, part) for i, part in enumerate(hint.split("`")) if part]
    program = re.match(r"(hindmost|sudo|taskset|make|cpupower|systemctl|sysctl|echo|apt-get)\s", hint)
    return [(bool(program), hint)]


class Proof(NamedTuple):
    """One of our latencies beside the packet capture's, written."""

    what: str
    rows: list[tuple[str, str, str, str, str]]
    """Label, ours, the capture's, the gap with its interval, the differences request by request."""
    gaps: str
    constancy: str


def proofs(doc: Measure) -> list[Proof]:
    """Write what a packet capture says of our latencies; nothing where there was none."""
    found = doc.get("capture")
    if not found:
        return []
    return [
        _proof(what, one)
        for what, one in (("wire", found["wire"]), ("service", found["service"]))
        if one is not None
    ]


def _proof(what: str, one: Compared) -> Proof:
    def us(value: float | None) -> str:
        return f"−{numbers.number(-value)}" if value is not None and value < 0 else numbers.number(value)

    rows, gaps = [], []
    for name, gap in one["gap_us"].items():
        near = one["request_us"][name]
        known = f" [{us(gap['low'])}, {us(gap['high'])}]" if gap["low"] is not None else ""
        gaps.append(f"{name} {us(gap['value'])}{known}")
        rows.append(
            (
                name,
                us(one["ours_us"][name]["value"]),
                us(one["capture_us"][name]["value"]),
                us(gap["value"]) + known,
                f"{us(near['value'])} ({us(near['low'])} to {us(near['high'])})",
            )
        )
    off = one["constancy_us"]
    if off is None:
        constancy = "too few requests to tell whether that is a constant"
    else:
        holds = "a constant" if off <= one["goal_us"] else "no constant"
        constancy = f"{holds} within {us(off)} µs up to {one['upto']} (goal {one['goal_us']:g})"
    return Proof(what, rows, f"{', '.join(gaps)} µs", constancy)


def proof_text(doc: Measure) -> str:
    """Say in how many runs a packet capture is laid beside the measurement, and why in no more."""
    found = doc.get("capture")
    if not found:
        return ""
    text = f"{numbers.count(found['requests'])} requests in {found['runs']} of {found['of']} runs"
    if found["connections"]:
        text += f", of {numbers.plural(found['connections'], 'connection')} each"
    if found["fault"]:
        text += f"; {found['fault']}"
    return text


def pairs(mapping: Mapping[str, Any], missing: str = "not known") -> list[tuple[str, str]]:
    """Write the keys and values of a mapping for reading; ``missing`` stands for null."""
    return [(named(key), missing if value is None else written(key, value)) for key, value in mapping.items()]


def named(key: str) -> str:
    """Name a key for reading: without the unit, which stands at the value."""
    return re.sub(r"_(per_s|s|us|ns|bytes|share)$", "", key).replace("_", " ")


def written(key: str, value: object) -> str:
    """Write one value of the plan or of the host; the ending of its key names its unit."""
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        if key.endswith("_bytes"):
            return numbers.bytes_(value)
        if key.endswith("_per_s"):
            return numbers.rate(value)
        if key.endswith("_us"):
            return numbers.latency(value)
        if key.endswith("_ns"):
            return numbers.latency(value / 1000)
        if key.endswith("_s"):
            return numbers.seconds(value)
        if key.endswith("_share") or key == "precision":
            return numbers.percent(value)
        return f"{value:g}" if isinstance(value, float) else str(value)
    if key == "runs" and isinstance(value, list) and len(value) == 2:
        return f"{value[0]} to {value[1]}" if value[0] != value[1] else str(value[0])
    if key == "quantiles" and isinstance(value, list):
        return ", ".join(f"p{numbers.level_label(q)}" if isinstance(q, float) else str(q) for q in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{named(name)} {written(name, item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value)


def span(values: list[float | None], write: Callable[[float], str]) -> str:
    """Write the least and the greatest of what the runs gave."""
    known = finite(values)
    if not known:
        return numbers.MISSING
    low, high = write(min(known)), write(max(known))
    if low == high:
        return low
    (first, _, unit), (_, _, other) = low.rpartition(numbers.THIN), high.rpartition(numbers.THIN)
    return f"{first if unit == other and first else low}–{high}"


def alone(instance: Mapping[str, Any], label: str) -> str:
    """Write a quantile of one instance in one run, with the interval that this run by itself can give it."""
    value = numbers.latency(run_value(instance["latency_us"], label))
    one = (instance.get("alone_us") or {}).get(label)
    if not one or one["value"] is None:
        return value
    if one["low"] is None:
        return f"{value} (too short for an interval)" if one["too_short"] else value
    low, high = numbers.latency(one["low"]), numbers.latency(one["high"], missing=numbers.INFINITE)
    return f"{value} [{low}, {high}]"


def glued(text: str) -> str:
    """Keep a number and its unit, or the groups of its digits, on one line."""
    return re.sub(r"(?<=\d) (?=(?:µs|ms|s|%)(?!\w)|\d{3}(?!\d))", numbers.THIN, text)
