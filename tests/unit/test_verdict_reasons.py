"""Reasons of the verdict: limits and severity."""

import pytest
from evidence import (
    INFINITE,
    LABELS,
    by_stage,
    client,
    evidence,
    host,
    neighbour,
    reasons,
    run,
    ten,
    thread,
)
from hypothesis import given
from hypothesis import strategies as st
from rows import each_row

from hindmost.core.codes import CODES
from hindmost.core.run import limits
from hindmost.core.run.verdict import Cause, headline, judge, of_label, overall
from hindmost.stats import Decision, Ownership, middle_interval


def levels(code, **given):
    result = reasons(**given)
    return result[code].level if code in result else None


def late_runs(share, latency=1000.0):
    """Return ten runs with `share` of p99 from late sending."""
    return ten(latency={"p99": latency}, service={"p99": latency * (1.0 - share)})


def busy_runs(share):
    return ten(clients=lambda: [client(0, busy=share), client(1)])


def runs_with_counts(**counts):
    return ten(counts=counts)


def test_a_good_measurement_has_no_reason():
    assert judge(evidence()) == []
    assert overall([]) == "valid"


@each_row(
    ("share", "latency", "level"),
    [
        (0.099, 1000.0, None),
        (0.101, 1000.0, "invalid"),
        (0.9, 1000.0, "invalid"),
        (0.9, 5.0, None),  # below the noise of a quiet host
        (0.9, 6.0, "invalid"),
        (0.0, 1000.0, None),
    ],
)
def test_late_sending_above_a_tenth_makes_a_percentile_invalid(share, latency, level):
    assert levels("late-sends", runs=late_runs(share, latency)) == level


def test_late_sending_affects_only_the_percentiles_it_reaches():
    result = judge(evidence(runs=late_runs(0.5)))
    assert result[0].labels == ("p99",)
    assert [of_label(result, name) for name in LABELS] == ["valid", "valid", "invalid", "valid"]


def test_late_sending_is_ignored_in_a_closed_loop():
    assert "late-sends" not in reasons(runs=late_runs(0.5), plan={"loop": "closed"})


@each_row(
    ("given", "cause", "hint"),
    [
        ({"clients": lambda: [client(busy=0.6)]}, {"cause": "client-busy", "busy": 0.6}, "--rate"),
        ({}, {"cause": "interference"}, "hindmost host doctor"),
        (
            {"clients": lambda: [client(threads=[thread(late=by_stage(writing=300, reading=90))])]},
            {"cause": "writing", "stage_share": pytest.approx(300 / 390)},
            "--clients 3",
        ),
        (
            {"clients": lambda: [client(threads=[thread(late=by_stage(reading=90, waiting=10))])]},
            {"cause": "reading", "stage_share": pytest.approx(0.9)},
            "--clients 3",
        ),
        (
            {"clients": lambda: [client(threads=[thread(late=by_stage(writing=10, waiting=90))])]},
            {"cause": "interference"},
            "hindmost host doctor",
        ),
        (
            {
                "clients": lambda: [
                    client(
                        threads=[thread(delay_ns=200_000_000, switches=9)],
                        host=host(neighbours={"named": [neighbour("rustc")], "more": 0, "forks": 0}),
                    )
                ]
            },
            {"cause": "interference", "programs": pytest.approx(0.02), "name": "rustc", "pid": 77},
            "ps -o pid,psr,pcpu,args -p 77",
        ),
    ],
    ids=["busy", "host", "own writes", "own reads", "processor away", "other processes"],
)
def test_late_sending_names_its_cause(given, cause, hint):
    reason = reasons(runs=ten(latency={"p99": 1000.0}, service={"p99": 100.0}, **given))["late-sends"]
    assert {name: reason.values[name] for name in cause} == cause
    assert hint in reason.hint


def test_sleeping_clients_cause_late_sending():
    reason = reasons(runs=late_runs(0.5), plan={"pacing": "sleep"})["late-sends"]
    assert reason.values["cause"] == "sleeping-clients"


@each_row(
    ("share", "level"), [(0.5, None), (0.51, "note"), (0.80, "note"), (0.81, "invalid"), (1.0, "invalid")]
)
def test_a_busy_client_is_a_warning_then_invalid(share, level):
    assert levels("client-busy", runs=busy_runs(share)) == level


def test_more_clients_are_suggested_only_if_they_can_spin():
    assert "--clients 3" in reasons(runs=busy_runs(0.9))["client-busy"].hint
    assert "--clients" not in reasons(runs=busy_runs(0.9), plan={"pacing": "sleep"})["client-busy"].hint


@each_row(
    ("completed", "level"),
    [(100_000, None), (99_001, None), (98_999, "inconclusive"), (101_000, None), (0, "inconclusive")],
)
def test_a_missed_rate_is_inconclusive_above_one_percent(completed, level):
    runs = runs_with_counts(completed=completed, timeouts=100_000 - completed if completed < 100_000 else 0)
    assert levels("rate-not-reached", runs=runs) == level


def test_few_requests_can_miss_the_rate_by_chance():
    plan = {"rate_per_s": 10.0}  # 10 runs of 10 s: 1000 requests, 4 sigma is 12.6 %
    assert levels("rate-not-reached", runs=runs_with_counts(scheduled=88, completed=88), plan=plan) is None
    assert (
        levels("rate-not-reached", runs=runs_with_counts(scheduled=87, completed=87), plan=plan)
        == "inconclusive"
    )
    fixed = plan | {"arrivals": "deterministic"}
    assert (
        levels("rate-not-reached", runs=runs_with_counts(scheduled=98, completed=98), plan=fixed)
        == "inconclusive"
    )


def test_a_plan_without_a_rate_cannot_miss_it():
    assert "rate-not-reached" not in reasons(
        runs=runs_with_counts(completed=5, scheduled=5), plan={"rate_per_s": None}
    )


def test_unanswered_requests_affect_the_percentiles_they_reach():
    runs = [run(n, counts={"completed": 99_998, "timeouts": 1, "unsent": 1}) for n in range(1, 11)]
    reason = reasons(runs=runs)["unanswered"]
    assert (reason.level, reason.values["infinite"]) == ("note", [])
    assert (reason.values["timeouts"], reason.values["unsent"]) == (10, 10)
    runs[3] = run(4, latency={"p99.9": INFINITE}, counts={"completed": 99_000, "timeouts": 1000})
    assert reasons(runs=runs)["unanswered"].values["infinite"] == ["p99.9"]
    assert "unanswered" not in reasons()


@each_row(("errors", "level"), [(0, None), (1, "note"), (1000, "note"), (1001, "inconclusive")])
def test_errors_are_a_warning_and_inconclusive_above_one_percent(errors, level):
    assert levels("errors", runs=runs_with_counts(completed=100_000 - errors, errors=errors)) == level


def test_errors_quote_the_server():
    runs = ten(
        counts={"completed": 99_000, "errors": 1000},
        clients=lambda: [client(0), client(1, first_error="SERVER_ERROR out of memory")],
    )
    assert reasons(runs=runs)["errors"].values["first_error"] == "SERVER_ERROR out of memory"


@each_row(("misses", "level"), [(0, None), (1000, None), (1001, "note")])
def test_misses_are_noted_above_one_percent(misses, level):
    assert levels("misses", runs=runs_with_counts(misses=misses)) == level


@each_row(("empty", "level"), [(0, None), (1, "note")])
def test_replies_without_a_message_are_noted(empty, level):
    messages = {"replies": 99, "messages": 990, "empty": empty}
    runs = ten(clients=lambda: [client(0, messages=messages), client(1, messages=messages)])
    assert levels("empty-replies", runs=runs) == level
    if level:
        assert reasons(runs=runs)["empty-replies"].values == {"count": 20, "share": pytest.approx(0.01)}


@each_row(("cut_off", "level"), [(0, None), (1, None), (2, "note")])
def test_sessions_that_the_end_cuts_off_are_noted_above_one_percent(cut_off, level):
    sessions = {"begun": 100, "completed": 100 - cut_off, "failed": 0, "cut_off": cut_off}
    runs = ten(clients=lambda: [client(0, sessions=sessions), client(1, sessions=sessions)])
    assert levels("cut-sessions", runs=runs) == level
    if level:
        assert reasons(runs=runs)["cut-sessions"].values == {"count": 40, "share": pytest.approx(0.02)}


def test_a_wide_interval_is_inconclusive_for_its_percentiles():
    runs = [run(n, latency={"p99.9": 50.0 + 40.0 * (n % 3)}) for n in range(1, 11)]
    wide = Decision(True, False, "p99.9 is known to ±60 % after 10 runs", None, 10, "p99.9", 0.6)
    reason = reasons(runs=runs, decision=wide)["wide-intervals"]
    assert (reason.level, reason.labels) == ("inconclusive", ("p99.9",))


@each_row(
    ("half_width", "hint"),
    [
        (0.06, "`hindmost measure --resume STUDY --runs 10..22`"),
        (0.12, "`hindmost measure --resume STUDY --runs 10..87`"),
        # The hint never suggests unlimited runs; it names the precision that this host allows, if any.
        (0.6, "`hindmost measure --resume STUDY --runs 10..100 --precision 23%`"),
        (3.0, "`hindmost host doctor`"),
        (INFINITE, "`hindmost measure --resume STUDY --runs 10..20`"),
    ],
)
def test_the_hint_suggests_only_a_possible_number_of_runs(half_width, hint):
    wide = Decision(True, False, "too wide", None, 10, "p99", half_width)
    assert hint in reasons(decision=wide)["wide-intervals"].hint


def test_one_run_is_inconclusive():
    alone = Decision(True, False, "one run carries no interval", None, 1, "p99", INFINITE)
    result = judge(evidence(runs=[run(1)], decision=alone))
    assert {of_label(result, name) for name in (*LABELS, "mean")} == {"inconclusive"}


@each_row(
    ("samples", "level"), [(200_000, None), (199_000, "note"), (20_001, "note"), (19_000, "inconclusive")]
)
def test_few_requests_above_a_percentile_are_a_warning_then_inconclusive(samples, level):
    runs = ten(clients=lambda: [client(0, samples=samples), client(1)])
    result = [r.level for r in judge(evidence(runs=runs)) if r.code == "few-samples" and "p99.9" in r.labels]
    assert result == ([level] if level else [])


def test_few_samples_suggest_a_sufficient_duration():
    runs = ten(clients=lambda: [client(0, samples=100_000)])
    reason = reasons(runs=runs)["few-samples"]
    assert (reason.values["name"], reason.values["duration_s"]) == ("p99.9", 20)
    assert "--duration 20s" in reason.hint


@each_row(("never", "level"), [(0, None), (1, "note"), (5, "note"), (6, "inconclusive")])
def test_a_majority_of_unsteady_runs_is_inconclusive(never, level):
    runs = [
        run(n, clients=[client(warmup_ended="never_steady" if n <= never else "steady")])
        for n in range(1, 11)
    ]
    assert levels("not-steady", runs=runs) == level
    assert levels("not-steady", runs=runs, plan={"warmup": 2.0}) is None


@each_row(("above", "level"), [(0, None), (5000, None), (5001, "note")])
def test_latencies_above_the_calibrated_range_are_noted(above, level):
    runs = ten(clients=lambda: [client(calibration={"above": above})])
    assert levels("above-calibration", runs=runs) == level


@pytest.mark.parametrize(
    ("steal", "level"), [(0.0, None), (None, None), (0.001, None), (0.002, "note"), (0.011, "inconclusive")]
)
@pytest.mark.parametrize("where", ["client", "server"])
def test_steal_time_is_a_warning_then_inconclusive(steal, level, where):
    if where == "client":
        runs = ten(clients=lambda: [client(steal_share=steal)])
    else:
        runs = ten(record={"server_steal_share": steal})
    assert levels("steal-time", runs=runs) == level


@each_row(("mark", "level"), [("fine", None), ("note", None), ("unfit", "inconclusive")])
def test_an_unfit_host_is_inconclusive(mark, level):
    finding = {"id": "noise_floor", "title": "Noise floor", "value": "61 %", "mark": mark, "why": "too much"}
    assert levels("noisy-host", findings=[finding]) == level
    assert levels("host-setting", findings=[finding | {"id": "clocksource"}]) == level


def test_two_states_of_the_server_are_reported():
    values = [50.0, 90.0, 50.2, 89.8, 50.1, 90.1, 49.9, 90.2, 50.0, 50.1]
    runs = [run(n, latency={"p99": value}) for n, value in enumerate(values, 1)]
    reason = reasons(runs=runs)["two-states"]
    assert (reason.level, reason.labels) == ("note", ("p99",))


def test_a_drift_is_one_reason_for_all_its_percentiles():
    runs = [run(n, latency={"p95": 50.0 + n, "p99": 60.0 + 2 * n}) for n in range(1, 11)]
    result = [reason for reason in judge(evidence(runs=runs)) if reason.code == "drift"]
    assert [(reason.level, reason.labels) for reason in result] == [("note", ("p95", "p99"))]
    assert result[0].values["us_per_run"] == {"p95": pytest.approx(1.0), "p99": pytest.approx(2.0)}


@each_row(
    ("code", "given"),
    [
        ("not-restarted", {"target": {"managed": False, "cpus": None}}),
        ("closed-loop", {"plan": {"loop": "closed"}}),
        ("sleeping-clients", {"plan": {"pacing": "sleep"}}),
        ("dominant-client", {"owner": Ownership((0.9, 0.1), (0.5, 0.5), 0, 1e-9, 1.0, "x")}),
        ("reconnections", {"runs": [run(1, clients=[client(reconnects=3)])]}),
    ],
)
def test_the_cost_of_the_method_is_noted_without_effect_on_the_verdict(code, given):
    assert levels(code, **given) == "note"
    assert code not in reasons()


def test_the_most_severe_reason_comes_first_and_decides():
    result = judge(evidence(runs=late_runs(0.5), target={"managed": False, "cpus": None}))
    assert [reason.level for reason in result][:1] == ["invalid"]
    order = ["invalid", "inconclusive", "note"]
    assert sorted(result, key=lambda reason: order.index(reason.level)) == result
    assert overall(result) == "invalid"


def test_every_reason_has_a_known_code_and_a_hint_whose_commands_are_marked():
    spoilt = [
        evidence(runs=late_runs(0.5)),
        evidence(runs=busy_runs(0.9), plan={"pacing": "sleep"}, target={"managed": False, "cpus": None}),
        evidence(runs=runs_with_counts(completed=50_000, errors=20_000, timeouts=30_000, misses=9000)),
        evidence(plan={"loop": "closed"}),
    ]
    for reason in (reason for one in spoilt for reason in judge(one)):
        assert reason.code in CODES
        assert reason.text
        assert reason.hint
        assert reason.hint.count("`") % 2 == 0


def test_the_first_line_has_outcome_reason_and_hint():
    cause = Cause("invalid", "WHY", "DO `THIS`", ("late-sends",))
    line = headline("invalid", [cause], "FIGURES")
    assert [line.index(part) for part in ("invalid", "WHY", "DO THIS", "FIGURES")] == sorted(
        line.index(part) for part in ("invalid", "WHY", "DO THIS", "FIGURES")
    )
    assert headline("valid", [], "FIGURES") == "valid: FIGURES"


@given(
    st.lists(st.tuples(st.floats(1.0, 1e6), st.floats(0.0, 1.0)), min_size=2, max_size=14),
    st.sampled_from(["median", "mean"]),
)
def test_late_sending_is_a_share_of_the_figures_in_the_table(runs, about):
    """Late sending is given as a share of each latency in the table."""
    sample = [
        run(number, latency={"p99": us}, service={"p99": us * (1.0 - late_share)})
        for number, (us, late_share) in enumerate(runs, start=1)
    ]
    result = reasons(runs=sample, plan={"over_runs": about, "runs": (2, 30)}).get("late-sends")
    latency, service = (
        middle_interval([one.values[what]["p99"] for one in sample], about).value
        for what in ("latency", "service")
    )
    late_share = max(0.0, latency - service)
    if result is None:
        assert late_share / latency <= limits.LATENESS or late_share <= limits.LATENESS_FLOOR_US
    else:
        values = result.values
        assert (values["name"], values["late_us"], values["latency_us"]) == ("p99", late_share, latency)
        assert values["share"] == late_share / latency
