"""One cause, one line: who bent what was measured is told first, with what followed from it."""

import pytest
from evidence import arrivals, evidence, host, instance, neighbour, run, ten, thread
from test_answer_calm import stolen_from

from hindmost.run.set_aside import Parted
from hindmost.run.verdict import causes, headline, judge, overall

LATE = {"latency": {"p99": 1000.0}, "service": {"p99": 800.0}}
STOLEN = "the hypervisor took 3.00% of a processor in use"


def told(**given):
    e = evidence(**given)
    return causes(e, judge(e))


def stolen(share, **given):
    """Ten runs of which the hypervisor took a share."""
    return ten(**LATE, instances=lambda: [instance(0, steal_share=share)], **given)


def test_late_sending_follows_from_a_host_that_took_the_processor():
    found = told(runs=stolen(0.03))
    assert [one.level for one in found] == ["inconclusive"]
    assert found[0].text == (
        "the host took the processors: the hypervisor 3% of the time; so requests left late (20% of p99)"
    )
    assert set(found[0].codes) == {"steal", "slip"}
    assert "quieter" in (found[0].hint or "")


def test_programs_beside_the_client_are_named_with_what_they_took():
    beside = host(neighbours={"named": [neighbour("rustc")], "more": 0, "forks": 0})
    runs = ten(
        **LATE,
        instances=lambda: [instance(threads=[thread(delay_ns=200_000_000, switches=9)], host=beside)],
    )
    first = told(runs=runs)[0]
    assert first.text.startswith(
        "the host took the processors: other programs 2% (rustc, pid 77) of the time"
    )
    assert "requests left late (20% of p99)" in first.text
    assert "ps -o pid,psr,pcpu,args -p 77" in (first.hint or "")


@pytest.mark.parametrize(
    ("runs", "plan"),
    [
        (stolen(0.0005), {}),  # too little of it to reach p99
        (ten(**LATE, instances=lambda: [instance(0, steal_share=0.03, busy=0.6)]), {}),
        (stolen(0.03), {"pacing": "sleep"}),
        (stolen(0.03, calm=lambda: stolen_from(late=("p99",))), {}),  # late in calm time, too
    ],
    ids=["little", "busy", "sleeping", "late in calm time"],
)
def test_a_client_that_is_late_by_itself_is_told_of_itself(runs, plan):
    found = told(runs=runs, plan=plan)
    assert found[0].level == "invalid"
    assert "slip" in found[0].codes
    assert "the host took the processors" not in found[0].text


def test_calm_time_tells_whose_late_sending_it_was_even_of_a_busy_client():
    busy = [instance(0, steal_share=0.03, busy=0.6)]
    found = told(runs=ten(**LATE, instances=lambda: busy, calm=stolen_from))
    assert found[0].level == "inconclusive"
    assert found[0].text.startswith("the host took the processors")


def test_runs_that_were_set_aside_are_counted_in_the_line_of_their_cause():
    counted = ten(**LATE)[:4]
    aside = dict.fromkeys(range(5, 12), STOLEN)
    made = [*counted, *(run(number, instances=[instance(0, steal_share=0.03)]) for number in aside)]
    first = told(runs=counted, made=made, parted=Parted(counted, aside, True))[0]
    assert "7 of 11 runs are set aside for it" in first.text
    assert "the hypervisor 1.9% of the time" in first.text  # 7 of 11 runs lost 3 %


def test_gaps_that_a_host_bent_are_no_fault_of_the_client():
    bent = [instance(arrivals=arrivals(0.5), steal_share=0.03)]
    assert told(runs=ten(instances=lambda: bent))[0].level == "inconclusive"
    own = [instance(arrivals=arrivals(0.5), steal_share=0.0)]
    assert told(runs=ten(instances=lambda: own))[0].level == "invalid"


def test_a_client_too_busy_has_one_line_with_what_followed():
    runs = ten(**LATE, instances=lambda: [instance(0, busy=0.9)])
    found = told(runs=runs)
    assert len(found) == 1
    assert set(found[0].codes) == {"slip", "client_busy"}
    assert "with it, the busiest client worked 90% of the time" in found[0].text


def test_reasons_without_a_common_cause_stand_alone():
    runs = ten(counts={"done": 99_000, "errors": 1_000, "misses": 9_000})
    assert [one.codes for one in told(runs=runs, target={"managed": False, "cpus": [0]})] == [
        ("errors",),
        ("misses",),
        ("attached",),
    ]


def test_the_headline_names_the_host_and_says_that_the_calm_figures_stand():
    e = evidence(runs=stolen(0.03))
    reasons = judge(e)
    calm = "p99 128 us [119 us, 139 us], without the 3% of the time that others took"
    line = headline(overall(reasons), causes(e, reasons), "", calm)
    assert line.startswith("inconclusive: the host took the processors: the hypervisor 3%")
    assert line.index("so requests left late") < line.index("The calm figures stand: p99 128 us")
    assert line.index("The calm figures stand") < line.index("To do:")


def test_a_server_that_does_not_carry_the_rate_is_told_before_what_the_host_took():
    """It would not carry it on a calm host either; one that does carry it is not in the way."""
    short = {"done": 90_000, "timeouts": 10_000}
    first, second = told(runs=stolen(0.03, counts=short))[:2]
    assert "rate_unmet" in first.codes
    assert second.text.startswith("the host took the processors")
    carried = told(runs=stolen(0.03, counts={"done": 98_999, "errors": 1_001}))
    assert [one.text.startswith("the host took") for one in carried] == [True, False]


def test_where_server_and_client_share_a_processor_that_is_the_cause_and_quantiles_it_spares_are_left():
    """Neither the host, nor a client that should be one of several: `--clients 1` would help nothing."""
    plan = {"pacing": "sleep", "client_cpus": ((1,),), "clients": 1}
    e = evidence(runs=ten(**LATE), plan=plan, target={"managed": True, "cpus": [1]})
    (late,) = [one for one in judge(e) if one.code == "slip"]
    assert "server and client share CPU 1: while one works, the other waits" in late.text
    assert "a processor for each: a machine (or cpuset) with two" in (late.hint or "")
    assert late.labels == ("p99",)
