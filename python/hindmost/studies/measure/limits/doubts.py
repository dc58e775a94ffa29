"""What the verdict's reasons make of a figure: which way each may have bent it, and whose doing that was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindmost.plan import THROUGHPUT, Term
from hindmost.stats.runs.limit import Bent
from hindmost.store import measure as documents
from hindmost.store.types import Blame, Reason
from hindmost.studies.measure.calm import FROM_INTERFERENCE

HIGH, LOW, EITHER = Bent(too_high=True), Bent(too_low=True), Bent(too_high=True, too_low=True)

HOST = (
    "steal-time",
    "noisy-host",
    "host-setting",
    "run-delay",
    "throttled",
    "excluded-runs",
    "retransmissions",
)
"""Interference and lost segments: they add to latency."""
LATE = ("late-sends", "arrivals-differ", "schedule-differs", "client-busy", "capture-differs")
"""A client that sent or read late adds to latency, too."""
WIDE = ("wide-intervals",)
"""The interval itself shows it."""


ALWAYS_FROM_INTERFERENCE = ("steal-time", "noisy-host", "excluded-runs", "run-delay")
"""Reasons that never hold against isolated latency, even where requests were late without interference."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """How a finding may have bent a figure, and who is to ``blame``."""

    bent: Bent
    blame: Blame
    reason: Reason

    @property
    def of_host(self) -> bool:
        """Whether calm latency is without it."""
        return self.blame == "host"


def doubts(document: documents.Measure, term: Term) -> list[Doubt]:
    """What speaks against the figure of a limit; what is only to be kept in mind does not."""
    grave = [one for one in document["reasons"] if one["level"] != "note" and _concerns(one, term)]
    if term.calm:
        grave = _about_calm(document, term, grave)
    return [doubt for one in grave if (doubt := _doubt(one, term)) is not None]


def _concerns(reason: Reason, term: Term) -> bool:
    """Whether a finding is about the whole measurement, or this quantile."""
    labels = reason.get("labels")
    if not labels or not term.is_latency or term.name in labels:
        return True
    return term.name == "mean" and reason["code"] in (*HOST, *LATE)  # what is added is in the mean, too


def _about_calm(document: documents.Measure, term: Term, grave: Sequence[Reason]) -> list[Reason]:
    """Without what thefts did; late sending stays where it was late in calm time, which its verdict tells."""
    calm = document.get("calm")
    found = calm["latency_us"].get(term.name) if calm and not calm["refused"] else None
    rest = [one for one in grave if one["code"] not in FROM_INTERFERENCE]
    if found is not None and found["verdict"] == "invalid" and not any(o["level"] == "invalid" for o in rest):
        return [one for one in grave if one["code"] not in ALWAYS_FROM_INTERFERENCE]
    return rest


def _doubt(reason: Reason, term: Term) -> Doubt | None:
    """What one finding does to a figure; late sending that follows from a noisy host is not *invalid*."""
    code, invalid = reason["code"], reason["level"] == "invalid"
    instrument: Blame = "instrument" if invalid else "host"
    if code in WIDE:
        return None
    if code in (*HOST, *LATE):
        bent = _taken(term)
        return Doubt(bent, "host" if code in HOST else instrument, reason) if bent else None
    if code == "rate-not-reached" and invalid:  # the client's doing
        bent = EITHER if term.is_latency else _taken(term)
        return Doubt(bent, "instrument", reason) if bent else None
    if not term.is_latency:  # counted as they came, whatever the server did
        return None
    if code in ("rate-not-reached", "errors"):
        return Doubt(LOW, "server", reason)
    return Doubt(EITHER, "instrument" if invalid else "sample", reason)


def _taken(term: Term) -> Bent | None:
    """How lost processors bend a figure; errors and misses are the server's own."""
    if term.is_latency or term.name in ("failed", "unanswered"):
        return HIGH
    return LOW if term.name == THROUGHPUT else None
