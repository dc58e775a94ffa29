"""How the verdict's reasons affect a limit's figure: in which direction, and who is to blame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindmost.commands.measure.isolated import FROM_INTERFERENCE
from hindmost.core.plan import THROUGHPUT, Term
from hindmost.core.store import measure as documents
from hindmost.core.store.types import Blame, Reason
from hindmost.stats.runs.limit import Distortion

HIGH, LOW, EITHER = (
    Distortion(too_high=True),
    Distortion(too_low=True),
    Distortion(too_high=True, too_low=True),
)

HOST = (
    "steal-time",
    "noisy-host",
    "host-setting",
    "run-delay",
    "throttled",
    "excluded-runs",
    "retransmissions",
)
"""Codes for interference and lost segments, which add to latency."""
LATE = ("late-sends", "arrivals-differ", "schedule-differs", "client-busy", "capture-differs")
"""Codes for a client that sent or read late, which adds to latency too."""
WIDE = ("wide-intervals",)
"""Codes for wide intervals, which already widen the figure's own interval."""


ALWAYS_FROM_INTERFERENCE = ("steal-time", "noisy-host", "excluded-runs", "run-delay")
"""Codes that never hold against isolated latency, even if requests were late without interference."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """How a reason may have biased a figure, and who is to ``blame``."""

    bent: Distortion
    blame: Blame
    reason: Reason

    @property
    def of_host(self) -> bool:
        """Whether isolated latency is free of it."""
        return self.blame == "host"


def find_doubts(document: documents.Measure, term: Term) -> list[Doubt]:
    """Return the doubts about the figure of a limit. Notes raise no doubt."""
    grave = [one for one in document.reasons if one.level != "note" and _concerns(one, term)]
    if term.isolated:
        grave = _keep_for_isolated(document, term, grave)
    return [doubt for one in grave if (doubt := _doubt(one, term)) is not None]


def _concerns(reason: Reason, term: Term) -> bool:
    """Whether a reason concerns the whole measurement, or this quantile."""
    labels = reason.labels
    if not labels or not term.is_latency or term.name in labels:
        return True
    return term.name == "mean" and reason.code in (*HOST, *LATE)  # added latency affects the mean too


def _keep_for_isolated(document: documents.Measure, term: Term, grave: Sequence[Reason]) -> list[Reason]:
    """Drop reasons that come from interference, unless isolated latency is invalid for late sends."""
    isolated = document.isolated
    found = isolated.latency_us.get(term.name) if isolated and not isolated.refused else None
    rest = [one for one in grave if one.code not in FROM_INTERFERENCE]
    if found is not None and found.verdict == "invalid" and not any(o.level == "invalid" for o in rest):
        return [one for one in grave if one.code not in ALWAYS_FROM_INTERFERENCE]
    return rest


def _doubt(reason: Reason, term: Term) -> Doubt | None:
    """Return a reason's effect on a figure. Late sends that follow from a noisy host are not *invalid*."""
    code, invalid = reason.code, reason.level == "invalid"
    instrument: Blame = "instrument" if invalid else "host"
    if code in WIDE:
        return None
    if code in (*HOST, *LATE):
        bent = _bias_of_lost_time(term)
        return Doubt(bent, "host" if code in HOST else instrument, reason) if bent else None
    if code == "rate-not-reached" and invalid:  # the client's fault
        bent = EITHER if term.is_latency else _bias_of_lost_time(term)
        return Doubt(bent, "instrument", reason) if bent else None
    if not term.is_latency:  # a count is exact, whatever the server did
        return None
    if code in ("rate-not-reached", "errors"):
        return Doubt(LOW, "server", reason)
    return Doubt(EITHER, "instrument" if invalid else "sample", reason)


def _bias_of_lost_time(term: Term) -> Distortion | None:
    """Return how lost CPU time biases a figure; errors and misses come from the server itself."""
    if term.is_latency or term.name in ("failed", "unanswered"):
        return HIGH
    return LOW if term.name == THROUGHPUT else None
