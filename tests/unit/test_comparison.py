"""Comparisons of stored measurements: contrasts, refusals, limits and exit codes."""

from __future__ import annotations

import fcntl
import json
import math

import pytest
from measured_studies import runs_of, write_study
from messages import raises
from rows import each_row

from hindmost.cli import main
from hindmost.commands.compare.targets import compare
from hindmost.commands.compare.targets.decision import deciding_contrasts
from hindmost.commands.compare.view.targets_table import p
from hindmost.core.plan import parse_change, parse_changes
from hindmost.core.store.estimates import encode
from hindmost.errors import StudyError, UsageError


@pytest.fixture
def pair(tmp_path):
    """Write two studies; the second has the factor and results of the test."""

    def make(factor=1.0, **more):
        first = write_study(tmp_path / "before", runs_of(1))
        return first, write_study(tmp_path / "after", runs_of(2, factor), **more)

    return make


def outcome_words(document):
    return {name: contrast.word for name, contrast in document.against[0].latency.items()}


@pytest.mark.parametrize(
    ("factor", "verdict", "word"),
    [(1.0, "same", "same"), (1.2, "different", "slower"), (0.8, "different", "faster")],
)
def test_a_known_ratio_is_found(pair, factor, verdict, word):
    comparison = compare(pair(factor))
    assert (comparison.verdict, outcome_words(comparison)) == (verdict, {"p50": word, "p99": word})
    for contrast in comparison.against[0].latency.values():
        assert contrast.ratio.low < factor < contrast.ratio.high
        assert contrast.ratio.within_low >= contrast.ratio.low
    p99 = comparison.against[0].latency["p99"].difference_us
    assert p99.low < 400.0 * (factor - 1.0) < p99.high


def test_few_runs_decide_nothing_and_say_how_many_more(tmp_path):
    comparison = compare(
        [write_study(tmp_path / name, runs_of(1, f, runs=3)) for name, f in (("a", 1.0), ("b", 1.3))]
    )
    assert comparison.verdict == "undecided"
    assert {contrast.more for contrast in comparison.against[0].latency.values()} == {1}


def test_excluded_runs_do_not_count(tmp_path):
    values = runs_of(2)
    values["p99"][3] = values["p50"][3] = 90_000.0
    comparison = compare(
        [write_study(tmp_path / "a", runs_of(1)), write_study(tmp_path / "b", values, excluded=[4])]
    )
    assert comparison.verdict == "same"
    assert 4 not in comparison.sides[1].runs
    assert (len(comparison.sides[1].runs), comparison.sides[1].made) == (9, 10)


def test_isolated_latency_is_compared_if_both_arms_have_it(tmp_path):
    isolated = {"p99": runs_of(3)["p99"]}
    slow = {"p99": runs_of(4, 1.3)["p99"]}
    a, b = (
        write_study(tmp_path / n, runs_of(i), isolated=c)
        for i, (n, c) in enumerate([("a", isolated), ("b", slow)], 1)
    )
    comparison = compare([a, b]).against[0]
    assert (comparison.latency["p99"].word, comparison.isolated["p99"].word) == ("same", "slower")
    bare = write_study(tmp_path / "bare", runs_of(5))
    assert compare([a, bare]).against[0].isolated == {}


def test_isolated_latency_decides_verdict_and_limits_unless_raw_is_asked_for(tmp_path, capsys):
    a = write_study(tmp_path / "a", runs_of(1), isolated=runs_of(3))
    b = write_study(tmp_path / "b", runs_of(2), isolated=runs_of(4, 1.2))
    found = compare([a, b], fail_if=["p99>+5%"])
    assert (found.verdict, found.against[0].decided_on) == ("different", "isolated")
    assert found.limits[0].result == "crossed"
    assert found.limits[0].value == found.against[0].isolated["p99"].ratio.value - 1.0
    raw = compare([a, b], fail_if=["p99>+5%", "isolated p99>+5%"], decide_on="raw")
    assert (raw.verdict, raw.against[0].decided_on) == ("same", "latency")
    assert [limit.result for limit in raw.limits] == ["held", "crossed"]
    assert main(["compare", str(a), str(b), "--decide-on", "raw", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["against"][0]["decided_on"] == "latency"


def test_percentiles_without_isolated_latency_are_decided_on_latency_and_the_mean_does_not_count(tmp_path):
    def arm(name, seed, factor=1.0):
        values = runs_of(seed)
        values["mean"] = [us * factor for us in runs_of(seed + 5)["p50"]]
        return write_study(tmp_path / name, values, isolated={"p50": runs_of(seed + 9)["p50"]})

    found = compare([arm("a", 1), arm("b", 2, 1.3)])
    assert found.against[0].latency["mean"].word == "slower"
    assert set(deciding_contrasts(found.against[0])) == {"p50", "p99"}
    assert found.verdict == "same"


def test_isolated_latency_that_the_instrument_distorted_is_not_compared(tmp_path):
    a = write_study(tmp_path / "a", runs_of(1), isolated=runs_of(3))
    b = write_study(tmp_path / "b", runs_of(2), isolated=runs_of(4, 1.3), verdict="invalid", reasons=INVALID)
    document = json.loads((b / "result.json").read_text())
    document["isolated"]["latency_us"]["p99"]["verdict"] = "invalid"
    (b / "result.json").write_text(json.dumps(document))
    isolated = compare([a, b]).against[0].isolated
    assert (isolated["p50"].word, isolated["p99"].word) == ("slower", "undecided")
    assert isolated["p99"].why.code == "late-sends"


def test_an_arm_with_infinite_runs_is_infinitely_slower(tmp_path):
    values = runs_of(2, 1.2)
    values["p99"] = [None] * 10
    comparison = compare([write_study(tmp_path / "a", runs_of(1)), write_study(tmp_path / "b", values)])
    p99 = comparison.against[0].latency["p99"]
    assert (p99.word, p99.ratio.value, p99.ratio.high) == ("slower", math.inf, math.inf)
    encode(comparison)
    unanswered = compare([tmp_path / "b", write_study(tmp_path / "c", values)]).against[0].latency
    assert (unanswered["p99"].word, unanswered["p50"].word) == ("undecided", "same")
    assert unanswered["p99"].why.code == "infinitely-late"


@each_row(
    ("runs", "timeouts", "expected", "result"),
    [
        (1, 1_000, ("slower", "slower"), "crossed"),  # no request was answered
        (3, 750, ("slower", "slower"), "crossed"),
        (10, 750, ("slower", "slower"), "crossed"),
        (1, 100, ("undecided", "slower"), "crossed"),  # decided for p99 only
        (10, 2, ("same", "same"), "held"),
    ],
)
def test_an_arm_that_does_not_answer_is_slower_and_crosses_the_limit(
    tmp_path, runs, timeouts, expected, result
):
    folder = tmp_path / f"{runs}-{timeouts}"
    late = {"p50": timeouts >= 500, "p99": timeouts >= 10}
    values = {
        name: [None] * runs if late[name] else column[:runs] for name, column in runs_of(2, runs=10).items()
    }
    first = write_study(folder / "a", runs_of(1, runs=max(runs, 6)))
    comparison = compare([first, write_study(folder / "b", values, timeouts=timeouts)], fail_if=["p99>+5%"])
    latency = comparison.against[0].latency
    assert tuple(latency[name].word for name in ("p50", "p99")) == expected
    assert comparison.limits[0].result == result
    encode(comparison)
    unanswered = compare(
        [folder / "b", write_study(folder / "c", values, timeouts=timeouts)], fail_if=["p99>+5%"]
    )
    assert unanswered.limits[0].result != "crossed", "neither answers"


def test_figures_and_ratios_use_the_same_runs(tmp_path):
    values = runs_of(2)
    values["p99"][3] = values["p50"][3] = 90_000.0
    a, b = write_study(tmp_path / "a", runs_of(1)), write_study(tmp_path / "b", values, excluded=[4])
    comparison = compare([a, b])
    for side in comparison.sides:
        for name, column in side.values_us.items():
            assert min(column) <= side.latency_us[name].value <= max(column)
            assert len(column) == len(side.runs)
    assert comparison.sides[1].latency_us["p99"].value < 1_000.0


def test_a_percentile_that_a_run_lacks_is_left_out(tmp_path):
    a, b = write_study(tmp_path / "a", runs_of(1)), write_study(tmp_path / "b", runs_of(2))
    document = json.loads((b / "result.json").read_text())
    del document["runs"][2]["latency_us"]["p99"]
    (b / "result.json").write_text(json.dumps(document))
    assert set(compare([a, b]).against[0].latency) == {"p50"}


@pytest.mark.parametrize(
    ("change", "key", "values"),
    [
        ({"rate_per_s": 9_000.0}, "rate_per_s", ["5000/s", "9000/s"]),
        ({"loop": "closed"}, "loop", ["open", "closed"]),
        ({"workload": {"kind": "key-value", "keys": 7}}, "workload", None),
    ],
)
def test_different_loads_are_refused_unless_anyway(pair, change, key, values):
    studies = pair(plan=change)
    with raises(UsageError, "different-loads", studies=["before", "after"]) as caught:
        compare(studies)
    differing = caught.value.fields["differing"]
    assert differing == {key: values or differing[key]}
    assert "--anyway" in caught.value.hint
    comparison = compare(studies, anyway=True)
    assert [difference.grave for difference in comparison.unlike] == [True]
    assert (comparison.reasons[-1].code, comparison.reasons[-1].values["differing"]) == (
        "different-loads",
        differing,
    )


def test_another_host_version_or_day_is_a_note(pair):
    first, second = pair(facts={"hostname": "other"}, started="2026-01-05T03:04:05Z")
    manifest = json.loads((second / "manifest.json").read_text())
    (second / "manifest.json").write_text(json.dumps({**manifest, "version": "9.9"}))
    comparison = compare([first, second])
    assert {difference.key: difference.values for difference in comparison.unlike} == {
        "hostname": ["one", "other"],
        "version": ["0.1.0", "9.9"],
    }
    assert comparison.reasons[0].code == "measured-apart"
    assert comparison.reasons[0].values["apart_s"] == 3 * 86_400


ANSWERED = {"value": 2_500.0, "low": None, "high": None, "runs": 10}
INVALID = [
    {
        "code": "late-sends",
        "level": "invalid",
        "text": "p99 is distorted",
        "hint": None,
        "values": {"quantile": "p99"},
    }
]


def test_distorted_percentiles_are_not_compared(pair):
    studies = pair(1.5, verdict="invalid", reasons=INVALID, latency_us=_verdicts("p50", "p99"))
    comparison = compare(studies, fail_if=["p99>+5%"])
    assert (comparison.verdict, set(outcome_words(comparison).values())) == ("invalid", {"undecided"})
    assert comparison.limits[0].result == "undecided"
    why = comparison.against[0].latency["p99"].why
    assert (why.code, why.values) == ("late-sends", {"quantile": "p99", "side": "after"})
    (reason,) = comparison.reasons
    assert (reason.code, reason.level) == ("side-not-valid", "invalid")
    assert reason.values == {"side": "after", "verdict": "invalid", "why": "late-sends"}


def test_other_percentiles_than_the_distorted_one_are_compared(pair):
    comparison = compare(pair(1.5, verdict="invalid", reasons=INVALID, latency_us=_verdicts("p99")))
    assert outcome_words(comparison) == {"p50": "slower", "p99": "undecided"}


def _verdicts(*bad):
    good = {"value": 1.0, "low": 1.0, "high": 1.0, "runs": 10, "censored_runs": 0}
    return {name: {**good, "verdict": "invalid" if name in bad else "valid"} for name in ("p50", "p99")}


def test_a_server_that_did_not_reach_the_rate_is_compared(pair):
    for code in ("rate-not-reached", "rate_unmet"):  # the latter in results of version 0.1
        unmet = [{"code": code, "level": "invalid", "text": "half was answered", "hint": None}]
        more = {"verdict": "invalid", "reasons": unmet, "latency_us": _verdicts("p50", "p99")}
        for by, verdict in (("server", "different"), ("client", "invalid")):
            full = {"by": by, "requested_per_s": 5_000.0, "answered_per_s": ANSWERED, "text": "", "find": ""}
            assert compare(pair(1.5, saturation=full, **more)).verdict == verdict


def test_a_failing_server_is_not_compared(pair):
    errors = [{"code": "errors", "level": "invalid", "text": "5 % failed", "hint": None}]
    comparison = compare(pair(0.5, verdict="invalid", reasons=errors))
    assert (comparison.verdict, set(outcome_words(comparison).values())) == ("undecided", {"undecided"})


@pytest.mark.parametrize(
    ("factor", "limits", "results", "code"),
    [
        (1.2, ["p99>+5%"], ["crossed"], 3),
        (1.0, ["p99>+5%"], ["held"], 0),
        (1.05, ["p99>+5%"], ["undecided"], 4),
        (1.2, ["p99>+50%", "p50>+10us"], ["held", "crossed"], 3),
        (1.2, ["p99<+50%"], ["crossed"], 3),
        (1.2, [], [], 0),
    ],
)
def test_limits_are_judged_on_the_edge_of_the_interval(pair, capsys, factor, limits, results, code):
    studies = map(str, pair(factor))
    options = [word for limit in limits for word in ("--fail-if", limit)]
    assert main(["compare", *studies, *options, "--json", "--quiet"]) == code
    output = capsys.readouterr()
    assert [limit["result"] for limit in json.loads(output.out)["limits"]] == results
    assert [line.split(":")[0] for line in output.err.splitlines()] == results


def test_more_than_two_are_compared_with_the_first(tmp_path):
    studies = [
        write_study(tmp_path / n, runs_of(i, f)) for i, (n, f) in enumerate([("a", 1), ("b", 1.3), ("c", 1)])
    ]
    comparison = compare(studies)
    assert [(side.side, side.verdict) for side in comparison.against] == [
        ("b", "different"),
        ("c", "same"),
    ]
    mixed = runs_of(3, 0.8)
    mixed["p99"] = runs_of(4, 1.3)["p99"]
    against = compare(
        [studies[0], write_study(tmp_path / "d", runs_of(5, 0.8)), write_study(tmp_path / "e", mixed)]
    )
    assert [[side.latency[name].word for name in ("p50", "p99")] for side in against.against] == [
        ["faster", "faster"],
        ["faster", "slower"],
    ]
    alone = compare(studies[::2]).against[0].latency["p99"]
    assert comparison.against[1].latency["p99"].adjusted == min(1.0, 2 * alone.adjusted)


def test_only_different_finished_measurements_are_compared(pair, tmp_path):
    first, second = pair()
    (tmp_path / "empty").mkdir()
    with raises(StudyError, "no-such-study"):
        compare([first, tmp_path / "empty"])
    with raises(UsageError, "missing-argument", need=2, have=1):
        compare([first])
    with raises(UsageError, "unexpected-argument", argument="STUDY"):
        compare([first, tmp_path / "after/../before"])
    manifest = json.loads((second / "manifest.json").read_text())
    (second / "manifest.json").write_text(json.dumps({**manifest, "kind": "search"}))
    with raises(UsageError, "wrong-study-kind", path=str(second), kind="search"):
        compare([first, second])


def test_a_command_without_a_study_or_with_options_of_new_runs_is_a_usage_error(pair, tmp_path, capsys):
    first, second = pair()
    for words in ([first], [first, tmp_path / "nosuch"], [first, second, "--rate", "5k"]):
        assert main(["compare", *map(str, words)]) == 2
    assert capsys.readouterr().out == ""


def test_a_study_without_a_finished_run_hints_at_the_command_that_makes_one(pair):
    first, second = pair()
    for run in (second / "runs").iterdir():
        (run / "run.json").unlink()
    with raises(StudyError, "no-finished-runs", path=str(second)) as caught:
        compare([first, second])
    assert caught.value.hint == f"hindmost measure --resume {second}"


def test_a_study_that_is_being_written_is_refused(pair):
    first, second = pair()
    with (second / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with raises(StudyError, "study-in-use", path=str(second)):
            compare([first, second])
    assert compare([first, second]).verdict == "same"


def test_a_limit_on_a_figure_that_not_all_have_is_refused(pair):
    for limit, name in (("p95>+5%", "p95"), ("isolated p99>+5%", "isolated p99")):
        with raises(UsageError, "unknown-name", option="--fail-if", name=name, known=["p50", "p99"]):
            compare(pair(), fail_if=[limit])


@each_row("text", ["p99>5%", "p99", "p99>+5", "p99>-100%", "throughput>+5%", "p99>+x%"])
def test_wrong_limits_are_refused(text):
    code = "unreachable-limit" if text == "p99>-100%" else "bad-value"
    with raises(UsageError, code, option="--fail-if", value=text):
        parse_change(text)


def test_contradicting_limits_are_refused():
    parse_changes(["p99>+5%", "p99<-5%", "p50<+9%"])
    with raises(UsageError, "conflicting-options", option="--fail-if", value="p99>+5%", other="p99<+6%"):
        parse_changes(["p99>+5%", "p99<+6%"])


def test_the_table_fits_a_screen_and_the_page_is_complete(pair, tmp_path, capsys):
    a, b = map(str, pair(1.2, facts={"hostname": "other"}))
    assert main(["compare", a, b, "--fail-if", "p99>+50%", "--page", str(tmp_path / "page.html")]) == 0
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 100
    assert "…" not in output.out
    assert f"page: {tmp_path / 'page.html'}" in output.err
    page = (tmp_path / "page.html").read_text()
    for contrast in compare([a, b]).against[0].latency.values():
        cells = "".join(
            f"<td>{p(value)}</td>" for value in (contrast.p, contrast.p_textbook, contrast.adjusted)
        )
        assert cells.replace("<.", "&lt;.") in page
    assert main(["compare", a, b, "--page", str(tmp_path / "nosuch/page.html")]) == 2
