"""``--quick``: its settings, what contradicts it, and the notes about its limits."""

from evidence import evidence, run
from messages import raises
from rows import each_row

from hindmost.core.run.request import MeasureRequest
from hindmost.core.run.request.quick import FREE, RUNS, SETTINGS
from hindmost.core.run.verdict import causes, headline, judge, overall
from hindmost.errors import UsageError
from hindmost.stats import Decision

WIDE = Decision(True, False, "p99 is known to ±40 %", None, 3, "p99", 0.4)
CONTRADICTIONS = {"runs": "5", "duration": "3s", "warmup": "auto", "remake": "50%"}


def test_quick_makes_three_short_runs_without_a_precision():
    plan = MeasureRequest(target="synth", quick=True).plan()
    assert (plan.quick, plan.runs, plan.duration_s, plan.warmup, plan.remake) == (
        True,
        (RUNS, RUNS),
        2.0,
        1.0,
        0.0,
    )
    assert plan.labels == ("p50", "p95", "p99")
    assert plan.middle == "median", "it promises no interval"


def test_percentiles_and_load_can_be_given_with_quick():
    plan = MeasureRequest(target="synth", quick=True, quantiles="50,99.9", rate="30k").plan()
    assert (plan.labels, plan.rate_per_s) == (("p50", "p99.9"), 30_000.0)


@each_row("name", sorted(set(SETTINGS) - set(FREE)))
def test_options_that_quick_decides_are_refused(name):
    with raises(UsageError, "conflicting-options", options=[f"--{name}", "--quick"]):
        MeasureRequest(target="synth", quick=True, **{name: CONTRADICTIONS[name]}).plan()


def quick_evidence(decision=WIDE):
    runs = [run(n) for n in (1, 2, 3)]
    return evidence(plan={"quick": True, "runs": (3, 3)}, runs=runs, decision=decision)


def judge_quick(decision=WIDE):
    e = quick_evidence(decision)
    reasons = judge(e)
    return overall(reasons), causes(e, reasons)


def test_wide_intervals_of_a_quick_look_are_a_note():
    verdict, found = judge_quick()
    assert verdict == "valid"
    assert [one.codes for one in found] == [("quick-look",)]
    line = headline(verdict, found, "FIGURES")
    assert line.startswith(f"valid: FIGURES; {found[0].text}")
    assert "--quick" in line
    (reason,) = judge(quick_evidence())
    assert (reason.values["runs"], reason.values["name"], reason.values["half_width"]) == (3, "p99", 0.4)


def test_an_interrupted_quick_look_is_inconclusive():
    one_run = Decision(True, False, "one run carries no interval", None, 1, "p99", float("inf"))
    verdict, found = judge_quick(one_run)
    assert verdict == "inconclusive"
    assert ("wide-intervals",) in [one.codes for one in found]
