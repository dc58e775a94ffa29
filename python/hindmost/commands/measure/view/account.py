"""The result of the load and of the runs, as names and texts: in brief, and completely."""

from __future__ import annotations

from hindmost.commands.measure.view import fleet, instrument, proof, wording
from hindmost.commands.measure.view.tables import format_estimates
from hindmost.commands.measure.view.values import labels
from hindmost.core.store.measure import Estimates, Measure
from hindmost.present import numbers

Rows = list[tuple[str, str]]


def brief_account(doc: Measure) -> Rows:
    """Return one line for the load, and one for each thing that a user should know of it."""
    isolated = doc.isolated
    refused = isolated.refused if isolated and doc.verdict != "valid" else None
    return _known(
        ("load", _load(doc)),
        ("saturation", wording.saturation(doc)),
        *_connecting(doc),
        ("arrivals", wording.early_end_text(doc)),
        ("datagrams", wording.datagrams(doc)),
        ("streams", wording.streams(doc)),
        ("messages", wording.messages(doc)),
        ("sessions", wording.sessions(doc)),
        ("batches", wording.batches(doc)),
        ("isolated", f"none: {wording.clause(refused.text)}" if refused else ""),
    )


def outcomes(doc: Measure) -> Rows:
    """Return what became of requests and connections."""
    return _known(
        ("requests", _requests(doc)),
        ("codes", wording.codes(doc)),
        ("arrivals", wording.early_end_text(doc)),
        ("datagrams", wording.datagrams(doc)),
        ("streams", wording.streams(doc)),
        ("messages", wording.messages(doc)),
        ("sessions", wording.sessions(doc)),
        ("connections", wording.connections(doc)),
        *(("server", wording.endpoint(each)) for each in doc.endpoints),
    )


def account(doc: Measure) -> Rows:
    """Return all details of load, runs and client, for ``--verbose``. The page has the same."""
    about = wording.interval_subject(doc)
    other = "mean" if about == "median" else "median"
    over_runs = doc.over_runs
    claims = f"; {over_runs.claims}" if over_runs and other == "mean" else ""
    who = "client and connecting" if wording.connects_per_request(doc) else "client"
    return _known(
        ("throughput", wording.throughput(doc)),
        ("saturation", wording.saturation(doc)),
        ("isolated", wording.isolated_text(doc)),
        *outcomes(doc),
        ("connect", _figures(doc.connect_us, "from the attempt to the open connection")),
        ("handshake", _figures(doc.handshake_us, "from the open connection until it is secured")),
        ("batches", wording.batches(doc)),
        ("held", _figures(doc.held_us, "as configured: part of latency, not of send delay")),
        ("wire", _figures(doc.wire_us, wording.stamps_text(doc))),
        (
            "overhead",
            _figures(doc.overhead_us, f"{who}: part of service latency, by these time stamps"),
        ),
        *_capture(doc),
        ("merged", _merged(doc)),
        ("excluded", wording.excluded_text(doc)),
        (other, _figures(over_runs.beside_us if over_runs else None, f"over runs{claims}")),
        ("runs off", "; ".join(wording.runs_off(doc))),
        ("variance", _variance(doc)),
        ("hysteresis", doc.hysteresis.text),
        ("clients", wording.clients_text(doc)),
        *fleet.lines(doc),
        *_instrument(doc),
        ("stopping", wording.stopping_text(doc) if doc.stopping.rule else ""),
    )


def _known(*rows: tuple[str, str]) -> Rows:
    return [(key, text) for key, text in rows if text]


def _figures(group: Estimates | None, about: str) -> str:
    return f"{format_estimates(group)}, {about}" if group else ""


def _load(doc: Measure) -> str:
    counts, (_, missing) = doc.counts, wording.accounting(doc.counts)
    errors, timeouts, unsent = counts.errors, counts.timeouts, counts.unsent
    which = wording.error_codes(doc) if errors else ""
    lost = [f"{numbers.count(errors)} errors{f' ({which})' if which else ''}"] if errors else []
    lost += [f"{numbers.count(timeouts)} timeouts"] if timeouts else []
    lost += [f"{numbers.count(unsent)} unsent"] if unsent else []
    lost += [f"{numbers.count(missing)} NOT ACCOUNTED FOR"] if missing else []
    text = f"{wording.throughput(doc)}; {numbers.count(counts.scheduled)} requests, "
    text += ", ".join(lost) or "all answered"
    return f"{text}, {numbers.count(counts.misses)} not found" if counts.misses else text


def _requests(doc: Measure) -> str:
    text, missing = wording.accounting(doc.counts)
    if missing:
        text += f"; {numbers.count(missing)} NOT ACCOUNTED FOR"
    if misses := doc.counts.misses:
        text += f" ({numbers.count(misses)} of the completed requests were misses)"
    return text


def _connecting(doc: Measure) -> Rows:
    """Return the times to connect and to secure a connection, if each request includes them."""
    made = doc.connections
    connect, handshake = doc.connect_us, doc.handshake_us
    if not (made and connect and wording.connects_per_request(doc)):
        return []
    return [
        ("connect", _figures(connect, f"in latency; {numbers.count(made.made)} made")),
        ("handshake", _figures(handshake, f"in latency; {wording.handshakes(made)}")),
    ]


def _capture(doc: Measure) -> Rows:
    if not (proved := proof.proof_text(doc)):
        return []
    gaps = [(f"  {one.what}", f"{one.gaps}: {one.constancy}") for one in proof.proofs(doc)]
    return [("capture", f"{proved}; client time stamps minus tcpdump's:"), *gaps]


def _merged(doc: Measure) -> str:
    figures = [
        f"{label} {numbers.latency(doc.merged_us[label])}"
        for label in labels(doc.merged_us)
        if label != "mean"
    ]
    return f"{', '.join(figures)} (all runs and clients merged, for comparison)" if figures else ""


def _variance(doc: Measure) -> str:
    """Describe the quantile that ended the runs, or the last known one."""
    known, wanted = labels(doc.variance), doc.stopping.quantile
    if not known:
        return ""
    label = wanted if wanted in known else known[-1]
    return f"{label} {wording.variance_text(label, doc)}"


def _instrument(doc: Measure) -> Rows:
    if not (seen := instrument.lines(doc)):
        return []
    head = ("instrument", "worst client for each figure, mean over runs")
    return [head, *((f"  {key}", text) for key, text in seen)]
