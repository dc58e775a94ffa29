"""Rate searches with simulated steps and no server: path, stored steps and resuming.

How a step is judged is in ``test_search_judge.py``; how often a search is right in ``tests/stats``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from messages import raises
from msgspec.structs import replace
from rows import each_row
from sample_searches import make_search, make_step
from tiny_study import HOST, Diary, tiny_plan

from hindmost.commands.measure.search import rates
from hindmost.commands.measure.search.document import Outcome, Step
from hindmost.commands.measure.search.findings import HIGHEST, LOWEST, SearchFindings, load_findings
from hindmost.commands.measure.search.kind import latencies, publish
from hindmost.commands.measure.search.options import plan_search as asked_of_a_search
from hindmost.commands.measure.search.options import refuse_contradictions
from hindmost.commands.measure.search.rates import (
    AT_MOST,
    CONFIRMATIONS,
    MOST_SPOILED,
    MOST_STEPS,
    RATIO,
    RateSearch,
    next_rate,
)
from hindmost.commands.measure.search.view import view
from hindmost.core.plan import parse_objective
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store import Study
from hindmost.core.store.estimates import to_document
from hindmost.core.store.measure import Estimate
from hindmost.core.store.schema import schemas
from hindmost.core.study.part import open_part
from hindmost.core.targets import parse_target
from hindmost.errors import ClientError, Exit, StudyError, TargetError, UsageError
from hindmost.present.terminal import render_terminal
from tests.golden.sample_results import valid

OBJECTIVE = "p99<500us"
MAX_RUNS = 8
Truth = Callable[[float], Outcome]


def fake_step(rate: float, outcome: Outcome, value: float = 400.0, error: float = 0.01) -> Step:
    runs = MAX_RUNS if outcome == "undecided" else 3
    return make_step(rate, outcome, value, low_us=value - 9, high_us=value + 9, runs=runs, error=error)


def plan_search(tmp_path: Path, start: float = 10_000.0, target: str = "synth") -> RateSearch:
    plan = tiny_plan().model_copy(update={"rate_per_s": start, "runs": (3, MAX_RUNS)})
    manifest = {"plan": plan.model_dump(mode="json"), "host": HOST, "search": {"objective": OBJECTIVE}}
    study = Study.create(tmp_path / "study", manifest)
    return RateSearch(study, plan, parse_target(target), parse_objective(OBJECTIVE), lambda _: Diary())


def search_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, truth: Truth, start: float = 10_000.0
) -> RateSearch:
    one = plan_search(tmp_path, start)
    monkeypatch.setattr(one, "_try", lambda rate: fake_step(rate, truth(rate)))
    return one


def holds_up_to(limit: float, above: Outcome = "fails") -> Truth:
    return lambda rate: "holds" if rate <= limit else above


@pytest.mark.parametrize("limit", [12.0, 173.0, 9_999.0, 10_000.0, 41_234.0, 1e6, 4.8e6])
@pytest.mark.parametrize("start", [10.0, 10_000.0, 5e6])
@pytest.mark.parametrize("above", ["fails", "unmet"])
def test_a_clear_limit_is_found_within_the_ratio(tmp_path, monkeypatch, limit, start, above):
    result = search_with(tmp_path, monkeypatch, holds_up_to(limit, above), start).run()
    assert result.finished
    assert result.span.low <= limit <= result.span.high, result.span
    far = not 1e-3 < limit / start < 1e3  # the distance uses up the runs for a narrow span
    assert result.span.ratio <= (rates.WIDE if far else RATIO)
    assert result.holds is not None
    assert limit / result.span.ratio / RATIO <= result.holds.rate_per_s <= limit
    assert result.fails is not None
    assert result.fails.outcome == above
    assert f"{result.holds.rate_per_s:,.10g}" in result.headline


def test_rates_increase_by_at_most_the_given_factor(tmp_path, monkeypatch):
    result = search_with(tmp_path, monkeypatch, holds_up_to(1e6), 100.0).run()
    tried = [step.rate_per_s for step in result.steps]
    for i in range(1, len(tried)):
        assert tried[i] <= 1.01 * rates.LEAP * max(tried[:i]), tried
        assert tried[i] >= 0.99 * min(tried[:i]) / rates.LEAP, tried


def test_one_wrong_step_lowers_the_bound_only_temporarily(tmp_path, monkeypatch):
    limit, wrong = 60_000.0, []

    def truth(rate: float) -> Outcome:
        if not wrong and 20_000.0 < rate < limit:
            wrong.append(rate)
            return "fails"
        return holds_up_to(limit)(rate)

    result = search_with(tmp_path, monkeypatch, truth).run()
    assert wrong, [step.rate_per_s for step in result.steps]
    assert result.span.low <= limit <= result.span.high, (wrong, result.span)
    assert result.holds is not None
    assert result.holds.rate_per_s > wrong[0]
    assert result.fails is not None
    assert result.fails.rate_per_s > limit, "a step that contradicts all others is not the bound"


def test_a_spoiled_step_is_repeated_and_not_counted(tmp_path, monkeypatch):
    limit, calls = 40_000.0, []

    def truth(rate: float) -> Outcome:
        calls.append(rate)
        return "spoiled" if len(calls) == 2 else holds_up_to(limit)(rate)

    result = search_with(tmp_path, monkeypatch, truth).run()
    assert calls[1] == calls[2], "the rate is repeated"
    assert [step.outcome for step in result.steps].count("spoiled") == 1
    undisturbed = search_with(tmp_path / "isolated", monkeypatch, holds_up_to(limit)).run()
    assert result.span == undisturbed.span
    assert calls[:2] + calls[3:] == [step.rate_per_s for step in undisturbed.steps]


def test_a_host_that_is_never_quiet_ends_the_search_with_a_reason(tmp_path, monkeypatch):
    result = search_with(tmp_path, monkeypatch, lambda _: "spoiled").run()
    assert len(result.steps) == MOST_SPOILED
    tried = [step.rate_per_s for step in result.steps]
    assert tried[0] == tried[1] == tried[2] > tried[3], "a lower rate is tried after three disturbed steps"
    assert result.holds is None
    assert result.fails is None, "a spoiled step is not a bound"
    assert "because" in result.headline, "the reason of the last step"


@pytest.mark.parametrize("outcome", ["fails", "unmet"])
def test_an_objective_that_never_holds_ends_at_the_lowest_rate(tmp_path, monkeypatch, outcome):
    search = search_with(tmp_path, monkeypatch, lambda _: outcome)
    result = search.run()
    assert result.holds is None
    assert publish(search.study, result.document()).exit == Exit.INCONCLUSIVE
    assert result.document().rate_per_s is None
    assert result.document().low_per_s is None
    assert result.steps[-1].rate_per_s <= RATIO * LOWEST


def test_an_objective_that_always_holds_ends_at_the_highest_rate(tmp_path, monkeypatch):
    search = search_with(tmp_path, monkeypatch, lambda _: "holds")
    result = search.run()
    assert publish(search.study, result.document()).exit == Exit.DONE
    assert result.fails is None
    assert result.document().high_per_s == math.inf
    assert result.document().low_per_s >= HIGHEST / RATIO
    assert result.steps[-1].rate_per_s >= HIGHEST / RATIO


def test_undecided_steps_use_up_the_runs_without_a_result(tmp_path, monkeypatch):
    result = search_with(tmp_path, monkeypatch, lambda _: "undecided").run()
    assert result.finished
    assert result.holds is None
    assert {step.outcome for step in result.steps} == {"undecided"}
    spent = sum(step.runs for step in result.steps)
    assert spent < AT_MOST * MAX_RUNS + MAX_RUNS


def test_an_undecided_step_is_followed_by_a_nearby_rate():
    vague = fake_step(4e4, "undecided", error=0.3)
    steps = [fake_step(1e4, "holds"), fake_step(16e4, "fails"), vague]
    below = next_rate(steps, 20)
    above = next_rate([*steps, vague], 20)
    assert below is not None
    assert above is not None
    assert below < 4e4 / RATIO < 4e4 * RATIO < above


def test_a_narrow_span_is_confirmed_by_at_most_two_steps_at_a_rate_that_held():
    steps = [fake_step(1e4, "holds"), fake_step(4e4, "fails"), fake_step(2e4, "undecided", error=0.001)]
    while (rate := next_rate(steps, 10)) is not None:
        steps.append(fake_step(rate, "undecided", error=0.001))
    assert rate is None
    assert len(steps) < MOST_STEPS
    low = SearchFindings.from_steps(OBJECTIVE, steps, finished=True).span.low
    assert sum(low / RATIO <= step.rate_per_s <= low for step in steps) <= CONFIRMATIONS


def test_every_step_is_stored_and_read_back(tmp_path, monkeypatch):
    one = search_with(tmp_path, monkeypatch, holds_up_to(12_000.0))
    heard: list[tuple[Step, bool]] = []
    one.on_step = lambda step: heard.append((step, load_findings(one.study).finished))
    result = one.run()
    assert [step for step, _ in heard] == list(result.steps)
    assert [finished for _, finished in heard] == [False] * (len(heard) - 1) + [True]
    assert load_findings(one.study) == result
    document = json.loads((one.study.folder / "search.json").read_text())
    jsonschema.Draft202012Validator(schemas()["search"]).validate(document)


@pytest.mark.parametrize("after", [1, 2, 4])
def test_an_interrupted_search_resumes_with_the_same_steps(tmp_path, monkeypatch, after):
    whole = search_with(tmp_path / "whole", monkeypatch, holds_up_to(37_000.0)).run()
    one = plan_search(tmp_path / "halves")
    tried: list[float] = []

    def until_stopped(rate: float) -> Step:
        if len(tried) == after:
            raise KeyboardInterrupt
        tried.append(rate)
        return fake_step(rate, holds_up_to(37_000.0)(rate))

    monkeypatch.setattr(one, "_try", until_stopped)
    with pytest.raises(KeyboardInterrupt):
        one.run()
    later = RateSearch(one.study, one.plan, one.target, one.objective, one.observer)
    monkeypatch.setattr(
        later, "_try", lambda rate: tried.append(rate) or fake_step(rate, holds_up_to(37_000.0)(rate))
    )
    assert later.run() == whole
    assert tried == [step.rate_per_s for step in whole.steps], "no step is repeated or missing"


def test_a_finished_search_resumes_only_with_more_runs(tmp_path, monkeypatch):
    one = plan_search(tmp_path)

    def vague(rate: float) -> Step:
        return fake_step(rate, "undecided" if 2e4 < rate < 6e4 else holds_up_to(3e4)(rate), error=0.2)

    monkeypatch.setattr(one, "_try", vague)
    result = one.run()
    assert result.span.ratio > RATIO, "the runs end before the span is narrow"

    def search_again(most: int) -> SearchFindings:
        plan = one.plan.model_copy(update={"runs": (3, most)})
        later = RateSearch(one.study, plan, one.target, one.objective, one.observer)
        monkeypatch.setattr(later, "_try", lambda rate: fake_step(rate, holds_up_to(3e4)(rate)))
        return later.run()

    assert search_again(MAX_RUNS) == result
    more = search_again(4 * MAX_RUNS)
    assert more.steps[: len(result.steps)] == result.steps
    assert more.span.ratio < result.span.ratio


def test_a_repeated_rate_gets_other_requests_and_its_own_folder(tmp_path, monkeypatch):
    seeds: list[tuple[str, int]] = []

    class RecordedProcedure:
        def __init__(self, study: Study, plan: object, *_: object) -> None:
            seeds.append((study.folder.name, plan.seed))  # type: ignore[attr-defined]

        def run(self) -> None:
            raise TargetError("server-died", "enough")

    monkeypatch.setattr(rates, "Procedure", RecordedProcedure)
    one = plan_search(tmp_path)
    for _ in range(2):
        with raises(TargetError, "server-died"):
            one._try(500.0)
        one.steps.append(fake_step(500.0, "spoiled"))
    assert [name for name, _ in seeds] == ["500", "500-2"]
    assert seeds[0][1] != seeds[1][1]


def test_a_search_without_steps_says_how_to_resume(tmp_path):
    study = plan_search(tmp_path).study
    with raises(StudyError, "no-finished-runs", path=str(study.folder)) as caught:
        load_findings(study)
    assert "--resume" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": "hindmost.search/2"}'])
def test_a_damaged_search_is_reported_with_a_hint(tmp_path, text):
    study = plan_search(tmp_path).study
    study.write("search.json", text)
    path = study.folder / "search.json"
    with raises(StudyError, "bad-file", path=str(path)) as caught:
        load_findings(study)
    assert f"rm {path}" in (caught.value.hint or "")


class DyingRun:
    """A procedure that kills its server."""

    error: Exception

    def __init__(self, *_: object) -> None:
        pass

    def run(self) -> None:
        try:
            raise ClientError("server-gone", "the server closed all connections")
        except ClientError:
            raise self.error from None


def test_a_rate_that_kills_a_managed_server_fails(tmp_path, monkeypatch):
    DyingRun.error = TargetError("server-died", "killed by SIGKILL\nits last words: none", run=1)
    monkeypatch.setattr(rates, "Procedure", DyingRun)
    step = plan_search(tmp_path)._try(1e4)
    assert (step.outcome, step.runs, step.value_us) == ("unmet", 0, None)
    assert (step.code, step.values, step.why) == ("server-died", {"run": 1}, "killed by SIGKILL")


def test_a_server_that_always_dies_is_an_error(tmp_path, monkeypatch):
    DyingRun.error = TargetError("server-died", "killed by SIGKILL")
    monkeypatch.setattr(rates, "Procedure", DyingRun)
    one = plan_search(tmp_path)
    with raises(TargetError, "server-died"):
        one.run()
    assert len(one.steps) == 1


def test_a_running_server_that_dies_is_an_error(tmp_path, monkeypatch):
    DyingRun.error = ClientError("server-gone", "the server closed all connections")
    monkeypatch.setattr(rates, "Procedure", DyingRun)
    one = plan_search(tmp_path, target="memcached://127.0.0.1:1")
    with raises(ClientError, "server-gone"):
        one.run()
    assert one.steps == []


def test_a_server_that_cannot_be_started_is_an_error(tmp_path, monkeypatch):
    class UnstartableRun(DyingRun):
        def run(self) -> None:
            raise TargetError("missing-program", "memcached is not installed")

    monkeypatch.setattr(rates, "Procedure", UnstartableRun)
    with raises(TargetError, "missing-program"):
        plan_search(tmp_path).run()


def test_a_step_resumes_in_its_folder_with_new_bounds_of_runs(tmp_path):
    one = plan_search(tmp_path)
    folder = one.study.folder / "steps" / "500"
    (folder / "runs").mkdir(parents=True)  # killed before writing the manifest
    first = open_part(one.study, folder, one.plan)
    assert first.manifest["kind"] == "measure", "a step is a study of kind measure"
    assert "search" not in first.manifest
    second = open_part(one.study, folder, one.plan.model_copy(update={"runs": (3, 30)}))
    assert second.manifest["plan"]["runs"] == [3, 30]
    assert Study.open(folder).manifest["plan"]["runs"] == [3, 30]


def test_a_holding_step_with_few_requests_beyond_the_quantile_says_so(tmp_path):
    one = plan_search(tmp_path)
    # 100/s, two clients: 0.5 requests per second above p99; 20 are needed.
    note = one._thin(100.0)
    assert note is not None
    assert (note.code, note.values["duration_s"], note.values["name"]) == ("few-samples", 40, "p99")
    assert "--duration 40s" in note.text
    assert one._thin(1e6) is None


def test_an_unfinished_search_reports_its_steps_without_a_span():
    steps = (fake_step(2_270.0, "holds"), fake_step(6_310.0, "fails", 900.0))
    result = SearchFindings.from_steps(OBJECTIVE, steps, finished=False)
    rates = [float(one.replace(",", "")) for one in re.findall(r"([\d,]+) requests/s", result.headline)]
    assert rates == [2_270.0, 6_310.0]
    assert f"{float(f'{result.span.high:.3g}'):,.10g}" not in result.headline


def test_the_table_is_sorted_by_rate_and_wraps():
    steps = (fake_step(1e4, "holds"), fake_step(2e4, "undecided", 500.0), fake_step(1.41e4, "unmet", 900.0))
    document = SearchFindings.from_steps(OBJECTIVE, steps, finished=False).document()
    text = render_terminal(view(document, {}), width=80)
    head, _, table = text.partition("\n\n")
    assert OBJECTIVE in head
    assert {"10,000", "400", "391", "409"} <= set(re.findall(r"[\d,]+", head))
    assert max(map(len, text.splitlines())) <= 80
    shown = [word for line in table.splitlines() for word in line.split()[:1] if word[0].isdigit()]
    assert shown == ["20,000", "14,100", "10,000"]


@each_row("option", ["closed", "require", "junit", "markdown", "precision", "verify_wire"])
def test_conflicting_options_are_refused(option):
    refuse_contradictions(MeasureRequest(target="synth"))
    given = {"closed": True, "precision": "2%", "verify_wire": True}
    asked = MeasureRequest(target="synth", **{name: given[name] for name in {option} & set(given)})
    option_name = f"--{option.replace('_', '-')}"
    with raises(UsageError, "conflicting-options", options=[option_name, "--find-rate"]):
        refuse_contradictions(
            asked,
            {"require": (), "junit": None}
            | ({} if asked != MeasureRequest(target="synth") else {option: "p99<1ms"}),
        )


def test_the_page_shows_the_percentile_that_the_objective_was_judged_by(tmp_path):
    study = Study.create(tmp_path / "study", {"plan": tiny_plan().model_dump(mode="json"), "host": HOST})
    mean = Estimate(value=120.0, low=18.0, high=713.0, runs=5, censored_runs=0, verdict="valid")
    for name in ("held", "late"):
        (study.folder / name).mkdir()
        result = valid(runs=1) | {"latency_us": {"p50": to_document(mean), "p90": to_document(mean)}}
        (study.folder / name / "result.json").write_text(json.dumps(result))
    steps = [
        make_step(1e3, us=17.8, low_us=10.8, high_us=161.0, study="held"),
        make_step(1e3, us=None, study="late"),
        make_step(1e3, us=17.8, study="gone"),
    ]
    found = latencies(study, make_search(*steps, objective="p50<20ms,errors<1%"))
    assert found["held"]["p50"] == replace(mean, value=17.8, low=10.8, high=161.0)
    assert found["held"]["p90"] == found["late"]["p50"] == mean
    assert set(found) == {"held", "late"}


@pytest.mark.parametrize("end", ["stop", "refuse", "again"])
def test_a_search_refuses_a_trace_that_does_not_repeat(tmp_path, end):
    times = tmp_path / "times"
    times.write_text("".join(f"{0.001 * at:.3f}\n" for at in range(10_000)))
    request = MeasureRequest(
        target="synth", arrivals=f"trace:{times},end={end}", duration="1s", warmup="1s", rate="1k"
    )
    if end == "again":
        assert asked_of_a_search(request, "p99<1ms")[0].rate_per_s == 1_000.0
        return
    with raises(UsageError, "conflicting-options", value=f"end={end}") as caught:
        asked_of_a_search(request, "p99<1ms")
    assert caught.value.hint == "end=again"
