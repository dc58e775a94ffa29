"""The account of a measurement for the terminal: what ``--verbose`` adds to the table, as the page has it."""

from typing import TYPE_CHECKING

from hindmost.report.common import numbers
from hindmost.report.common.console import wrapped
from hindmost.report.measure import fleet, instrument, proof, tables, view
from hindmost.report.measure.values import labels
from hindmost.store.measure import Estimates, Measure

if TYPE_CHECKING:
    from rich.console import Console

KEY = 12
"""Columns of the word before a line."""


def account(doc: Measure) -> list[tuple[str, str]]:
    """All that is known of load, runs and instrument, each line with its key."""
    rows: list[tuple[str, str]] = [("throughput", view.throughput(doc))]
    if full := view.saturation(doc):
        rows.append(("saturation", full))
    if calm := view.calm_text(doc):
        rows.append(("isolated", calm))
    text, missing = view.accounting(doc["counts"])
    if missing:
        text += f"; {numbers.count(missing)} NOT ACCOUNTED FOR"
    if doc["counts"]["misses"]:
        text += f" ({numbers.count(doc['counts']['misses'])} of the completed missed)"
    rows.append(("requests", text))
    merged = [
        f"{label} {numbers.latency(doc['merged_us'][label])}"
        for label in labels(doc["merged_us"])
        if label != "mean"
    ]
    if codes := view.codes(doc):
        rows.append(("codes", codes))
    if ended := view.ended(doc):
        rows.append(("arrivals", ended))
    if lossy := view.datagrams(doc):
        rows.append(("datagrams", lossy))
    if unhandled := view.streams(doc):
        rows.append(("streams", unhandled))
    if made := view.connections(doc):
        rows.append(("connections", made))
    for each in doc.get("endpoints", []):
        rows.append(("server", view.endpoint(each)))
    if connect := doc.get("connect_us"):
        rows.append(("connect", f"{briefly('connect', connect)}, from the attempt to the connection"))
    if handshake := doc.get("handshake_us"):
        rows.append(("handshake", f"{briefly('TLS', handshake)}, from there until it is secured"))
    if batched := view.batches(doc):
        rows.append(("batches", batched))
    if held := doc.get("held_us"):
        rows.append(("held", f"{briefly('held', held)}, by design: in latency, not in send delay"))
    if doc["wire_us"]:
        rows.append(("wire", f"{briefly('wire', doc['wire_us'])}, {view.stamps_text(doc)}"))
    if overhead := doc.get("overhead_us"):
        who = "client and connecting" if view.by_turns(doc) else "client"
        rows.append(("overhead", f"{briefly(who, overhead)} of service latency, by the same stamps"))
    if proved := proof.proof_text(doc):
        rows.append(("capture", f"{proved}; our times minus those of tcpdump:"))
        for one in proof.proofs(doc):
            rows.append((f"  {one.what}", f"{one.gaps}: {one.constancy}"))
    if merged:
        rows.append(("merged", ", ".join(merged) + " (all runs and clients merged, for contrast)"))
    if aside := view.set_aside(doc):
        rows.append(("excluded", aside))
    if both := tables.both_table(doc):
        other = both.columns[1]
        about = f"; {doc['over_runs']['claims']}" if other == "mean" else ""
        rows.append((other, f"{briefly(other, doc['over_runs']['beside_us'])}, over runs{about}"))
    if off := view.runs_off(doc):
        rows.append(("runs off", "; ".join(off)))
    label = _telling(doc)
    if label:
        rows.append(("variance", f"{label} {view.variance_text(label, doc)}"))
    if doc["hysteresis"]["text"]:
        rows.append(("hysteresis", doc["hysteresis"]["text"]))
    rows.append(("clients", clients_text(doc)))
    rows += fleet.lines(doc)
    if seen := instrument.lines(doc):
        rows.append(("instrument", "worst client of each, mean over runs"))
        rows += [(f"  {key}", text) for key, text in seen]
    if doc["stopping"]["rule"]:
        how = {True: "reached", False: "not reached", None: "not requested"}[doc["stopping"]["reached"]]
        rows.append(
            (
                "stopping",
                f"{how} after {view.runs_text(doc)}: {doc['stopping']['rule']}",
            )
        )
    return rows


def told(console: "Console", rows: list[tuple[str, str]]) -> None:
    """Print lines with their keys before them."""
    from rich.text import Text

    for key, value in rows:
        for number, line in enumerate(wrapped(console, Text(value), console.width - KEY)):
            console.print(Text(f"{'' if number else key:<{KEY}}", style="bold") + line, soft_wrap=True)


def briefly(name: str, group: Estimates) -> str:
    """Write a group of estimates in one line."""
    table = tables.estimate_table({name: group})
    parts = []
    for row in table.rows:
        one = row.cells[name].interval
        if row.label != "mean":
            bounds = f" [{one.low}, {one.high}]" if one.low else ""
            parts.append(f"{row.label} {one.value}{bounds}")
    return f"{', '.join(parts)} {table.unit.name}"


def _telling(doc: Measure) -> str | None:
    """Pick the quantile whose variance is told: the one that ended the runs, or the last that has one."""
    known = labels(doc["variance"])
    wanted = doc["stopping"]["quantile"]
    return wanted if wanted in known else known[-1] if known else None


def clients_text(doc: Measure) -> str:
    """Say how many clients there were and who contributed the slowest samples."""
    clients = doc["clients"]
    if clients["instances"] < 2:
        return "one client"
    shares = " + ".join(numbers.percent(share) for share in clients["share_of_slowest"])
    text = f"{clients['instances']} clients"
    if clients["pacing"] == "sleep":
        text += " that sleep between scheduled times"
    if shares:
        where = f" (above {numbers.latency(clients['threshold_us'])})" if clients["threshold_us"] else ""
        text += f"; of the slowest 1 %{where} their shares are {shares}"
    return text if clients["owner"] is None else f"{text}: client {clients['owner']} dominates the tail"
