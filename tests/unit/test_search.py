"""The search for a rate: brackets, bounds, what spoils a step; steps are made up, no server runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import HOST, Diary, tiny_plan

from hindmost.cli.find_rate import render
from hindmost.errors import InstanceError, StudyError, TargetError, UsageError
from hindmost.experiment import search
from hindmost.experiment.search import HIGHEST, LOWEST, MOST_STEPS, RATIO, Found, RateSearch, Step, stored
from hindmost.plan import parse_threshold
from hindmost.stats import ObjectiveRule
from hindmost.store import Study
from hindmost.store.documents import schemas
from hindmost.targets import parse_target

OBJECTIVE = "p99<500us"


def made_up(rate: float, outcome: search.Outcome, value: float = 400.0) -> Step:
    return Step(
        rate, outcome, value, value - 9, value + 9, 3, rate, f"because; at {rate:g}", f"steps/{rate:g}"
    )


def searching(tmp_path: Path, start: float = 10_000.0, target: str = "synth") -> RateSearch:
    plan = tiny_plan().model_copy(update={"rate_per_s": start, "runs": (3, 5)})
    manifest = {"plan": plan.model_dump(mode="json"), "host": HOST, "search": {"objective": OBJECTIVE}}
    study = Study.create(tmp_path / "study", manifest)
    return RateSearch(study, plan, parse_target(target), parse_threshold(OBJECTIVE), lambda _: Diary())


def found_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, truth: Callable[[float], search.Outcome], start: float
) -> Found:
    one = searching(tmp_path, start)
    monkeypatch.setattr(one, "_try", lambda rate: made_up(rate, truth(rate)))
    return one.run()


@pytest.mark.parametrize("limit", [12.0, 173.0, 9_999.0, 10_000.0, 41_234.0, 1e6, 4.9e6])
@pytest.mark.parametrize("start", [10.0, 10_000.0, 5e6])
@pytest.mark.parametrize("above", ["fails", "undecided", "unmet"])
def test_a_monotone_truth_is_found_within_the_ratio(tmp_path, monkeypatch, limit, start, above):
    found = found_by(tmp_path, monkeypatch, lambda rate: "holds" if rate <= limit else above, start)
    assert found.finished
    assert found.holds is not None
    assert found.holds.rate_per_s <= limit
    assert found.fails is not None
    assert limit < found.fails.rate_per_s <= RATIO * found.holds.rate_per_s
    assert len({step.rate_per_s for step in found.steps}) == len(found.steps) <= MOST_STEPS


@pytest.mark.parametrize("outcome", ["fails", "unmet", "undecided"])
def test_what_holds_nowhere_ends_at_the_lowest_rate(tmp_path, monkeypatch, outcome):
    found = found_by(tmp_path, monkeypatch, lambda _: outcome, 10_000.0)
    assert found.holds is None
    assert found.document()["rate_per_s"] is None
    assert found.steps[-1].rate_per_s == LOWEST
    words = "undecided at every rate" if outcome == "undecided" else "holds at no rate"
    assert words in found.headline


def test_what_never_fails_ends_at_the_highest_rate(tmp_path, monkeypatch):
    found = found_by(tmp_path, monkeypatch, lambda _: "holds", 10_000.0)
    assert found.fails is None
    assert found.steps[-1].rate_per_s == HIGHEST
    assert "the highest is not known" in found.headline


def test_the_number_of_steps_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "RATIO", 1.0)
    found = found_by(tmp_path, monkeypatch, lambda rate: "holds" if rate < 777.0 else "fails", 10_000.0)
    assert len(found.steps) == MOST_STEPS
    assert found.finished


def test_every_step_is_stored_and_read_back(tmp_path, monkeypatch):
    one = searching(tmp_path)
    heard: list[tuple[Step, bool]] = []
    one.told = lambda step: heard.append((step, stored(one.study).finished))
    monkeypatch.setattr(one, "_try", lambda rate: made_up(rate, "holds" if rate < 12_000 else "fails"))
    found = one.run()
    assert [step for step, _ in heard] == list(found.steps)
    assert [finished for _, finished in heard] == [False] * (len(heard) - 1) + [True]
    again = stored(one.study)
    assert again == found
    document = json.loads((one.study.folder / "search.json").read_text())
    jsonschema.Draft202012Validator(schemas()["search"]).validate(document)


def test_a_search_without_steps_says_how_to_go_on(tmp_path):
    with pytest.raises(StudyError, match="no finished step") as caught:
        stored(searching(tmp_path).study)
    assert "--resume" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": "hindmost.search/2"}'])
def test_a_damaged_search_is_told(tmp_path, text):
    study = searching(tmp_path).study
    study.write("search.json", text)
    with pytest.raises(StudyError, match="cannot be read"):
        stored(study)


def result(values: list[float | None], *reasons: tuple[str, str], verdict: str = "valid") -> dict[str, Any]:
    finite = [v for v in values if v is not None]
    mean = sum(finite) / len(finite) if len(finite) == len(values) else None
    return {
        "latency_us": {
            "p99": {"value": mean, "low": mean, "high": mean, "runs": len(values),
                    "censored_runs": values.count(None), "verdict": verdict}
        },
        "runs": [{"latency_us": {"p99": v}} for v in values],
        "reasons": [{"code": code, "level": level, "text": f"{code} it is"} for code, level in reasons],
        "throughput": {"asked": 1e4, "achieved": 1e4},
    }  # fmt: skip


JUDGED = [
    (result([300.0, 305.0, 310.0]), "holds"),
    (result([700.0, 705.0, 710.0]), "fails"),
    (result([480.0, 520.0, 505.0]), "undecided"),
    (result([300.0, None, None]), "fails"),
    # An unmet precision and a noisy host do not spoil a step; the interval has been looked at already.
    (result([300.0, 305.0, 310.0], ("precision", "inconclusive"), verdict="inconclusive"), "holds"),
    # Late sending of another quantile is none of ours; of ours, it can only have added to latency.
    (result([300.0, 305.0, 310.0], ("slip", "invalid")), "holds"),
    (result([300.0, 305.0, 310.0], ("slip", "invalid"), verdict="invalid"), "holds"),
    (result([700.0, 705.0, 710.0], ("slip", "invalid"), verdict="invalid"), "unmet"),
    # Requests that were not answered have no latency: nothing holds.
    (result([300.0, 305.0, 310.0], ("rate_unmet", "invalid"), verdict="invalid"), "unmet"),
    (result([3.0, 3.1, 3.2], ("slip", "invalid"), ("errors", "invalid"), verdict="invalid"), "unmet"),
]


@pytest.mark.parametrize(("measured", "expected"), JUDGED)
def test_a_step_is_judged_by_its_interval_and_by_what_is_invalid(tmp_path, measured, expected):
    one = searching(tmp_path)
    step = one._judge(1e4, measured, ObjectiveRule("p99", 500.0, 5), one.study.folder / "steps" / "10000")
    assert step.outcome == expected
    assert step.study == "steps/10000"
    if "errors" in [reason["code"] for reason in measured["reasons"]]:
        assert step.why == "errors it is"


def test_a_holding_step_with_few_requests_beyond_the_quantile_says_so(tmp_path):
    one = searching(tmp_path)
    step = one._judge(100.0, JUDGED[0][0], ObjectiveRule("p99", 500.0, 5), one.study.folder / "steps" / "100")
    assert step.outcome == "holds"
    assert "--duration 40s" in step.why  # 100/s, two clients: 0.5 a second beyond p99, twenty are needed


def run_of(value: float | None, *reasons: tuple[str, str]) -> dict[str, Any]:
    found = [{"code": code, "level": level, "text": code} for code, level in reasons]
    return {"latency_us": {"p99": value}, "reasons": found}


HOPELESS = [
    ([run_of(900.0), run_of(800.0)], False, "slow, but measured: the interval decides"),
    ([run_of(900.0, ("slip", "invalid")), run_of(None, ("slip", "invalid"))], True, "late and slow, twice"),
    ([run_of(900.0, ("slip", "invalid")), run_of(90.0)], False, "one run was disturbed"),
    ([run_of(90.0, ("slip", "invalid")), run_of(90.0, ("slip", "invalid"))], False, "late, and fast enough"),
    ([run_of(90.0, ("rate_unmet", "invalid"))] * 2, True, "not answered, twice"),
    ([run_of(90.0, ("errors", "mind"))] * 2, False, "some errors"),
]


@pytest.mark.parametrize(("runs", "ends", "case"), HOPELESS, ids=lambda x: x if isinstance(x, str) else "")
def test_two_runs_end_a_step_only_where_both_cannot_be_measured(tmp_path, monkeypatch, runs, ends, case):
    invalid = any(r["level"] == "invalid" for run in runs for r in run["reasons"])
    whole = {"latency_us": {"p99": {"verdict": "invalid" if invalid else "valid"}}, "runs": runs}
    monkeypatch.setattr(search, "answer", lambda _: whole)
    rule = search._Reachable(ObjectiveRule("p99", 500.0, 5), searching(tmp_path).study)
    values = [run["latency_us"]["p99"] or 1e9 for run in runs]
    decision = rule.decide({"p99": values})
    assert decision.stop is ends, case


class Died:
    """A procedure whose server dies of it."""

    error: Exception

    def __init__(self, *_: object) -> None:
        pass

    def run(self) -> None:
        try:
            gone = InstanceError("the server closed all connections")
            gone.code = "server_gone"
            raise gone
        except InstanceError:
            raise self.error from None


def test_a_rate_that_kills_a_managed_server_is_unmet(tmp_path, monkeypatch):
    Died.error = TargetError("run 1: synth was killed by SIGKILL in mid-run\nits last words: none")
    monkeypatch.setattr(search, "Procedure", Died)
    step = searching(tmp_path)._try(1e4)
    assert (step.outcome, step.runs, step.value_us) == ("unmet", 0, None)
    assert step.why == "run 1: synth was killed by SIGKILL in mid-run"


def test_a_server_that_never_lives_is_an_error(tmp_path, monkeypatch):
    Died.error = TargetError("run 1: synth was killed by SIGKILL in mid-run")
    monkeypatch.setattr(search, "Procedure", Died)
    one = searching(tmp_path)
    with pytest.raises(TargetError, match="SIGKILL"):
        one.run()
    assert len(one.steps) == 1


def test_a_running_server_that_dies_is_an_error(tmp_path, monkeypatch):
    Died.error = InstanceError("run 1: the server closed all connections")
    monkeypatch.setattr(search, "Procedure", Died)
    one = searching(tmp_path, target="memcached://127.0.0.1:1")
    with pytest.raises(InstanceError):
        one.run()
    assert one.steps == []


def test_a_server_that_cannot_be_started_is_an_error(tmp_path, monkeypatch):
    class NotStarted(Died):
        def run(self) -> None:
            raise TargetError("memcached is not installed")

    monkeypatch.setattr(search, "Procedure", NotStarted)
    with pytest.raises(TargetError, match="not installed"):
        searching(tmp_path).run()


def test_a_step_goes_on_in_its_folder_with_new_bounds_of_runs(tmp_path):
    one = searching(tmp_path)
    folder = one.study.folder / "steps" / "500"
    (folder / "runs").mkdir(parents=True)  # killed before its manifest was written
    first = one._open(folder, one.plan)
    assert "search" not in first.manifest, "a step is an ordinary study"
    second = one._open(folder, one.plan.model_copy(update={"runs": (3, 30)}))
    assert second.manifest["plan"]["runs"] == [3, 30]
    assert Study.open(folder).manifest["plan"]["runs"] == [3, 30]


def test_more_runs_can_be_asked_of_every_step():
    rule = ObjectiveRule("p99", 500.0, 8, 5)
    values = [300.0, 301.0, 302.0, 303.0]
    assert rule.holds(values) is None
    assert not rule.decide({"p99": values}).stop
    assert rule.decide({"p99": values}).next_look == 5
    assert rule.decide({"p99": [*values, 301.0]}).stop
    assert rule.decide({"p99": [math.inf, math.inf]}).stop, "twice infinitely late: clear at once"
    with pytest.raises(ValueError, match="at least 9 runs"):
        ObjectiveRule("p99", 500.0, 8, 9)


def test_the_table_stands_by_rate_and_wraps():
    steps = (made_up(1e4, "holds"), made_up(2e4, "undecided", 500.0), made_up(1.41e4, "unmet", 900.0))
    text = render(Found.of(OBJECTIVE, steps, finished=False), 60)
    head, _, table = text.partition("\n\n")
    assert head.startswith("the search is not finished; so far: p99<500us holds")
    assert "10,000 requests/s: 400 us [391 us, 409 us] over 3 runs" in head
    assert max(map(len, head.splitlines())) <= 60
    rates = [word for line in table.splitlines() for word in line.split()[:1] if word[0].isdigit()]
    assert rates == ["20,000", "14,100", "10,000"]


@pytest.mark.parametrize("option", ["closed", "require", "precision"])
def test_contradictions_are_refused(option):
    from hindmost.cli.find_rate import refuse_contradictions

    asked = {"closed": False, "require": (), "precision": None, "verify_wire": False}
    refuse_contradictions(asked)
    with pytest.raises(UsageError, match=f"--{option}"):
        refuse_contradictions(asked | {option: "x"})
