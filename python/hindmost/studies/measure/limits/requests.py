"""A measurement narrowed to one request of its list, with what speaks against that request's own figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from hindmost.run.figures import RunFigures
from hindmost.run.limits import ERROR_INCONCLUSIVE, SAMPLES_INCONCLUSIVE
from hindmost.run.text import percent
from hindmost.store import measure as documents
from hindmost.store.estimates import numbers
from hindmost.store.types import Counts, Reason

OWN = ("errors", "few-samples")
"""Reasons that a request has by itself, whatever all requests together have."""


@dataclass(frozen=True, slots=True)
class RequestFigures:
    """One request's latencies and counts in one run; ``samples``: of the client that had fewest."""

    latency_us: documents.Values
    counts: Counts
    samples: int


Requests = Mapping[int, Mapping[str, RequestFigures]]
"""By run and name."""


def requests_of(runs: Sequence[RunFigures]) -> Requests:
    """Collect the figures of all requests of all runs."""
    return {
        run.number: {
            name: RequestFigures(
                numbers(values),
                run.kind_counts[name],
                min(_with_latency(one.result["kinds"][name]) for one in run.instances),
            )
            for name, values in run.kind_values.items()
        }
        for run in runs
    }


def narrow(document: documents.Measure, name: str, requests: Requests) -> documents.Measure | None:
    """Leave only one request in a measurement; None where no run made it.

    Isolated latency is not known of single requests.
    """
    found = [(run, one) for run in document["runs"] if (one := requests.get(run["run"], {}).get(name))]
    if not found:
        return None
    runs = [{**run, "latency_us": one.latency_us, "counts": one.counts, "calm": None} for run, one in found]
    counted = [one for run, one in found if not run.get("set_aside")] or [one for _, one in found]
    reasons = [one for one in document["reasons"] if one["code"] not in OWN]
    narrowed = {**document, "runs": runs, "calm": None, "reasons": reasons + _own_reasons(name, counted)}
    return cast(documents.Measure, narrowed)


def _with_latency(counts: Counts) -> int:
    """How many requests have a latency: an error has none."""
    return counts["due"] - counts["errors"]


def _own_reasons(name: str, runs: Sequence[RequestFigures]) -> list[Reason]:
    found: list[Reason] = []
    errors, due = (sum(one.counts[way] for one in runs) for way in ("errors", "due"))
    if errors > ERROR_INCONCLUSIVE * due:
        text = f"{percent(errors / due)} of the requests {name!r} failed"
        found.append(_reason("errors", text, "see the server's log", (), errors=errors, share=errors / due))
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
    return {
        "code": code,
        "level": "inconclusive",
        "text": text,
        "hint": hint,
        "labels": list(labels),
        "values": values,
    }
