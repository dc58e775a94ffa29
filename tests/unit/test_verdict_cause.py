"""Common causes of reasons: one line per cause, with its effects."""

import pytest
from evidence import arrivals, client, evidence, host, neighbour, run, ten, thread
from rows import each_row
from test_answer_isolated import make_isolated

from hindmost.core.notes import Note
from hindmost.core.run.exclusion import Partition
from hindmost.core.run.sharing import SEPARATE_CPUS
from hindmost.core.run.verdict import causes, headline, judge, overall

LATE = {"latency": {"p99": 1000.0}, "service": {"p99": 800.0}}
STEAL_NOTE = Note("steal-time", "the hypervisor took 3 %", {"share": 0.03})


def headline_notes(**given):
    e = evidence(**given)
    return causes(e, judge(e))


def run_with_steal(share, **given):
    """Return ten runs with this share of steal time."""
    return ten(**LATE, clients=lambda: [client(0, steal_share=share)], **given)


def test_steal_time_causes_late_sending():
    (one,) = headline_notes(runs=run_with_steal(0.03))
    assert (one.level, one.origin, set(one.codes)) == ("inconclusive", "host", {"steal-time", "late-sends"})
    assert one.values["hypervisor"] == pytest.approx(0.03)
    assert one.hint


def test_programs_beside_the_client_are_named_with_their_time():
    beside = host(neighbours={"named": [neighbour("rustc")], "more": 0, "forks": 0})
    runs = ten(
        **LATE,
        clients=lambda: [client(threads=[thread(delay_ns=200_000_000, switches=9)], host=beside)],
    )
    first = headline_notes(runs=runs)[0]
    assert first.origin == "host"
    assert (first.values["programs"], first.values["hypervisor"]) == (pytest.approx(0.02), 0.0)
    assert (first.values["name"], first.values["pid"]) == ("rustc", 77)
    assert "late-sends" in first.codes
    assert "ps -o pid,psr,pcpu,args -p 77" in (first.hint or "")


@each_row(
    ("runs", "plan"),
    [
        (run_with_steal(0.0005), {}),  # too little to affect p99
        (ten(**LATE, clients=lambda: [client(0, steal_share=0.03, busy=0.6)]), {}),
        (run_with_steal(0.03), {"pacing": "sleep"}),
        (
            run_with_steal(0.03, isolated=lambda: make_isolated(late=("p99",))),
            {},
        ),  # also late without interference
    ],
    ids=["little", "busy", "sleeping", "late without interference"],
)
def test_a_client_that_is_late_by_itself_is_the_cause(runs, plan):
    first = headline_notes(runs=runs, plan=plan)[0]
    assert (first.level, first.origin) == ("invalid", "client")
    assert "late-sends" in first.codes


def test_isolated_time_attributes_late_sending_of_a_busy_client():
    busy = [client(0, steal_share=0.03, busy=0.6)]
    first = headline_notes(runs=ten(**LATE, clients=lambda: busy, isolated=make_isolated))[0]
    assert (first.level, first.origin) == ("inconclusive", "host")


def test_excluded_runs_are_counted_with_their_cause():
    counted = ten(**LATE)[:4]
    aside = dict.fromkeys(range(5, 12), STEAL_NOTE)
    result = [*counted, *(run(number, clients=[client(0, steal_share=0.03)]) for number in aside)]
    values = headline_notes(runs=counted, made=result, partition=Partition(counted, aside, True))[0].values
    assert (values["excluded"], values["made"], values["counted"]) == (7, 11, 4)
    assert values["hypervisor"] == pytest.approx(0.03 * 7 / 11)


def test_gaps_caused_by_the_host_are_not_blamed_on_the_client():
    bent = [client(arrivals=arrivals(0.5), steal_share=0.03)]
    assert headline_notes(runs=ten(clients=lambda: bent))[0].level == "inconclusive"
    own = [client(arrivals=arrivals(0.5), steal_share=0.0)]
    assert headline_notes(runs=ten(clients=lambda: own))[0].level == "invalid"


def test_a_busy_client_has_one_line_with_its_effects():
    (one,) = headline_notes(runs=ten(**LATE, clients=lambda: [client(0, busy=0.9)]))
    assert (one.origin, set(one.codes)) == ("client", {"late-sends", "client-busy"})
    assert one.text != one.brief, "the line includes the effects"


def test_reasons_without_a_common_cause_are_separate():
    runs = ten(counts={"completed": 99_000, "errors": 1_000, "misses": 9_000})
    assert [note.codes for note in headline_notes(runs=runs, target={"managed": False, "cpus": [0]})] == [
        ("errors",),
        ("misses",),
        ("not-restarted",),
    ]


def test_the_headline_names_the_host_and_keeps_isolated_figures():
    e = evidence(runs=run_with_steal(0.03))
    reasons = judge(e)
    first, *_ = found = causes(e, reasons)
    isolated = "p99 128 us [119 us, 139 us]"
    line = headline(overall(reasons), found, "", isolated)
    assert line.startswith(f"inconclusive: {first.text}")
    assert line.index(isolated) < line.index((first.hint or "").replace("`", ""))


def test_an_overloaded_server_is_reported_before_steal_time():
    """A server below its rate comes before interference, any other server after it."""
    short = {"completed": 90_000, "timeouts": 10_000}
    first, second = headline_notes(runs=run_with_steal(0.03, counts=short))[:2]
    assert (first.origin, second.origin) == ("server", "host")
    assert "rate-not-reached" in first.codes
    failing = headline_notes(runs=run_with_steal(0.03, counts={"completed": 98_999, "errors": 1_001}))
    assert [one.codes[0] for one in failing if one.origin != "host"] == ["errors"]
    assert failing[0].codes == ("errors",)
    few = headline_notes(runs=run_with_steal(0.03, counts={"completed": 99_900, "errors": 100}))
    assert few[0].origin == "host", "one in a thousand is too few to report the server first"


def test_a_processor_shared_by_server_and_client_is_the_cause():
    """Neither the host nor the number of clients is the cause; `--clients 1` would not help."""
    plan = {"pacing": "sleep", "client_cpus": ((1,),), "clients": 1}
    e = evidence(runs=ten(**LATE), plan=plan, target={"managed": True, "cpus": [1]})
    (late,) = [one for one in judge(e) if one.code == "late-sends"]
    assert (late.values["cause"], late.values["cpus"], late.labels) == ("shared-cpus", [1], ("p99",))
    assert late.hint == SEPARATE_CPUS
