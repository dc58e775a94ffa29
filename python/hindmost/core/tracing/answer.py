"""A trace as the document ``hindmost.trace/2``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from hindmost.core.notes import Note
from hindmost.core.store.engine import TraceCost, TraceCounts
from hindmost.core.store.estimates import number
from hindmost.core.tracing import document as documents
from hindmost.core.tracing.advice import advise
from hindmost.core.tracing.begin_probe import begin_notes, describe_begin
from hindmost.core.tracing.document import SCHEMA_NAME, Figure, Trace
from hindmost.core.tracing.effect import effect_notes
from hindmost.core.tracing.groups import by_name, by_thread_and_connection
from hindmost.core.tracing.inbound import find_inbound
from hindmost.core.tracing.interference import CpuCounters, interference_notes, summarize_interference
from hindmost.core.tracing.profile import profile_notes
from hindmost.core.tracing.usage import ENDED
from hindmost.stats.estimate import Estimate
from hindmost.stats.stages import Decomposition, Part, Stage, causes, decompose

if TYPE_CHECKING:
    from hindmost.core.tracing.tracing import TraceRequest

CAUSES = {
    "no_arrival": "more than 64 segments waited unread on a connection, as many as the probes keep",
    "ring_full": "more than 128 requests were open on a connection",
    "ambiguous": "it is uncertain which send of a batch answered them",
    "closed": "the connection ended before the response",
}
"""Causes of requests that were read but are not in the figures, by the probes' names."""
UNKNOWN = {
    "unseen": "the probes did not see what the thread did: it had read no request before, or a record"
    " was lost",
    "run_queue": "the probes did not see what used the CPU: it had run there since before the wait began",
    "wake": "the probes never saw the thread that woke it",
}
"""Why a part of the time has no culprit, by its cause; other causes are waits like `wake`."""
_OPEN = (
    "in flight when the trace or a window ended, or in a batch that no later read of its connection settled"
)
LEAST_MATCHED = 0.999
MOST_OPEN = 0.001
"""Largest gap between the stages' sum and the latency that is not reported, as a share of the variance."""
MOST_CUT = 0.0001
"""Share of requests that outlived their window from which it is reported: they are the slowest ones."""
WORKERS = 0.01
"""Share of the server's CPU time from which a thread counts as a worker."""
PartKind = TypeVar("PartKind", bound=documents.Part)


def document_of(
    request: TraceRequest,
    traced: Mapping[str, Any],
    names: Mapping[int, str],
    used_ns: Mapping[int, int] | None = None,
    looks: tuple[CpuCounters, CpuCounters] | None = None,
) -> Trace:
    """Build the document of a finished trace.

    Parameters
    ----------
    request : TraceRequest
    traced : dict
        Output of the engine's ``Trace``.
    names : dict
        Threads' names by thread id.
    used_ns : dict, optional
        CPU time of each thread during the trace, ns; `ENDED` for threads that ended.
    looks : tuple of CpuCounters, optional
        CPU counters before and after the trace.
    """
    blocks, counts = traced["blocks"], msgspec.convert(traced["counts"], TraceCounts)
    whole = decompose(blocks)
    assert whole is not None
    names_of_kinds = dict.fromkeys(kind["kind"] for block in blocks for kind in block["kinds"])
    kinds = {kind: found for kind in names_of_kinds if (found := decompose(blocks, [kind])) is not None}
    unmatched = _list_unmatched(counts)
    lost = sum(one.requests for one in unmatched if one.cause != "open")
    server = request.server
    who = _list_culprits(traced["who"], names)
    threads, connections, requests = _group_records(request, traced, names)
    trace = Trace(
        schema=SCHEMA_NAME,
        server=documents.Server(name=server.name, pid=server.pid, port=server.port, protocol=server.protocol),
        lasted_s=traced["lasted_ns"] / 1e9,
        began_ns=traced["began_ns"],
        one_connection_in=request.one_connection_in,
        followed_s=traced["followed_ns"] / 1e9,
        handover=traced["handover"],
        begun=None if request.begun is None else describe_begin(request.begun, counts),
        all=_parts(whole),
        kinds={kind: _parts(parts) for kind, parts in kinds.items()},
        between_kinds=_share_between_kinds(whole, list(kinds.values())),
        critical=documents.Critical(
            by_variance=whole.by_variance.name,  # type: ignore[arg-type]
            by_mean=whole.by_mean.name,  # type: ignore[arg-type]
        ),
        blocks=whole.blocks,
        counts=counts,
        matched=counts.done / (counts.done + lost),
        unmatched=unmatched,
        threads=threads,
        connections=connections,
        records=None
        if request.records is None
        else documents.Records(path=str(request.records), requests=traced["records"], every=request.every),
        who=who,
        taken=None if looks is None else summarize_interference(*looks, who),
        service=_service(traced, used_ns or {}, whole, request.one_connection_in),
        cost=msgspec.convert(traced["cost"], TraceCost),
        notes=[],
        advice=[],
        profile=msgspec.convert(traced["profile"], documents.Profile | None),
        requests=requests,
        waits=msgspec.convert(traced["waits"], documents.Profile | None),
        windows=documents.Windows(
            one_in=request.one_window_in or 1,
            window_s=request.block_s,
            expected_cost=request.expected_cost,
        ),
    )
    notes = [
        *_notes(request, trace),
        *effect_notes(trace),
        *_ended_notes(used_ns or {}),
        *interference_notes(trace.taken),
        *profile_notes(trace.profile, traced["profile_fault"]),
    ]
    return msgspec.structs.replace(
        trace,
        notes=[note.document() for note in notes],
        advice=advise(trace, find_inbound(server.port, server.pid)),
    )


def _group_records(
    request: TraceRequest, traced: Mapping[str, Any], names: Mapping[int, str]
) -> tuple[list[documents.Group], list[documents.Group], list[documents.Group]]:
    """Group the recorded requests by thread, by connection and by name."""
    if request.records is None or not traced["records"]:
        return [], [], []
    threads, connections = by_thread_and_connection(request.records, lambda one: names.get(one, "?"))
    return threads, connections, by_name(request.records)


def _service(
    traced: Mapping[str, Any], used_ns: Mapping[int, int], whole: Decomposition, connections: int
) -> documents.Service | None:
    """Compute the CPU time per request. Threads with a hundredth of it or more count as workers.

    If only one in `connections` connections was followed, all are assumed to have equally many requests.
    """
    total = sum(used_ns.values())
    if not total or traced["counts"]["seen"] == 0:
        return None
    workers = sum(1 for thread, used in used_ns.items() if thread != ENDED and used >= WORKERS * total)
    workers = max(1, workers)  # all serving threads have ended
    # CPU time covers the whole trace; requests cover only the windows in which they were followed.
    rate = traced["counts"]["seen"] / (traced["followed_ns"] / 1e9) * connections
    occupied_us = sum(stage.mean_us.value for stage in whole.stages[3:])
    if occupied_us <= 0.0:  # a clock too coarse for this server, as in an emulated machine
        return None
    variance_us2 = max(0.0, float(whole.covariance_us2[3:, 3:].sum()))
    return documents.Service(
        workers=workers,
        rate_per_s=rate / workers,
        mean_us=total / 1e3 / (rate * traced["lasted_ns"] / 1e9),
        variance_us2=variance_us2,
        occupied_us=occupied_us,
        c2=variance_us2 / occupied_us**2,
    )


def _ended_notes(used_ns: Mapping[int, int]) -> list[Note]:
    share = used_ns.get(ENDED, 0) / max(1, sum(used_ns.values()))
    if share < WORKERS:
        return []
    return [
        Note(
            "ended-threads",
            f"Threads and processes that ended during the trace used {share:.0%} of the server's CPU time."
            " The CPU time per request includes it; the number of workers does not include them.",
            {"share": share},
        )
    ]


def _parts(decomposition: Decomposition) -> documents.Parts:
    return documents.Parts(
        requests=decomposition.requests,
        latency=_stage(decomposition.latency),
        stages=[_stage(stage) for stage in decomposition.stages],
        covariance_us2=decomposition.covariance_us2.tolist(),
        closure=number(decomposition.closure),
        batch=documents.Batch(
            mean=decomposition.batch_mean,
            variance=decomposition.batch_variance,
            correlation=[number(float(one)) for one in decomposition.batch_correlation],
        ),
    )


def _stage(stage: Stage) -> documents.StageFigures:
    return documents.StageFigures(
        stage=stage.name,  # type: ignore[arg-type]
        mean_us=_figure(stage.mean_us),
        variance_us2=_figure(stage.variance_us2),
        c2=None if stage.c2 is None else _figure(stage.c2),
        share_of_variance=None if stage.share is None else _figure(stage.share),
        share_of_mean=stage.share_of_mean,
    )


def _figure(estimate: Estimate) -> Figure:
    return Figure(value=estimate.value, low=number(estimate.low), high=number(estimate.high))


def _list_culprits(
    traced: Mapping[str, Any] | None, names: Mapping[int, str]
) -> documents.DelaySources | None:
    requests = 0 if traced is None else sum(block["n"] for block in traced["blocks"])
    if traced is None or not requests:
        return None
    found = causes(traced)
    culprits = [_part(documents.CulpritPart, one) for one in found.culprits]
    return documents.DelaySources(
        requests=requests,
        parts=[_part(documents.Part, one) for one in found.parts],
        culprits=[one for one in culprits if one.who.relation != "unknown"],
        unknown=[
            documents.Unknown(
                stage=one.stage,
                cause=one.cause,
                requests=one.who.requests,
                mean_us=one.mean_us,
                share_of_variance=one.share_of_variance,
                why=UNKNOWN.get(one.cause, UNKNOWN["wake"]),
            )
            for one in culprits
            if one.who.relation == "unknown"
        ],
        threads=[
            # The probes do not name a thread that never left its CPU.
            msgspec.convert(
                {**one, "name": one["name"] or names.get(one["thread"], "")}, documents.ThreadSums
            )
            for one in traced["threads"]
        ],
        slowest=msgspec.convert(traced["slowest"], documents.Slowest | None),
    )


def _part(kind: type[PartKind], part: Part) -> PartKind:
    return kind(
        stage=part.stage,  # type: ignore[arg-type]
        cause=part.cause,  # type: ignore[arg-type]
        who=msgspec.convert(part.who, documents.Culprit | None),
        mean_us=_figure(part.mean_us),
        share_of_variance=None if part.share is None else _figure(part.share),
        sd_without_us=part.sd_without_us,
    )


def _share_between_kinds(whole: Decomposition, kinds: list[Decomposition]) -> float | None:
    """Return the share of the variance that comes from different means of the kinds of requests."""
    variance, mean = whole.latency.variance_us2.value, whole.latency.mean_us.value
    if not variance > 0:
        return None
    spread = sum(one.requests * (one.latency.mean_us.value - mean) ** 2 for one in kinds) / whole.requests
    return min(1.0, spread / variance)


def _list_unmatched(counts: TraceCounts) -> list[documents.UnmatchedRequests]:
    unmatched = [
        documents.UnmatchedRequests(cause=cause, requests=requests, why=why)
        for cause, why in CAUSES.items()
        if (requests := getattr(counts, cause))
    ]
    still = counts.seen - counts.done - sum(one.requests for one in unmatched)
    if still > 0:
        unmatched.append(documents.UnmatchedRequests(cause="open", requests=still, why=_OPEN))
    return unmatched


def _notes(request: TraceRequest, trace: Trace) -> list[Note]:
    counts, server = trace.counts, request.server
    notes: list[Note] = []

    def note(code: str, text: str, **values: str | float | None) -> None:
        notes.append(Note(code, text, values))

    if server.has_ended():
        note(
            "server-ended",
            f"{server.name} (process {server.pid}) ended during the trace: the figures cover the time"
            " before.",
            name=server.name,
            pid=server.pid,
        )
    if trace.matched < LEAST_MATCHED:
        note(
            "unmatched-requests",
            f"The trace could not follow {1 - trace.matched:.2%} of the requests (see unmatched). If these"
            " are the slow ones, the figures are too optimistic.",
            share=1 - trace.matched,
        )
    still = sum(one.requests for one in trace.unmatched if one.cause == "open")
    if trace.windows is not None and trace.windows.one_in > 1 and still > MOST_CUT * counts.seen:
        note(
            "cut-requests",
            f"{still} requests were not answered while the trace followed them (up to 1 s after a window)."
            " They are not in the figures. --windows 1 follows all requests to their end.",
            requests=still,
            share=still / counts.seen,
        )
    if not trace.handover:
        note(
            "no-handover",
            "This kernel does not show when a response is handed over (Linux 6.16 and later do):"
            " response_to_network is part of start_to_response.",
        )
    if trace.begun is not None:
        notes += begin_notes(trace.begun)
    if server.protocol == "exchange":
        note(
            "undivided-requests",
            "Requests are not separated: all bytes read before a reply count as one request (--protocol"
            " changes this).",
        )
    if counts.unframed:
        note(
            "unframed-bytes",
            f"{counts.unframed} times, bytes were not a {server.protocol} request (TLS, another protocol,"
            " or a connection in the middle of a request); the trace skipped them.",
            count=counts.unframed,
            protocol=server.protocol,
        )
    if counts.unreadable:
        note(
            "unreadable-reads",
            f"The trace could not look into {counts.unreadable} reads (io_uring, splice, or several"
            " buffers).",
            count=counts.unreadable,
        )
    if counts.stamp_missing > counts.done / 1000:
        note(
            "missing-stamps",
            f"{counts.stamp_missing} segments had no network time stamp: their network_to_tcp is 0.",
            count=counts.stamp_missing,
        )
    if counts.records_lost:
        note(
            "lost-records",
            f"There was no room for {counts.records_lost} single requests in the file; the figures include"
            " all requests. Use a larger --every.",
            count=counts.records_lost,
        )
    if (trace.all.closure or 0.0) > MOST_OPEN:
        note(
            "open-stages",
            "The stages do not add up to the latency within 0.1 %: a stage was longer than 4.29 s, or"
            " negative.",
            closure=trace.all.closure,
        )
    return notes
