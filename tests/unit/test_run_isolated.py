"""Calm latency of a run: thefts put together from what saw them, figures, and every refusal with its reason."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rows import each_row

from hindmost import MeasurePlan
from hindmost.codes import CODES
from hindmost.run.isolated import RunIsolated, find_refusal, run_isolated
from hindmost.run.isolated.interruptions import find_interference
from hindmost.run.isolated.refusal import Refusal
from hindmost.run.isolated.requests import RequestTimes
from hindmost.stats import NEVER, Estimate, Onsets
from hindmost.studies.measure import Procedure
from tests.stats.interference_worlds import World, simulate

MS = 1_000_000
ZERO = 7_000_000_000_000
"""When the measurement began, by the clock of the host."""
PLAN = MeasurePlan(target="memcached", client_cpus=((1,),), server_cpus=(0,), duration_s=40.0)
RAW = {"p50": 14.0, "p95": 60.0, "p99": 90.0, "p99.9": 140.0, "mean": 20.0}
ALONE = [{name: Estimate(value, 0.9 * value, 1.1 * value, 1) for name, value in RAW.items()}]


def watched(*spans: tuple[int, int, int], **changes: Any) -> dict[str, Any]:
    """A sentinel on processor 0 that watched longer than was measured; spans in ns of the measurement."""
    told = {"cpu": 0, "from_ns": ZERO - MS, "to_ns": ZERO + 41_000 * MS, "period_ns": MS, "late_ns": 100_000}
    return told | {"missed": 0, "spans_ns": [[ZERO + at for at in span] for span in spans]} | changes


def away(*spans: tuple[int, int], **changes: Any) -> dict[str, Any]:
    return {"idle_ns": 20_000, "call_ns": 200_000, "missed": 0, "spans_ns": list(spans)} | changes


def result(*threads: dict[str, Any], **changes: Any) -> dict[str, Any]:
    host = {"throttled": {"periods": 0}}
    told = {"measured_from_ns": ZERO, "achieved_per_s": 25_000.0, "host": host}
    return told | {"threads": [{"away": one} for one in threads or (away(),)]} | changes


def record(*sentinels: dict[str, Any], **changes: Any) -> dict[str, Any]:
    told = {"server_cpu_share": 0.5, "target": {"cpus": [0]}, "sentinel": list(sentinels or (watched(),))}
    return told | changes


def isolated(
    of: dict[str, Any] | None = None,
    results: list[Any] | None = None,
    requests: RequestTimes | None = None,
    **changes: Any,
) -> RunIsolated | None:
    plan = PLAN.model_copy(update=changes)
    nothing = np.empty(0, np.int64)
    read = lambda _folder, _index: requests or RequestTimes(nothing, nothing, nothing)  # noqa: E731
    return run_isolated(Path("run"), of or record(), results or [result()], plan, RAW, ALONE, read)


FAULT = {"code": "needs-root", "fault": "Operation not permitted", "hint": "run as root"}


def test_without_an_interruption_isolated_is_raw_to_the_bit_and_no_request_is_read():
    found = isolated()
    assert found is not None
    assert found.values == {name: RAW[name] for name in PLAN.labels}
    assert [found.intervals["p99"].low, found.intervals["p99"].high] == [0.9 * 90.0, 1.1 * 90.0]
    assert (found.taken, found.counted, found.interruptions, found.refused) == (0.0, 1.0, 0, None)
    assert found.seen_us == 1_100.0
    assert find_refusal([found]) is None


def test_interruptions_of_server_and_client_are_put_together_and_both_at_once_is_one():
    known = find_interference(
        record(watched((10 * MS, 11 * MS, 14 * MS))),
        [result(away((12 * MS, 13 * MS)), away((20 * MS, 21 * MS)))],
        PLAN,
    )
    assert not isinstance(known, Refusal)
    assert [known.interruptions.on.tolist(), known.interruptions.off.tolist()] == [
        [10 * MS, 20 * MS],
        [14 * MS, 21 * MS],
    ]
    # The likeliest begin is half-way between the last sign of life and the waking that was due.
    assert known.taken == pytest.approx((3.5 + 1.0) / 40_000)
    assert known.from_server == pytest.approx(3.0 / 40_000), "how late it woke is sure"
    assert known.sources == ("sentinel", "spin gaps")


def test_of_clients_that_sleep_the_sentinel_alone_says_something():
    known = find_interference(
        record(), [result(away((12 * MS, 13 * MS), missed=3))], PLAN.model_copy(update={"pacing": "sleep"})
    )
    assert not isinstance(known, Refusal)
    assert not len(known.interruptions)
    assert known.sources == ("sentinel",)


def test_a_run_that_was_stolen_from_says_what_it_would_have_been():
    """5 % in spells of 3 ms: raw p99 is 20 times the truth."""
    run = simulate(World("exponential", 0.5, 0.05, 3.0), 800_000, seed=7)
    begin = run.scheduled[0]
    spans = [(int(on - begin), int(off - begin)) for on, off in zip(run.on, run.off, strict=True)]
    used = record(server_cpu_share=0.5 * (1.0 - 0.05))
    found = isolated(
        used,
        [result(away(*spans))],
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
    ("code", "values", "given"),
    [
        ("closed-loop", {}, {"loop": "closed"}),
        ("shared-cpus", {}, {"client_cpus": ((0, 1),)}),
        ("shared-cpus", {}, {"client_cpus": ((),)}),
        ("unknown-server-cpus", {}, {"of": record(target={"cpus": None})}),
        ("no-sentinel", {"code": "needs-root"}, {"of": record(sentinel=FAULT)}),
        ("no-sentinel", {}, {"of": record(sentinel=[])}),
        ("clock-mismatch", {"cpu": 0}, {"of": record(watched(from_ns=ZERO + MS))}),
        ("clock-mismatch", {"cpu": 0}, {"of": record(watched(to_ns=ZERO + 39_000 * MS))}),
        ("too-many-interruptions", {"missed": 9, "seen": 1}, {"results": [result(away((0, MS), missed=9))]}),
        ("throttled", {"periods": 4}, {"results": [result(host={"throttled": {"periods": 4}})]}),
        ("cpu-neighbors", {"share": pytest.approx(0.2)}, {"of": record(server_busy_share=0.7)}),
        ("unknown-cpu-time", {}, {"of": record(watched((0, MS, 3 * MS)), server_cpu_share=None)}),
        ("no-requests", {}, {"of": record(watched((0, MS, 3 * MS)))}),
    ],
)
def test_what_cannot_be_known_is_refused_with_the_reason_and_what_would_help(
    code: str, values: dict[str, Any], given: dict[str, Any]
) -> None:
    found = isolated(**given)
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
def test_what_statistics_refuse_is_told_with_its_figures(code, share, spans):
    found = isolated(record(server_cpu_share=share), [result(away(*spans))], requests())
    assert found is not None
    assert found.refused is not None
    assert found.refused.code == code
    assert found.interruptions == len(spans)
    assert found.taken > 0.0


SPANS = [(k * 100 * MS, k * 100 * MS + 10 * MS) for k in range(400)]
LATE = watched(*((on, on, off) for on, off in SPANS))
"""A tenth of the time, taken from a client or from the server."""


@each_row(
    ("of", "results", "share"),
    [
        (record(server_busy_share=0.54), None, None),
        (record(LATE, server_busy_share=0.62), None, None),
        (
            record(server_busy_share=0.62),
            [result(away(*SPANS))],
            0.12,
        ),  # the client's CPU is not the server's
        (record(LATE, server_busy_share=0.62, server_steal_share=0.1), None, 0.12),  # steal is not use
    ],
)
def test_neighbours_are_who_uses_the_servers_cpus_beside_it_and_whom_the_sentinel_lets_wait(
    of, results, share
):
    found = isolated(of, results, requests())
    assert found is not None
    told = found.refused if found.refused is not None and found.refused.code == "cpu-neighbors" else None
    assert (told.values if told else None) == (None if share is None else {"share": pytest.approx(share)})


DOUBTS = [[ZERO + at * MS, ZERO + (at + 1) * MS, ZERO + (at + 4) * MS] for at in range(10, 39_000, 400)]
"""Waits of a sentinel without real-time priority, 3 ms each, .8 % of the time."""


def doubtful(slow_ms: float) -> RunIsolated:
    """Requests of 1 ms, those due in one of the waits slower; no theft is sure, so that calm is as measured."""
    times = requests(4_000)
    times.scheduled[:] = times.scheduled // 4
    slow = np.isin(times.scheduled // MS % 400, range(10, 14))
    times.completed[:] = times.scheduled + np.where(slow, int(slow_ms * MS), MS)
    raw = {name: 1e3 * slow_ms if name in ("p99", "p99.9") else 1_000.0 for name in RAW}
    read = lambda _folder, _index: times  # noqa: E731
    found = run_isolated(Path("run"), record(watched(unsure_ns=DOUBTS)), [result()], PLAN, raw, ALONE, read)
    assert found is not None
    return found


def test_where_it_hardly_matters_which_waits_were_interruptions_isolated_latency_is_that_without_them():
    found = doubtful(slow_ms=1.05)
    assert found.refused is None
    assert (found.values["p50"], found.values["p99"], found.taken) == (1_000.0, 1_050.0, 0.0)


def test_where_it_matters_isolated_latency_is_refused_with_both_and_what_would_help():
    found = doubtful(slow_ms=50.0)
    assert found.refused is not None
    assert (found.refused.code, found.values) == ("uncertain-interference", {})
    told = found.refused.values
    assert (told["name"], told["least_us"], told["most_us"]) == ("p99", 50_000.0, 1_000.0)
    assert "CAP_SYS_NICE" in found.refused.need


def test_interruptions_that_are_sure_are_taken_out_whatever_is_unsure_beside_them():
    spans = [(at * MS, (at + 1) * MS, (at + 3) * MS) for at in range(210, 39_000, 400)]
    known = find_interference(record(watched(*spans, unsure_ns=DOUBTS)), [result()], PLAN)
    assert not isinstance(known, Refusal)
    assert known.doubted is not None
    assert (len(known.interruptions), len(known.doubted)) == (len(spans), len(spans) + len(DOUBTS))
    assert known.unsure == pytest.approx(len(DOUBTS) * 4 / 40_000)


def test_of_a_study_from_before_nothing_is_said():
    assert isolated(results=[result() | {"threads": [{}]}]) is None


def test_too_few_spells_and_interruptions_that_follow_the_server_are_told_by_all_runs_together():
    def run(spells: int, onsets: Onsets) -> RunIsolated:
        return RunIsolated(values={"p50": 20.0}, interruptions=spells, spells=spells, onsets=(onsets,))

    random = np.random.default_rng(1)
    alike = Onsets(random.poisson(1.0, (20, 21)).astype(float), random.random((20, 21)))
    one = find_refusal([run(20, alike)])
    assert one is not None
    assert one.code == "few-quiet-spells"
    assert find_refusal([run(20, alike), run(20, alike)]) is None
    follows = Onsets(alike.flying.copy(), alike.busy)
    follows.flying[:, 0] += 3.0
    two = find_refusal([run(20, follows), run(20, follows)])
    assert two is not None
    assert two.code == "dependent-interruptions"
    assert two.values["p"] < 0.05


def test_a_client_that_is_late_of_itself_is_told_and_one_whose_processor_was_taken_is_not():
    spans = [(k * 40 * MS + 2 * MS, k * 40 * MS + 5 * MS) for k in range(0, 1000, 25)]
    times = requests()
    assert isolated(results=[result(away(*spans))], requests=times).late == ()
    times.sent[:] += 300_000  # of 1 ms
    assert isolated(results=[result(away(*spans))], requests=times).late == PLAN.labels


def test_one_that_never_came_is_infinitely_late_and_no_time_is_made_up():
    times = requests()
    times.completed[::10] = NEVER
    found = isolated(record(watched((0, MS, 3 * MS))), requests=times)
    assert found is not None
    assert found.values["p99"] == float("inf")
    assert found.values["p50"] == 1_000.0


@each_row(("isolated", "runs", "counts"), [(4, 4, True), (4, 8, True), (4, 9, False), (0, 1, False)])
def test_runs_that_are_set_aside_are_not_in_vain_where_isolated_latency_counts_most(isolated, runs, counts):
    known = [RunIsolated(values={"p50": 20.0}) for _ in range(isolated)]
    assert Procedure._isolated_counts(known, runs) is counts
