"""Each reason of the verdict: found where it is, not found at its limit, with the right gravity."""

import re

import pytest
from evidence import (
    INFINITE,
    LABELS,
    arrivals,
    by_stage,
    evidence,
    host,
    instance,
    neighbour,
    reasons,
    run,
    ten,
    thread,
)
from hypothesis import given
from hypothesis import strategies as st

from hindmost.plan.units import format_us
from hindmost.run import limits
from hindmost.run.verdict import Cause, headline, judge, of_label, overall
from hindmost.stats import Decision, Ownership, over_runs


def levels(code, **given):
    found = reasons(**given)
    return found[code].level if code in found else None


def late(share, latency=1000.0):
    """Ten runs of which `share` of p99 comes from late sending."""
    return ten(latency={"p99": latency}, service={"p99": latency * (1.0 - share)})


def busy(share):
    return ten(instances=lambda: [instance(0, busy=share), instance(1)])


def counted(**counts):
    return ten(counts=counts)


def test_a_good_measurement_has_no_reason():
    assert judge(evidence()) == []
    assert overall([]) == "valid"


@pytest.mark.parametrize(
    ("share", "latency", "level"),
    [
        (0.099, 1000.0, None),
        (0.101, 1000.0, "invalid"),
        (0.9, 1000.0, "invalid"),
        (0.9, 5.0, None),  # less than the noise of a quiet host
        (0.9, 6.0, "invalid"),
        (0.0, 1000.0, None),
    ],
)
def test_late_sending_makes_a_percentile_invalid_beyond_a_tenth(share, latency, level):
    assert levels("slip", runs=late(share, latency)) == level


def test_late_sending_concerns_only_the_percentiles_that_it_reaches():
    found = judge(evidence(runs=late(0.5)))
    assert found[0].labels == ("p99",)
    assert [of_label(found, name) for name in LABELS] == ["valid", "valid", "invalid", "valid"]


def test_late_sending_is_no_matter_in_a_closed_loop():
    assert "slip" not in reasons(runs=late(0.5), plan={"loop": "closed"})


@pytest.mark.parametrize(
    ("given", "cause", "hint"),
    [
        ({"instances": lambda: [instance(busy=0.6)]}, "busy 60%", "--rate"),
        ({}, "had its processor|took its processor", "hindmost doctor"),
        (
            {"instances": lambda: [instance(threads=[thread(late=by_stage(writing=300, reading=90))])]},
            "77% of the late ones fell due while others were handed to the kernel",
            "--clients 3",
        ),
        (
            {"instances": lambda: [instance(threads=[thread(late=by_stage(reading=90, waiting=10))])]},
            "90% of the late ones fell due while replies were taken",
            "--clients 3",
        ),
        (
            {"instances": lambda: [instance(threads=[thread(late=by_stage(writing=10, waiting=90))])]},
            "the host took its processor away",
            "hindmost doctor",
        ),
        (
            {
                "instances": lambda: [
                    instance(
                        threads=[thread(delay_ns=200_000_000, switches=9)],
                        host=host(neighbours={"named": [neighbour("rustc")], "more": 0, "forks": 0}),
                    )
                ]
            },
            "others had the client's processor for 2.0% of the time: there ran rustc (pid 77: 1.00%, 5 turns/s)",
            "ps -o pid,psr,pcpu,args -p 77",
        ),
    ],
    ids=["busy", "host", "own writes", "own reads", "processor away", "other processes"],
)
def test_late_sending_names_its_cause(given, cause, hint):
    reason = reasons(runs=ten(latency={"p99": 1000.0}, service={"p99": 100.0}, **given))["slip"]
    assert any(part in reason.text for part in cause.split("|"))
    assert hint in reason.hint


def test_sleeping_clients_are_a_cause_of_late_sending():
    assert "sleep" in reasons(runs=late(0.5), plan={"pacing": "sleep"})["slip"].text


@pytest.mark.parametrize(
    ("distance", "dispersion", "level"),
    [
        (0.15, 1.0, None),
        (0.16, 1.0, "mind"),
        (0.40, 1.0, "mind"),
        (0.41, 1.0, "invalid"),
        (0.05, 1.05, None),
        (0.05, 1.07, "mind"),  # beyond 5 % and three standard errors of ten runs
        (0.05, 0.90, "mind"),
        (None, 1.0, None),
    ],
)
def test_arrivals_that_are_not_as_ordered_are_minded_and_then_invalid(distance, dispersion, level):
    runs = ten(instances=lambda: [instance(arrivals=arrivals(distance, dispersion))])
    assert levels("arrivals", runs=runs) == level


def test_clumps_that_chance_can_make_are_no_matter():
    runs = ten(instances=lambda: [instance(arrivals=arrivals(0.05, 1.3, error=0.5))])
    assert levels("arrivals", runs=runs) is None
    sure = ten(instances=lambda: [instance(arrivals=arrivals(0.05, 1.3, error=0.01))])
    assert "dispersion of counts over 1ms is 1.3, not 1" in reasons(runs=sure)["arrivals"].text


@pytest.mark.parametrize(
    ("share", "level"), [(0.5, None), (0.51, "mind"), (0.80, "mind"), (0.81, "invalid"), (1.0, "invalid")]
)
def test_a_busy_client_is_minded_and_then_invalid(share, level):
    assert levels("client_busy", runs=busy(share)) == level


def test_a_busy_client_is_told_to_take_more_clients_only_where_they_could_spin():
    assert "--clients 3" in reasons(runs=busy(0.9))["client_busy"].hint
    assert "--clients" not in reasons(runs=busy(0.9), plan={"pacing": "sleep"})["client_busy"].hint


@pytest.mark.parametrize(
    ("done", "level"),
    [(100_000, None), (99_001, None), (98_999, "inconclusive"), (101_000, None), (0, "inconclusive")],
)
def test_a_rate_that_the_server_does_not_carry_is_inconclusive_beyond_one_percent(done, level):
    runs = counted(done=done, timeouts=100_000 - done if done < 100_000 else 0)
    assert levels("rate_unmet", runs=runs) == level


def test_few_requests_may_miss_the_rate_by_chance():
    plan = {"rate_per_s": 10.0}  # 10 runs of 10 s: 1000 requests, 4 sigma is 12.6 %
    assert levels("rate_unmet", runs=counted(due=88, done=88), plan=plan) is None
    assert levels("rate_unmet", runs=counted(due=87, done=87), plan=plan) == "inconclusive"
    fixed = plan | {"arrivals": "deterministic"}
    assert levels("rate_unmet", runs=counted(due=98, done=98), plan=fixed) == "inconclusive"


def test_no_rate_can_be_missed_where_none_was_asked():
    assert "rate_unmet" not in reasons(runs=counted(done=5, due=5), plan={"rate_per_s": None})


def test_unanswered_requests_are_infinitely_late_and_reach_what_they_reach():
    runs = [run(n, counts={"done": 99_998, "timeouts": 1, "unsent": 1}) for n in range(1, 11)]
    reason = reasons(runs=runs)["infinitely_late"]
    assert reason.level == "mind"
    assert "no asked quantile reaches them" in reason.text
    runs[3] = run(4, latency={"p99.9": INFINITE}, counts={"done": 99_000, "timeouts": 1000})
    assert "p99.9 reaches them" in reasons(runs=runs)["infinitely_late"].text
    assert "infinitely_late" not in reasons()


@pytest.mark.parametrize(
    ("errors", "level"), [(0, None), (1, "mind"), (1000, "mind"), (1001, "inconclusive")]
)
def test_errors_are_minded_and_inconclusive_beyond_one_percent(errors, level):
    assert levels("errors", runs=counted(done=100_000 - errors, errors=errors)) == level


def test_errors_quote_the_server():
    runs = ten(
        counts={"done": 99_000, "errors": 1000},
        instances=lambda: [instance(0), instance(1, first_error="SERVER_ERROR out of memory")],
    )
    assert "SERVER_ERROR out of memory" in reasons(runs=runs)["errors"].text


@pytest.mark.parametrize(("misses", "level"), [(0, None), (1000, None), (1001, "mind")])
def test_misses_are_worth_a_word_beyond_one_percent(misses, level):
    assert levels("misses", runs=counted(misses=misses)) == level


def test_a_wide_interval_is_inconclusive_for_the_percentiles_that_it_concerns():
    runs = [run(n, latency={"p99.9": 50.0 + 40.0 * (n % 3)}) for n in range(1, 11)]
    wide = Decision(True, False, "p99.9 is known to ±60 % after 10 runs", None, 10, "p99.9", 0.6)
    reason = reasons(runs=runs, decision=wide)["precision"]
    assert (reason.level, reason.labels) == ("inconclusive", ("p99.9",))


@pytest.mark.parametrize(
    ("half_width", "hint"),
    [
        (0.06, "`hindmost measure --resume STUDY --runs 10..22`"),
        (0.12, "`hindmost measure --resume STUDY --runs 10..87`"),
        # No hint asks for runs without end: it names the precision that this host can give.
        (
            0.6,
            "some 2,160 runs would be needed: a quieter host, lower `--quantiles`, or less precision:"
            " `hindmost measure --resume STUDY --runs 10..100 --precision 23%`",
        ),
        (3.0, "some 54,000 runs would be needed: `hindmost doctor`, or lower `--quantiles`"),
        (INFINITE, "`hindmost measure --resume STUDY --runs 10..20`"),
    ],
)
def test_the_hint_asks_for_no_more_runs_than_can_be_made(half_width, hint):
    wide = Decision(True, False, "too wide", None, 10, "p99", half_width)
    assert reasons(decision=wide)["precision"].hint == hint


def test_one_run_is_inconclusive_about_everything():
    alone = Decision(True, False, "one run carries no interval", None, 1, "p99", INFINITE)
    found = judge(evidence(runs=[run(1)], decision=alone))
    assert {of_label(found, name) for name in (*LABELS, "mean")} == {"inconclusive"}


@pytest.mark.parametrize(
    ("samples", "level"), [(200_000, None), (199_000, "mind"), (20_001, "mind"), (19_000, "inconclusive")]
)
def test_few_requests_beyond_a_percentile_are_minded_and_then_inconclusive(samples, level):
    runs = ten(instances=lambda: [instance(0, samples=samples), instance(1)])
    found = [r.level for r in judge(evidence(runs=runs)) if r.code == "few_samples" and "p99.9" in r.labels]
    assert found == ([level] if level else [])


def test_few_samples_name_a_duration_that_has_enough():
    runs = ten(instances=lambda: [instance(0, samples=100_000)])
    assert "`--duration 20s`" in reasons(runs=runs)["few_samples"].hint


@pytest.mark.parametrize(("never", "level"), [(0, None), (1, "mind"), (5, "mind"), (6, "inconclusive")])
def test_runs_that_never_got_steady_are_inconclusive_when_they_are_most(never, level):
    runs = [
        run(n, instances=[instance(warmup_ended="never_steady" if n <= never else "steady")])
        for n in range(1, 11)
    ]
    assert levels("never_steady", runs=runs) == level
    assert levels("never_steady", runs=runs, plan={"warmup": 2.0}) is None


@pytest.mark.parametrize(("above", "level"), [(0, None), (5000, None), (5001, "mind")])
def test_latencies_above_the_calibrated_range_are_worth_a_word(above, level):
    runs = ten(instances=lambda: [instance(calibration={"above": above})])
    assert levels("out_of_range", runs=runs) == level


@pytest.mark.parametrize(
    ("steal", "level"), [(0.0, None), (None, None), (0.001, None), (0.002, "mind"), (0.011, "inconclusive")]
)
@pytest.mark.parametrize("where", ["client", "server"])
def test_stolen_time_is_minded_and_then_inconclusive(steal, level, where):
    if where == "client":
        runs = ten(instances=lambda: [instance(steal_share=steal)])
    else:
        runs = ten(record={"server_steal_share": steal})
    assert levels("steal", runs=runs) == level


@pytest.mark.parametrize(("mark", "level"), [("fine", None), ("mind", None), ("unfit", "inconclusive")])
def test_an_unfit_host_is_inconclusive(mark, level):
    finding = {"id": "noise_floor", "title": "Noise floor", "value": "61 %", "mark": mark, "why": "too much"}
    assert levels("host_unfit", findings=[finding]) == level
    assert levels("host_setting", findings=[finding | {"id": "clocksource"}]) == level


def test_two_states_of_the_server_are_named():
    values = [50.0, 90.0, 50.2, 89.8, 50.1, 90.1, 49.9, 90.2, 50.0, 50.1]
    runs = [run(n, latency={"p99": value}) for n, value in enumerate(values, 1)]
    reason = reasons(runs=runs)["two_states"]
    assert (reason.level, reason.labels) == ("mind", ("p99",))


def test_a_drift_is_one_reason_that_names_every_percentile():
    runs = [run(n, latency={"p95": 50.0 + n, "p99": 60.0 + 2 * n}) for n in range(1, 11)]
    found = [reason for reason in judge(evidence(runs=runs)) if reason.code == "drift"]
    assert [(reason.level, reason.labels) for reason in found] == [("mind", ("p95", "p99"))]
    assert "p95 by 1 us a run" in found[0].text
    assert "p99 by 2 us a run" in found[0].text


@pytest.mark.parametrize(
    ("code", "given"),
    [
        ("attached", {"target": {"managed": False, "cpus": None}}),
        ("closed_loop", {"plan": {"loop": "closed"}}),
        ("sleeping", {"plan": {"pacing": "sleep"}}),
        ("owner", {"owner": Ownership((0.9, 0.1), (0.5, 0.5), 0, 1e-9, 1.0, "instance 0 owns the tail")}),
        ("reconnects", {"runs": [run(1, instances=[instance(reconnects=3)])]}),
    ],
)
def test_what_the_method_costs_is_said_and_leaves_the_verdict_alone(code, given):
    assert levels(code, **given) == "mind"
    assert code not in reasons()


def test_the_gravest_reason_comes_first_and_decides():
    found = judge(evidence(runs=late(0.5), target={"managed": False, "cpus": None}))
    assert [reason.level for reason in found][:1] == ["invalid"]
    order = ["invalid", "inconclusive", "mind"]
    assert sorted(found, key=lambda reason: order.index(reason.level)) == found
    assert overall(found) == "invalid"


def test_every_reason_has_a_text_and_a_hint():
    spoilt = [
        evidence(runs=late(0.5)),
        evidence(runs=busy(0.9), plan={"pacing": "sleep"}, target={"managed": False, "cpus": None}),
        evidence(runs=counted(done=50_000, errors=20_000, timeouts=30_000, misses=9000)),
        evidence(plan={"loop": "closed"}),
    ]
    for reason in (reason for one in spoilt for reason in judge(one)):
        assert reason.text
        assert reason.hint
        assert reason.hint.count("`") % 2 == 0


def test_the_first_line_says_outcome_why_and_what_to_do():
    cause = Cause("invalid", "requests left late", "a lower `--rate`", ("slip",))
    line = headline("invalid", [cause], "p50 31 us [30, 32] over 10 runs")
    assert line == (
        "invalid: requests left late. To do: a lower --rate. Still good: p50 31 us [30, 32] over 10 runs"
    )
    assert headline("valid", [], "p99 70 us") == "valid: p99 70 us"


@given(
    st.lists(st.tuples(st.floats(1.0, 1e6), st.floats(0.0, 1.0)), min_size=2, max_size=14),
    st.sampled_from(["median", "mean"]),
)
def test_a_percentage_of_late_sending_is_of_the_figures_that_the_table_shows(runs, about):
    """Latencies with the share of each that comes from late sending; the sentence against the table's own figures."""
    made = [
        run(number, latency={"p99": us}, service={"p99": us * (1.0 - late)})
        for number, (us, late) in enumerate(runs, start=1)
    ]
    found = reasons(runs=made, plan={"over_runs": about, "runs": (2, 30)}).get("slip")
    latency, service = (
        over_runs([one.values[what]["p99"] for one in made], about).value for what in ("latency", "service")
    )
    late = max(0.0, latency - service)
    told = re.search(r"which makes (.*) of p99, (.*) \((\d+)%", found.text) if found else None
    if told is None:
        assert late / latency <= limits.LATENESS or late <= limits.LATENESS_FLOOR_US
    else:
        assert told.groups() == (format_us(late), format_us(latency), f"{late / latency:.0%}"[:-1])
