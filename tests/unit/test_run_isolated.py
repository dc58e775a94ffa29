"""Isolated latency of a run: interruptions from all observers, figures, and refusals with their reasons."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_documents import complete
from rows import each_row
from run_records import run_record

from hindmost import MeasurePlan
from hindmost.commands.measure.procedure import Procedure
from hindmost.core.codes import CODES
from hindmost.core.run.isolated import RunIsolated, find_refusal, run_isolated
from hindmost.core.run.isolated.interruptions import find_interference
from hindmost.core.run.isolated.refusal import Refusal
from hindmost.core.run.isolated.requests import RequestTimes
from hindmost.core.store.engine import ClientResult
from hindmost.core.store.manifest import RunRecord
from hindmost.stats import NEVER, Estimate, Onsets
from tests.stats.interference_worlds import World, simulate

MS = 1_000_000
START_NS = 7_000_000_000_000
"""Start of the measurement on the host's clock, ns."""
PLAN = MeasurePlan(target="memcached", client_cpus=((1,),), server_cpus=(0,), duration_s=40.0)
RAW = {"p50": 14.0, "p95": 60.0, "p99": 90.0, "p99.9": 140.0, "mean": 20.0}
ESTIMATES = [{name: Estimate(value, 0.9 * value, 1.1 * value, 1) for name, value in RAW.items()}]


def sentinel_record(*spans: tuple[int, int, int], **changes: Any) -> dict[str, Any]:
    """Return the record of a sentinel on CPU 0 that watched the whole measurement; spans in ns of it."""
    usual = {
        "cpu": 0,
        "from_ns": START_NS - MS,
        "to_ns": START_NS + 41_000 * MS,
        "period_ns": MS,
        "late_ns": 100_000,
    }
    return usual | {"missed": 0, "spans_ns": [[START_NS + at for at in span] for span in spans]} | changes


def spin_gaps(*spans: tuple[int, int], **changes: Any) -> dict[str, Any]:
    return {"idle_ns": 20_000, "call_ns": 200_000, "missed": 0, "spans_ns": list(spans)} | changes


def result(*threads: dict[str, Any], **changes: Any) -> ClientResult:
    host = {"throttled": {"periods": 0}}
    usual = {"measured_from_ns": START_NS, "achieved_per_s": 25_000.0, "host": host}
    usual["threads"] = [{"away": thread} for thread in threads or (spin_gaps(),)]
    return complete(ClientResult, usual | changes)


def record(*sentinels: dict[str, Any], **changes: Any) -> RunRecord:
    usual: dict[str, Any] = {
        "server_cpu_share": 0.5,
        "target": {"cpus": [0]},
        "sentinel": list(sentinels or (sentinel_record(),)),
    }
    return run_record(**usual | changes)


def find_isolated(
    found: RunRecord | None = None,
    results: list[Any] | None = None,
    requests: RequestTimes | None = None,
    **changes: Any,
) -> RunIsolated | None:
    plan = PLAN.model_copy(update=changes)
    empty = np.empty(0, np.int64)
    read = lambda _folder, _index: requests or RequestTimes(empty, empty, empty)  # noqa: E731
    return run_isolated(Path("run"), found or record(), results or [result()], plan, RAW, ESTIMATES, read)


FAULT = {"code": "needs-root", "fault": "Operation not permitted", "hint": "run as root"}


def test_without_an_interruption_isolated_equals_measured_latency():
    found = find_isolated()
    assert found is not None
    assert found.values == {name: RAW[name] for name in PLAN.labels}
    assert [found.intervals["p99"].low, found.intervals["p99"].high] == [0.9 * 90.0, 1.1 * 90.0]
    assert (found.taken, found.counted, found.interruptions, found.refused) == (0.0, 1.0, 0, None)
    assert found.seen_us == 1_100.0
    assert find_refusal([found]) is None


def test_simultaneous_interruptions_of_server_and_client_are_merged():
    interference = find_interference(
        record(sentinel_record((10 * MS, 11 * MS, 14 * MS))),
        [result(spin_gaps((12 * MS, 13 * MS)), spin_gaps((20 * MS, 21 * MS)))],
        PLAN,
    )
    assert not isinstance(interference, Refusal)
    assert [interference.interruptions.on.tolist(), interference.interruptions.off.tolist()] == [
        [10 * MS, 20 * MS],
        [14 * MS, 21 * MS],
    ]
    # The most likely start is half-way between the last sign of life and the scheduled wake-up.
    assert interference.taken == pytest.approx((3.5 + 1.0) / 40_000)
    assert interference.from_server == pytest.approx(3.0 / 40_000), (
        "the delay of the sentinel's wake-up is certain"
    )
    assert interference.sources == ("sentinel", "spin gaps")


def test_only_the_sentinel_observes_sleeping_clients():
    interference = find_interference(
        record(),
        [result(spin_gaps((12 * MS, 13 * MS), missed=3))],
        PLAN.model_copy(update={"pacing": "sleep"}),
    )
    assert not isinstance(interference, Refusal)
    assert not len(interference.interruptions)
    assert interference.sources == ("sentinel",)


def test_isolated_latency_is_close_to_the_truth_under_steal_time():
    """Steal time of 5 % in spells of 3 ms; the measured p99 is 20 times the truth."""
    run = simulate(World("exponential", 0.5, 0.05, 3.0), 800_000, seed=7)
    begin = run.scheduled[0]
    spans = [(int(on - begin), int(off - begin)) for on, off in zip(run.on, run.off, strict=True)]
    found = record(server_cpu_share=0.5 * (1.0 - 0.05))
    found = find_isolated(
        found,
        [result(spin_gaps(*spans))],
        RequestTimes(run.scheduled - begin, run.scheduled - begin, run.done - begin),
    )
    assert found is not None
    assert found.refused is None
    truth = (run.undisturbed - run.scheduled) / 1e3
    raw = (run.done - run.scheduled) / 1e3
    for name, level in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        true = float(np.quantile(truth, level))
        assert found.values[name] == pytest.approx(true, rel=0.1), name
        assert found.intervals[name].low <= found.values[name] <= found.intervals[name].high
    assert np.quantile(raw, 0.99) > 5.0 * np.quantile(truth, 0.99)
    assert found.taken == pytest.approx(0.05, abs=0.01)
    assert 0.6 < found.counted < 0.95
    assert find_refusal([found]) is None


@each_row(
    ("code", "values", "changes"),
    [
        ("closed-loop", {}, {"loop": "closed"}),
        ("shared-cpus", {}, {"client_cpus": ((0, 1),)}),
        ("shared-cpus", {}, {"client_cpus": ((),)}),
        ("unknown-server-cpus", {}, {"found": record(target={"cpus": None})}),
        ("no-sentinel", {"code": "needs-root"}, {"found": record(sentinel=FAULT)}),
        ("no-sentinel", {}, {"found": record(sentinel=[])}),
        ("clock-mismatch", {"cpu": 0}, {"found": record(sentinel_record(from_ns=START_NS + MS))}),
        ("clock-mismatch", {"cpu": 0}, {"found": record(sentinel_record(to_ns=START_NS + 39_000 * MS))}),
        (
            "too-many-interruptions",
            {"missed": 9, "seen": 1},
            {"results": [result(spin_gaps((0, MS), missed=9))]},
        ),
        ("throttled", {"periods": 4}, {"results": [result(host={"throttled": {"periods": 4}})]}),
        ("cpu-neighbors", {"share": pytest.approx(0.2)}, {"found": record(server_busy_share=0.7)}),
        (
            "unknown-cpu-time",
            {},
            {"found": record(sentinel_record((0, MS, 3 * MS)), server_cpu_share=None)},
        ),
        ("no-requests", {}, {"found": record(sentinel_record((0, MS, 3 * MS)))}),
    ],
)
def test_unknown_isolated_latency_is_refused_with_reason_and_remedy(
    code: str, values: dict[str, Any], changes: dict[str, Any]
) -> None:
    found = find_isolated(**changes)
    assert found is not None
    assert found.refused is not None
    assert not found.values
    assert (found.refused.code, found.refused.values) == (code, values)
    assert code in CODES
    assert found.refused.need


def requests(n: int = 1000) -> RequestTimes:
    scheduled = np.arange(n, dtype=np.int64) * 40 * MS
    return RequestTimes(scheduled, scheduled.copy(), scheduled + MS)


@pytest.mark.parametrize(
    ("code", "share", "spans"),
    [
        ("high-utilization", 0.95, [(5 * MS, 6 * MS)]),
        ("few-counted-requests", 0.5, [(k * 40 * MS - MS, k * 40 * MS + MS) for k in range(1, 1000)]),
    ],
)
def test_a_refusal_of_the_statistics_is_reported_with_its_figures(code, share, spans):
    found = find_isolated(record(server_cpu_share=share), [result(spin_gaps(*spans))], requests())
    assert found is not None
    assert found.refused is not None
    assert found.refused.code == code
    assert found.interruptions == len(spans)
    assert found.taken > 0.0


SPANS = [(k * 100 * MS, k * 100 * MS + 10 * MS) for k in range(400)]
LATE = sentinel_record(*((on, on, off) for on, off in SPANS))
"""A tenth of the time, taken from a client or from the server."""


@each_row(
    ("record_", "results", "share"),
    [
        (record(server_busy_share=0.54), None, None),
        (record(LATE, server_busy_share=0.62), None, None),
        (
            record(server_busy_share=0.62),
            [result(spin_gaps(*SPANS))],
            0.12,
        ),  # interference on the client's CPU only
        (
            record(LATE, server_busy_share=0.62, server_steal_share=0.1),
            None,
            0.12,
        ),  # steal time is not used CPU time
    ],
)
def test_cpu_time_of_neighbours_excludes_interruptions_and_steal_time(record_, results, share):
    found = find_isolated(record_, results, requests())
    assert found is not None
    refusal = found.refused if found.refused is not None and found.refused.code == "cpu-neighbors" else None
    assert (refusal.values if refusal else None) == (
        None if share is None else {"share": pytest.approx(share)}
    )


DOUBTS = [
    [START_NS + at * MS, START_NS + (at + 1) * MS, START_NS + (at + 4) * MS] for at in range(10, 39_000, 400)
]
"""Waits of a sentinel without real-time priority: 3 ms each, 0.8 % of the time."""


def run_with_doubts(slow_ms: float) -> RunIsolated:
    """Return a run of 1 ms requests, slower in the waits. No interruption is certain, so nothing is removed."""
    times = requests(4_000)
    times.scheduled[:] = times.scheduled // 4
    slow = np.isin(times.scheduled // MS % 400, range(10, 14))
    times.completed[:] = times.scheduled + np.where(slow, int(slow_ms * MS), MS)
    raw = {name: 1e3 * slow_ms if name in ("p99", "p99.9") else 1_000.0 for name in RAW}
    read = lambda _folder, _index: times  # noqa: E731
    found = run_isolated(
        Path("run"), record(sentinel_record(unsure_ns=DOUBTS)), [result()], PLAN, raw, ESTIMATES, read
    )
    assert found is not None
    return found


def test_uncertain_interruptions_that_hardly_matter_are_not_removed():
    found = run_with_doubts(slow_ms=1.05)
    assert found.refused is None
    assert (found.values["p50"], found.values["p99"], found.taken) == (1_000.0, 1_050.0, 0.0)


def test_uncertain_interruptions_that_matter_refuse_isolated_latency():
    found = run_with_doubts(slow_ms=50.0)
    assert found.refused is not None
    assert (found.refused.code, found.values) == ("uncertain-interference", {})
    values = found.refused.values
    assert (values["name"], values["least_us"], values["most_us"]) == ("p99", 50_000.0, 1_000.0)
    assert "CAP_SYS_NICE" in found.refused.need


def test_certain_interruptions_are_kept_apart_from_uncertain_ones():
    spans = [(at * MS, (at + 1) * MS, (at + 3) * MS) for at in range(210, 39_000, 400)]
    interference = find_interference(record(sentinel_record(*spans, unsure_ns=DOUBTS)), [result()], PLAN)
    assert not isinstance(interference, Refusal)
    assert interference.doubted is not None
    assert (len(interference.interruptions), len(interference.doubted)) == (
        len(spans),
        len(spans) + len(DOUBTS),
    )
    assert interference.unsure == pytest.approx(len(DOUBTS) * 4 / 40_000)


def test_an_early_study_has_no_isolated_latency_of_runs():
    assert find_isolated(results=[result(threads=[{}])]) is None


def test_few_spells_and_dependent_interruptions_refuse_all_runs():
    def run(spells: int, onsets: Onsets) -> RunIsolated:
        return RunIsolated(values={"p50": 20.0}, interruptions=spells, spells=spells, onsets=(onsets,))

    random = np.random.default_rng(1)
    independent_onsets = Onsets(random.poisson(1.0, (20, 21)).astype(float), random.random((20, 21)))
    for_one_run = find_refusal([run(20, independent_onsets)])
    assert for_one_run is not None
    assert for_one_run.code == "few-quiet-spells"
    assert find_refusal([run(20, independent_onsets), run(20, independent_onsets)]) is None
    dependent_onsets = Onsets(independent_onsets.flying.copy(), independent_onsets.busy)
    dependent_onsets.flying[:, 0] += 3.0
    dependent = find_refusal([run(20, dependent_onsets), run(20, dependent_onsets)])
    assert dependent is not None
    assert dependent.code == "dependent-interruptions"
    assert dependent.values["p"] < 0.05


def test_late_sends_are_reported_unless_caused_by_interruptions():
    spans = [(k * 40 * MS + 2 * MS, k * 40 * MS + 5 * MS) for k in range(0, 1000, 25)]
    times = requests()
    assert find_isolated(results=[result(spin_gaps(*spans))], requests=times).late == ()
    times.sent[:] += 300_000  # of 1 ms
    assert find_isolated(results=[result(spin_gaps(*spans))], requests=times).late == PLAN.labels


def test_an_unanswered_request_is_infinitely_late():
    times = requests()
    times.completed[::10] = NEVER
    found = find_isolated(record(sentinel_record((0, MS, 3 * MS))), requests=times)
    assert found is not None
    assert found.values["p99"] == float("inf")
    assert found.values["p50"] == 1_000.0


@each_row(("find_isolated", "runs", "counts"), [(4, 4, True), (4, 8, True), (4, 9, False), (0, 1, False)])
def test_excluded_runs_continue_if_most_have_isolated_latency(find_isolated, runs, counts):
    isolated_runs = [RunIsolated(values={"p50": 20.0}) for _ in range(find_isolated)]
    assert Procedure._isolated_counts(isolated_runs, runs) is counts
