"""A measurement reduced to one request of its list, with the reasons against that request's own figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from hindmost.core.run.figures import RunFigures
from hindmost.core.run.limits import ERROR_INCONCLUSIVE, SAMPLES_INCONCLUSIVE
from hindmost.core.run.text import percent
from hindmost.core.store import measure as documents
from hindmost.core.store.engine import Counts as ClientCounts
from hindmost.core.store.estimates import numbers
from hindmost.core.store.types import Counts, Reason

OWN = ("errors", "few-samples")
"""Codes of reasons that are computed for each request separately."""


@dataclass(frozen=True, slots=True)
class RequestFigures:
    """One request's latencies and counts in one run; ``samples``: of the client with the fewest."""

    latency_us: documents.Values
    counts: Counts
    samples: int


Requests = Mapping[int, Mapping[str, RequestFigures]]
"""Figures by run and by name of the request."""


def collect_requests(runs: Sequence[RunFigures]) -> Requests:
    """Return the figures of all requests in all runs."""
    return {
        run.number: {
            name: RequestFigures(
                numbers(values),
                run.kind_counts[name],
                min(_with_latency(one.result.kinds[name]) for one in run.clients),
            )
            for name, values in run.kind_values.items()
        }
        for run in runs
    }


def narrow(document: documents.Measure, name: str, requests: Requests) -> documents.Measure | None:
    """Reduce a measurement to one request; None if no run made it.

    Isolated latency is unknown for single requests.
    """
    found = [(run, one) for run in document.runs if (one := requests.get(run.run, {}).get(name))]
    if not found:
        return None
    runs = [
        replace(run, latency_us=dict(one.latency_us), counts=one.counts, isolated=None) for run, one in found
    ]
    counted = [one for run, one in found if not run.excluded] or [one for _, one in found]
    reasons = [one for one in document.reasons if one.code not in OWN]
    return replace(document, runs=runs, isolated=None, reasons=reasons + _own_reasons(name, counted))


def _with_latency(counts: ClientCounts) -> int:
    """Return how many requests have a latency; errors have none."""
    return counts.scheduled - counts.errors


def _own_reasons(name: str, runs: Sequence[RequestFigures]) -> list[Reason]:
    found: list[Reason] = []
    errors = sum(one.counts.errors for one in runs)
    scheduled = sum(one.counts.scheduled for one in runs)
    if errors > ERROR_INCONCLUSIVE * scheduled:
        text = f"{percent(errors / scheduled)} of the requests {name!r} failed"
        found.append(
            _reason("errors", text, "see the server's log", (), errors=errors, share=errors / scheduled)
        )
    fewest = min(one.samples for one in runs)
    thin = [
        label
        for label in runs[0].latency_us
        if label[0] == "p" and fewest * (1.0 - float(label[1:]) / 100.0) < SAMPLES_INCONCLUSIVE
    ]
    if thin:
        text = f"a client made only {fewest} requests {name!r} in a run, too few for {thin[0]}"
        hint = "a longer `--duration`, a higher `--rate`, or more `weight` for this request"
        found.append(_reason("few-samples", text, hint, tuple(thin), have=fewest))
    return found


def _reason(code: str, text: str, hint: str, labels: Sequence[str], **values: float) -> Reason:
    return Reason(code=code, level="inconclusive", text=text, hint=hint, labels=list(labels), values=values)
