"""Reasons from the host and the network: their limits, figures and hints."""

import pytest
from evidence import client, evidence, host, neighbour, reasons, sockets, tcp, ten, thread, with_record
from msgspec import UNSET
from rows import each_row
from run_records import waiting_connections

from hindmost.core.codes import CODES
from hindmost.core.run.self_diagnosis import ROWS, self_diagnosis
from hindmost.core.run.sharing import SEPARATE_CPUS
from hindmost.core.run.verdict import judge
from hindmost.core.run.verdict.interference import measure_interference
from hindmost.core.store.manifest import StageTrace
from hindmost.core.store.measure import InterruptSource


def level(code, **given):
    result = reasons(**given)
    return result[code].level if code in result else None


def labels(code, **given):
    result = reasons(**given)
    return result[code].labels if code in result else ()


def clients_that_waited(share, each_us=100.0):
    """Return ten runs in which the client waited `share` of ten seconds, `each_us` at a time."""
    delay_ns = int(share * 10e9)
    switches = max(1, round(delay_ns / 1e3 / each_us))
    return ten(clients=lambda: [client(threads=[thread(delay_ns=delay_ns, switches=switches)])])


def clients_beside(*neighbours, **changes):
    named = {"named": list(neighbours), "more": 0, "forks": 0}
    threads = [thread(delay_ns=200_000_000, switches=2000)]
    return ten(clients=lambda: [client(threads=threads, host=host(neighbours=named, **changes))])


def clients_with_connections(**changes):
    return ten(clients=lambda: [client(threads=[thread(sockets=sockets(**changes))])])


def account_of(found):
    return self_diagnosis(found.plan, found.runs, judge(found))


def figures(found):
    return {figure.id: figure for figure in account_of(found).figures}


@each_row(
    ("share", "expected", "reached"),
    [
        (0.0, None, ()),
        (0.0001, None, ()),
        (0.00011, "note", ("p99.9",)),
        (0.001, "note", ("p99.9",)),  # p99.9 is at its limit, p99 at a tenth of its limit
        (0.0011, "inconclusive", ("p99.9",)),
        (0.011, "inconclusive", ("p99", "p99.9")),
        (0.6, "inconclusive", ("p50", "p95", "p99", "p99.9")),
    ],
)
def test_waits_for_the_processor_affect_the_percentiles_they_reach(share, expected, reached):
    runs = clients_that_waited(share)
    assert level("run-delay", runs=runs) == expected
    assert labels("run-delay", runs=runs) == reached


@each_row(
    ("each_us", "latency", "expected"),
    [
        (4.9, 20.0, None),  # as long as on a quiet host
        (5.1, 20.0, "inconclusive"),
        (49.0, 500.0, None),  # less than a tenth
        (51.0, 500.0, "inconclusive"),
    ],
)
def test_waits_much_shorter_than_the_latency_are_ignored(each_us, latency, expected):
    runs = clients_that_waited(0.02, each_us)
    for run in runs:
        run.values["latency"].update(dict.fromkeys(run.values["latency"], latency))
    assert level("run-delay", runs=runs) == expected


def test_waits_name_the_other_program_and_a_remedy():
    rustc, kernel = neighbour("rustc"), neighbour("kworker/1:1-events", kernel=True, on_cpu_ns=5, pid=9)
    reason = reasons(runs=clients_beside(kernel, rustc))["run-delay"]
    assert [
        (neighbor["name"], neighbor["pid"], neighbor["share"]) for neighbor in reason.values["neighbors"]
    ] == [
        ("rustc", 77, 0.01),
        ("kworker/1:1", 9, pytest.approx(0.0, abs=1e-9)),
    ]
    assert reason.values["share"] == pytest.approx(0.02)
    assert "`ps -o pid,psr,pcpu,args -p 77`" in reason.hint


def test_a_server_on_the_clients_processor_is_reported_beside_a_busier_program():
    rustc, server = neighbour("rustc"), neighbour("memcached", pid=5, on_cpu_ns=90_000_000)

    def beside_server(*neighbours):
        return with_record(clients_beside(*neighbours), server_process="memcached", server_pids=[5])

    hint = reasons(runs=beside_server(rustc, server))["run-delay"].hint
    assert "-p 77`" in hint
    assert SEPARATE_CPUS in hint
    server["on_cpu_ns"] = 1_000  # it ran only briefly
    assert SEPARATE_CPUS not in reasons(runs=beside_server(rustc, server))["run-delay"].hint


def test_waits_for_the_trace_of_the_run_suggest_stopping_no_program():
    runs = clients_beside(neighbour("hindmost-trace", process="hindmost"))
    assert "-p 77`" in reasons(runs=runs)["run-delay"].hint  # the trace of another user is another program
    runs = with_record(runs, trace=StageTrace(file="trace.json"))
    reason = reasons(runs=runs)["run-delay"]
    assert [(neighbor["name"], neighbor["tracer"]) for neighbor in reason.values["neighbors"]] == [
        ("hindmost/hindmost-trace", True)
    ]
    assert "--trace" in reason.hint
    assert "-p 77`" not in reason.hint
    assert measure_interference(evidence(runs=runs)).top is None


def test_a_busy_program_beside_the_trace_is_reported():
    tracer, rustc = neighbour("hindmost-trace", pid=5), neighbour("rustc", on_cpu_ns=90_000_000)
    runs = with_record(clients_beside(tracer, rustc), trace=StageTrace(file="trace.json"))
    hint = reasons(runs=runs)["run-delay"].hint
    assert "--trace" in hint
    assert "-p 77`" in hint


def test_waits_for_kernel_threads_suggest_stopping_no_program():
    reason = reasons(runs=clients_beside(neighbour("ksoftirqd/1", kernel=True)))["run-delay"]
    assert [(neighbor["name"], neighbor["kernel"]) for neighbor in reason.values["neighbors"]] == [
        ("ksoftirqd/1", True)
    ]
    assert "isolcpus" in reason.hint


def test_the_busiest_kernel_thread_is_named():
    kernel = neighbour("ksoftirqd/1", kernel=True, pid=9, on_cpu_ns=180_000_000)
    small = neighbour("rustc", on_cpu_ns=28_000_000)
    runs = clients_beside(small, kernel)
    assert measure_interference(evidence(runs=runs)).top.name == "ksoftirqd/1"
    hint = reasons(runs=runs)["run-delay"].hint
    assert "isolcpus" in hint
    assert "-p 77`" not in hint
    small["on_cpu_ns"] = 90_000_000
    assert "-p 77`" in reasons(runs=clients_beside(small, kernel))["run-delay"].hint


def test_waits_for_an_unknown_program_say_so():
    reason = reasons(runs=clients_beside())["run-delay"]
    assert reason.values["neighbors"] == []
    assert "top -H" in reason.hint


def test_a_thread_that_could_run_elsewhere_has_an_upper_bound():
    roaming = neighbour("lto", process="rustc", bound=False)
    (one,) = reasons(runs=clients_beside(roaming))["run-delay"].values["neighbors"]
    assert (one["name"], one["share"], one["bound"]) == ("rustc/lto", 0.01, False)


@each_row(("per_s", "expected"), [(0, None), (100, None), (101, "note"), (5000, "note")])
def test_forced_switches_are_noted_above_100_per_second(per_s, expected):
    runs = ten(clients=lambda: [client(threads=[thread(switches=10 * per_s)])])
    assert level("context-switches", runs=runs) == expected
    assert level("context-switches", runs=runs, plan={"pacing": "sleep"}) is None


@each_row(
    ("periods", "expected"), [(None, None), (0, None), (1, "note"), (2, "inconclusive"), (90, "inconclusive")]
)
def test_throttling_of_the_client_is_a_warning_then_inconclusive(periods, expected):
    # 10 s have 100 periods of 100 ms; the limit is one period.
    quota = None if periods is None else {"periods": periods, "period_us": 100_000}
    runs = ten(clients=lambda: [client(host=host(throttled=quota))])
    assert level("throttled", runs=runs) == expected


@each_row(("per_s", "expected"), [(250, None), (2000, None), (2001, "note")])
def test_interrupts_are_noted_above_2000_per_second(per_s, expected):
    hits = [{"source": "virtio3-rx", "count": per_s * 10}]
    span = {"hard": hits, "hard_total": per_s * 10, "soft": []}
    runs = ten(clients=lambda: [client(host=host(interrupts=span))])
    assert level("interrupts", runs=runs) == expected
    if expected:
        reason = reasons(runs=runs)["interrupts"]
        assert reason.values["sources"] == {"virtio3-rx": 2001.0}
        assert "'virtio3-rx' /proc/interrupts" in reason.hint


@each_row(
    ("again", "expected", "reached"),
    [
        (0, None, ()),
        (1, "note", ()),
        (100, "note", ()),  # one in a thousand of 100,000 requests: p99.9 is at its limit
        (101, "inconclusive", ("p99.9",)),
        (1001, "inconclusive", ("p99", "p99.9")),
    ],
)
def test_retransmissions_are_a_warning_then_inconclusive(again, expected, reached):
    runs = clients_with_connections(retransmits=again)
    assert level("retransmissions", runs=runs) == expected
    assert labels("retransmissions", runs=runs) == reached


@pytest.mark.parametrize("where", ["our namespace", "the server's namespace"])
@pytest.mark.parametrize(("again", "expected"), [(0, None), (1, "note"), (1001, "note")])
def test_retransmissions_of_other_programs_are_at_most_a_warning(again, expected, where):
    if where == "our namespace":
        runs = ten(clients=lambda: [client(tcp=tcp(retransmits=again))])
    else:
        runs = ten(record={"server_tcp": tcp(retransmits=again)})
    assert level("retransmissions", runs=runs) is None
    assert level("other-retransmissions", runs=runs) == expected
    assert labels("other-retransmissions", runs=runs) == ()


def test_a_loss_with_several_counters_counts_once():
    def both():
        lossy = [thread(sockets=sockets(retransmits=2))]
        return [client(n, threads=lossy, tcp=tcp(retransmits=7)) for n in (0, 1)]

    result = reasons(runs=ten(clients=both, record={"server_tcp": tcp(retransmits=7)}))
    assert result["retransmissions"].values["segments"] == 40
    assert result["other-retransmissions"].values["segments"] == 30


@each_row(("before", "after", "expected"), [(0, 0, None), (1, 0, "note"), (0, 1, "note")])
def test_dropped_connections_are_noted(before, after, expected):
    def some():
        return [client(tcp=tcp(listen_drops=after), tcp_before=tcp(listen_drops=before))]

    assert level("dropped-connections", runs=ten(clients=some)) == expected


@each_row(("writes", "expected"), [(0, None), (1000, None), (1001, "note")])
def test_blocked_writes_are_noted_above_one_percent(writes, expected):
    assert level("server-reads-slowly", runs=clients_with_connections(blocked_writes=writes)) == expected


@each_row(("full_s", "expected"), [(0.0, None), (0.1, None), (0.11, "note")])
def test_a_full_server_is_noted_above_one_percent_of_the_time(full_s, expected):
    # Summed over 16 connections of 10 s.
    assert (
        level("server-reads-slowly", runs=clients_with_connections(peer_full_us=int(full_s * 16e6)))
        == expected
    )


@each_row(("read", "expected"), [(500, None), (65_536, None), (65_537, "note")])
def test_a_client_that_reads_late_is_noted_above_half_its_buffer(read, expected):
    assert level("client-reads-slowly", runs=clients_with_connections(largest_read_bytes=read)) == expected


@pytest.mark.parametrize(("accept", "expected"), [(0, None), (1, "note")])
def test_unaccepted_connections_are_noted(accept, expected):
    runs = ten(record={"server_queues": waiting_connections(accept)})
    assert level("accept-queue", runs=runs) == expected


def test_a_run_of_an_older_engine_is_judged_by_its_fields():
    def old():
        worker = {"cpu": 1, "busy_share": 0.3, "cpu_share": 1.0}
        return [client(threads=[worker], tcp=None, tcp_before=UNSET, host=UNSET)]

    result = evidence(runs=ten(clients=old))
    assert judge(result) == []
    assert {name for name, figure in figures(result).items() if figure.value is None} == {
        "waiting",
        "switches",
        "throttled",
        "interrupts",
        "blocked",
        "peer_full",
        "receive_fill",
        "own_send_delay",
        "late_writing",
        "late_reading",
        "late_waiting",
        "retransmitted",
    }


def test_every_reason_has_a_known_code_and_a_command_as_hint():
    spoilt = [
        clients_beside(neighbour("rustc")),
        clients_beside(neighbour("kworker/1:1", kernel=True)),
        clients_with_connections(
            blocked_writes=99_999, peer_full_us=10**9, retransmits=9000, largest_read_bytes=10**6
        ),
        ten(record={"server_queues": waiting_connections(3), "server_tcp": tcp(listen_drops=3)}),
        ten(clients=lambda: [client(host=host(throttled={"periods": 50, "period_us": 100_000}))]),
    ]
    for reason in (reason for runs in spoilt for reason in judge(evidence(runs=runs))):
        assert reason.code in CODES
        assert reason.hint.count("`") >= 2
        assert reason.hint.count("`") % 2 == 0


def test_the_account_marks_only_findings_of_the_verdict():
    quiet = figures(evidence())
    assert set(quiet) == {row.id for row in ROWS}
    assert {one.mark for one in quiet.values()} == {"fine"}
    waits = figures(evidence(runs=clients_that_waited(0.02)))
    assert {name: wait.mark for name, wait in waits.items() if wait.mark != "fine"} == {
        "waiting": "unfit",
        "switches": "note",
    }
    assert waits["waiting"].value == pytest.approx(0.02)
    assert waits["waiting"].grave_above == pytest.approx(0.001)
    assert figures(evidence(runs=clients_that_waited(0.02, 4.0)))["waiting"].mark == "fine"


def test_the_account_names_other_programs_and_users():
    result = account_of(evidence(runs=clients_beside(neighbour("a"), neighbour("b", on_cpu_ns=9 * 10**8))))
    assert [(one.name, one.share) for one in result.neighbours] == [("b", 0.09), ("a", 0.01)]
    assert result.interrupts == [InterruptSource(source="Local timer interrupts", per_s=250.0)]
