"""The details of a measurement that ``--verbose`` adds on the terminal. The page has the same."""

from typing import TYPE_CHECKING

from hindmost.commands.measure.view import fleet, instrument, proof, tables, view
from hindmost.commands.measure.view.values import labels
from hindmost.core.store.measure import Estimates, Measure
from hindmost.present import numbers
from hindmost.present.console import wrap_lines

if TYPE_CHECKING:
    from rich.console import Console

KEY = 12
"""Width of the key before a line, in columns."""


def account(doc: Measure) -> list[tuple[str, str]]:
    """Return all details of load, runs and client, as keys and texts."""
    rows: list[tuple[str, str]] = [("throughput", view.throughput(doc))]
    if full := view.saturation(doc):
        rows.append(("saturation", full))
    if isolated := view.isolated_text(doc):
        rows.append(("isolated", isolated))
    text, missing = view.accounting(doc["counts"])
    if missing:
        text += f"; {numbers.count(missing)} NOT ACCOUNTED FOR"
    if doc["counts"]["misses"]:
        text += f" ({numbers.count(doc['counts']['misses'])} of the completed requests were misses)"
    rows.append(("requests", text))
    merged = [
        f"{label} {numbers.latency(doc['merged_us'][label])}"
        for label in labels(doc["merged_us"])
        if label != "mean"
    ]
    if codes := view.codes(doc):
        rows.append(("codes", codes))
    if ended := view.early_end_text(doc):
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
        rows.append(
            ("connect", f"{format_estimates('connect', connect)}, from the attempt to the open connection")
        )
    if handshake := doc.get("handshake_us"):
        rows.append(
            (
                "handshake",
                f"{format_estimates('TLS', handshake)}, from the open connection until it is secured",
            )
        )
    if batched := view.batches(doc):
        rows.append(("batches", batched))
    if held := doc.get("held_us"):
        rows.append(
            ("held", f"{format_estimates('held', held)}, as configured: part of latency, not of send delay")
        )
    if doc["wire_us"]:
        rows.append(("wire", f"{format_estimates('wire', doc['wire_us'])}, {view.stamps_text(doc)}"))
    if overhead := doc.get("overhead_us"):
        who = "client and connecting" if view.connects_per_request(doc) else "client"
        rows.append(
            ("overhead", f"{format_estimates(who, overhead)} of service latency, by the same time stamps")
        )
    if proved := proof.proof_text(doc):
        rows.append(("capture", f"{proved}; client time stamps minus tcpdump's:"))
        for one in proof.proofs(doc):
            rows.append((f"  {one.what}", f"{one.gaps}: {one.constancy}"))
    if merged:
        rows.append(("merged", ", ".join(merged) + " (all runs and clients merged, for comparison)"))
    if aside := view.excluded_text(doc):
        rows.append(("excluded", aside))
    if both := tables.both_table(doc):
        other = both.columns[1]
        about = f"; {doc['over_runs']['claims']}" if other == "mean" else ""
        rows.append((other, f"{format_estimates(other, doc['over_runs']['beside_us'])}, over runs{about}"))
    if off := view.runs_off(doc):
        rows.append(("runs off", "; ".join(off)))
    label = _variance_quantile(doc)
    if label:
        rows.append(("variance", f"{label} {view.variance_text(label, doc)}"))
    if doc["hysteresis"]["text"]:
        rows.append(("hysteresis", doc["hysteresis"]["text"]))
    rows.append(("clients", clients_text(doc)))
    rows += fleet.lines(doc)
    if seen := instrument.lines(doc):
        rows.append(("instrument", "worst client for each figure, mean over runs"))
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


def print_rows(console: "Console", rows: list[tuple[str, str]]) -> None:
    """Print lines with their keys."""
    from rich.text import Text

    for key, value in rows:
        for number, line in enumerate(wrap_lines(console, Text(value), console.width - KEY)):
            console.print(Text(f"{'' if number else key:<{KEY}}", style="bold") + line, soft_wrap=True)


def format_estimates(name: str, group: Estimates) -> str:
    """Format a group of estimates in one line."""
    table = tables.estimate_table({name: group})
    parts = []
    for row in table.rows:
        one = row.cells[name].interval
        if row.label != "mean":
            bounds = f" [{one.low}, {one.high}]" if one.low else ""
            parts.append(f"{row.label} {one.value}{bounds}")
    return f"{', '.join(parts)} {table.unit.name}"


def _variance_quantile(doc: Measure) -> str | None:
    """Return the quantile whose variance is shown: the one that ended the runs, or the last known one."""
    known = labels(doc["variance"])
    wanted = doc["stopping"]["quantile"]
    return wanted if wanted in known else known[-1] if known else None


def clients_text(doc: Measure) -> str:
    """Describe the number of clients, and their shares of the slowest requests."""
    clients = doc["clients"]
    if clients["count"] < 2:
        return "one client"
    shares = " + ".join(numbers.percent(share) for share in clients["share_of_slowest"])
    text = f"{clients['count']} clients"
    if clients["pacing"] == "sleep":
        text += " that sleep between scheduled times"
    if shares:
        where = f" (above {numbers.latency(clients['threshold_us'])})" if clients["threshold_us"] else ""
        text += f"; of the slowest 1 %{where} their shares are {shares}"
    return text if clients["owner"] is None else f"{text}: client {clients['owner']} dominates the tail"
