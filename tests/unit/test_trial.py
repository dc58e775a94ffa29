"""Trials of the levels of a setting: requests, stages, verdicts and the answer from the folder."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from messages import raises
from rows import each_row
from tiny_study import HOST, tiny_plan

from hindmost import open_study
from hindmost.commands.compare import arms
from hindmost.commands.compare.documents.setting import Change, Level, Span, Trial
from hindmost.commands.compare.figures import ArmFigures
from hindmost.commands.compare.setting import SettingRequest, answer, open_new, parse_what, reopen
from hindmost.commands.compare.setting.answer import (
    best_level,
    conflicting_levels,
    decide,
    describe_level,
    level_to_keep,
)
from hindmost.commands.compare.setting.request import pair_limits
from hindmost.commands.compare.view.setting import view
from hindmost.commands.compare.view.setting_charts import before_and_after
from hindmost.core.plan.levels import numbers_of, parse_levels, write_levels
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store import Study
from hindmost.core.store.estimates import Value, to_document
from hindmost.core.study.kind import carry_out
from hindmost.core.study.talk import Silent
from hindmost.errors import Interrupted, UsageError
from hindmost.present import numbers
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal

SLOWER = {"env": "HINDMOST_NOTHING"}


@pytest.fixture(scope="module")
def stored_study(tmp_path_factory):
    """Return a real study: three rounds of tiny runs of the synthetic server at two equal levels."""
    plan = tiny_plan().model_copy(
        update={
            "clients": 1,
            "runs": (3, 3),
            "rate_per_s": 300.0,
            "duration_s": 0.2,
            "warmup": 0.1,
            "timeout_s": 10.0,
        }
    )
    request = SettingRequest(plan, SLOWER, ("", "1"), "p99")
    manifest = {"plan": plan.model_dump(mode="json"), "host": HOST, "kind": "trial", "created": "x"}
    folder = tmp_path_factory.mktemp("tried") / "study"
    study = Study.create(folder, {**manifest, "trial": request.manifest()})
    return folder, carry_out(study, Silent())


def test_each_level_has_a_run_in_every_round_and_the_folder_gives_the_same_answer(stored_study):
    folder, shown = stored_study
    document = json.loads((folder / "trial.json").read_text())
    assert [one["level"] for one in document["levels"]] == ["", "1"]
    # On a busy host rounds may be excluded; if all are, all count.
    rounds = document["rounds"] or 3
    assert document["rounds"] + len(document["aside"]) == 3
    assert all(len(one["values_us"]["p99"]) == rounds for one in document["levels"])
    assert document["levels"][0]["against"] == {}
    before, after = (one["values_us"]["mean"] for one in document["levels"])
    ratios = sorted(b / a for a, b in zip(before, after, strict=True))
    result = document["levels"][1]["against"]["mean"]["ratio"]
    assert ratios[0] * 0.999 <= result["value"] <= ratios[-1] * 1.001
    assert (result["low"], result["high"]) == (None, None), "three rounds are too few for an interval"
    again = to_document(answer(Study.open(folder)))
    assert {**again, "created": ""} == {**shown.document, "created": ""}
    assert open_study(folder).best in ("", "1")
    page, table = render_page(view(shown.answer)), render_terminal(view(shown.answer), width=100)
    assert page.count("<svg") >= 4
    for one in document["levels"]:
        assert numbers.latency(one["latency_us"]["p99"]["value"]) in table


def copy_runs(runs: list[Path], monkeypatch: pytest.MonkeyPatch, stop_at: int = 0) -> list[str]:
    """Replace each new run by a copy of a stored one, and return the list of them; run `stop_at` raises Ctrl-C."""
    names: list[str] = []

    def make(study: Study, number: int, *_: object, **__: object) -> None:
        if len(names) + 1 == stop_at:
            raise KeyboardInterrupt
        names.append(f"{study.folder.name} {number}")
        source = runs[int(study.folder.name) % len(runs)]
        shutil.copytree(source, study.folder / "runs" / f"{number:04d}")

    monkeypatch.setattr(arms, "make_run", make)
    return names


def slow_and_fast_run(part: Path) -> tuple[Path, Path]:
    """Return the folders of the runs with the largest and the smallest mean."""
    means = {run.run: run.latency_us["mean"] for run in open_study(part).document.runs}
    slow, fast = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    return part / f"runs/{slow:04d}", part / f"runs/{fast:04d}"


def test_levels_near_the_best_have_their_own_rounds_and_an_interrupted_study_resumes(
    stored_study, tmp_path, monkeypatch
):
    plan = Study.open(stored_study[0]).manifest["plan"] | {"runs": (2, 2), "remake": 0.0}
    slow, fast = slow_and_fast_run(stored_study[0] / "1")
    runs = [slow, slow, fast, slow]  # the second level is the best
    request = SettingRequest(tiny_plan().model_validate(plan), SLOWER, ("1", "4", "16"), "mean", refine=1)
    manifest = {"plan": plan, "host": HOST, "kind": "trial", "created": "x", "trial": request.manifest()}
    folder = tmp_path / "study"
    study = Study.create(folder, manifest)
    interrupted = copy_runs(runs, monkeypatch, stop_at=9)
    with pytest.raises(Interrupted):
        carry_out(study, Silent())
    assert sorted(interrupted[:6]) == [f"{place} {number}" for place in (1, 2, 3) for number in (1, 2)]
    resumed = copy_runs(runs, monkeypatch)
    shown = carry_out(Study.open(folder), Silent())
    document = shown.document
    assert not set(interrupted) & set(resumed), "stored runs are not repeated"
    first, later = document["stages"]
    assert later["rounds"] == 2
    both = set(first["levels"]) & set(later["levels"])
    assert (document["best"], both) == (1, {0, 1})
    names = [document["levels"][place]["level"] for place in later["levels"]]
    assert set(names) == {"1", "2", "4", "8"}
    assert {f"{place + 1} {number}" for place in later["levels"] for number in (10_001, 10_002)} == {
        *interrupted[6:],
        *resumed,
    }
    # The present level and the best one are in both stages, new levels only in the later one.
    counts = {place: len(one["values_us"]["mean"]) for place, one in enumerate(document["levels"])}
    assert counts == {place: 4 if place in both else 2 for place in counts}
    for one in document["levels"][1:]:  # all runs of a level are equal, so its ratio is exact
        means = one["values_us"]["mean"][0], document["levels"][0]["values_us"]["mean"][0]
        assert one["against"]["mean"]["ratio"]["value"] == pytest.approx(means[0] / means[1])
    assert document["comparisons"] == 2 + 3
    page, table = render_page(view(shown.answer)), render_terminal(view(shown.answer), width=200)
    for name in (one["level"] for one in document["levels"]):
        assert name in page
        assert name in table


def drifting_runs(value: float, rounds: range, generator: np.random.Generator) -> list[float]:
    """Return a figure with its minimum at 33, in rounds on a host that slows down."""
    return [
        100.0 * (1 + 0.5 * np.log(value / 33.0) ** 2) * (1 + number / 10) * generator.lognormal(0, 0.01)
        for number in rounds
    ]


def test_refining_approaches_the_best_value_while_the_host_drifts():
    generator = np.random.default_rng(1)
    request = SettingRequest(tiny_plan(), SLOWER, parse_levels("5,10..160"), "p99", refine=3)
    values: dict[int, dict[int, float]] = {}
    for stage in range(1 + request.refine):
        rounds = range(10 * stage, 10 * stage + 10)
        for place in request.stages[stage]:
            value = float(request.levels[place])
            own = values.setdefault(place, {})
            own |= dict(zip(rounds, drifting_runs(value, rounds, generator), strict=True))
        columns = [ArmFigures(tuple(own), {"p99": list(own.values())}) for own in values.values()]
        levels = [describe_level(request, place, columns) for place in range(len(columns))]
        best = best_level(levels, "p99", one_stage=stage == 0)
        result = float(request.levels[best])
        request = request.add_stage(best) or request
    assert 28 <= result <= 38, request.levels
    assert abs(np.log(40 / 33)) > abs(np.log(result / 33)), "nearer than the requested levels"


def test_levels_without_effect_are_rarely_proven_better():
    """400 studies of 6 levels; with 95 % for each comparison, 40 would be wrong. False alarms: 1 in 10,000."""
    generator = np.random.default_rng(2)
    request = SettingRequest(tiny_plan(), SLOWER, ("0", "1", "2", "3", "4", "5"), "p99")
    wrong = 0
    for _ in range(400):
        figures = generator.lognormal(0, 0.1, (6, 10))
        columns = [ArmFigures(tuple(range(10)), {"p99": list(own)}) for own in figures]
        levels = [describe_level(request, place, columns) for place in range(6)]
        wrong += level_to_keep(levels, best_level(levels, "p99", one_stage=True), "p99") is not None
    assert wrong <= 25, wrong


def test_more_levels_need_more_rounds_and_too_few_are_refused():
    assert [pair_limits(levels).least for levels in (1, 2, 5, 8)] == [6, 7, 8, 9]
    with raises(UsageError, "bad-value", option="--pairs", value=7, least=8) as refused:
        pair_limits(5).check(7)
    assert refused.value.hint == "--pairs 10"


def test_the_second_best_level_is_shown_if_the_present_one_is_best():
    levels = [level(name, p99=(us, "higher" if place else "")) for place, (name, us) in enumerate(BEST_FIRST)]
    for best, names in ((0, ["off", "little"]), (1, ["off", "much"])):
        assert [one.level for one in before_and_after(trial(levels, best))] == names


BEST_FIRST = [("off", 100.0), ("much", 130.0), ("little", 110.0)]


def level(name: str, low: float | None = None, **figures: tuple[float, str]) -> Level:
    """Return a level with its figures and their changes from the present level."""
    return Level(
        level=name,
        folder="",
        latency_us={figure: Value(value=us, low=None, high=None) for figure, (us, _) in figures.items()},
        values_us={},
        distribution={"q": [], "us": []},
        against={
            figure: Change(change=change, ratio=Span(value=us / 100.0, low=low, high=None))
            for figure, (us, change) in figures.items()
            if change
        },
    )


def trial(levels: list[Level], best: int | None, rounds: int = 8) -> Trial:
    """Return a document with these levels."""
    return Trial(
        schema="hindmost.trial/1",
        version="",
        created="",
        verdict="undecided",
        headline="",
        study="",
        target="synth",
        rate_per_s=None,
        knob=SLOWER,
        by="p99",
        rounds=rounds,
        aside={},
        levels=levels,
        best=best,
        keep=level_to_keep(levels, best, "p99"),
        comparisons=1,
        stages=[],
    )


@each_row(
    ("p99", "mean", "best", "keep", "conflicts"),
    [
        ((80.0, "lower"), (90.0, "lower"), 1, 1, []),
        ((95.0, "no change seen"), (90.0, "lower"), 1, None, []),
        ((120.0, "higher"), (100.0, "no change seen"), 0, None, []),
        ((120.0, "higher"), (90.0, "lower"), 0, None, ["on"]),
    ],
)
def test_a_level_is_kept_only_if_proven_better_and_conflicts_with_the_mean_are_reported(
    p99, mean, best, keep, conflicts
):
    levels = [level("off", p99=(100.0, ""), mean=(100.0, "")), level("on", p99=p99, mean=mean)]
    assert best_level(levels, "p99", one_stage=True) == best
    assert level_to_keep(levels, best, "p99") == keep
    assert conflicting_levels(levels, "p99") == conflicts


@each_row(
    ("levels", "rounds", "verdict"),
    [
        ([(0.80, 0.70, "lower")], 8, "set"),
        ([(0.99, 0.93, "undecided")], 5, "undecided"),  # five rounds give no interval of 95 %
        ([(1.01, 0.90, "no change seen")], 8, "undecided"),  # the present level is the lowest by chance
        ([(1.01, 0.97, "no change seen")], 8, "leave"),
        ([(1.30, 1.10, "higher")], 8, "leave"),
        ([(1.30, 1.10, "higher"), (1.02, 0.80, "no change seen")], 8, "undecided"),
        ([(1.30, None, "undecided")], 5, "undecided"),
        ([(0.80, 0.70, "lower")], 0, "undecided"),
    ],
)
def test_the_verdict_follows_the_intervals_not_which_figure_is_lowest(levels, rounds, verdict):
    rows = [level("off", p99=(100.0, ""))]
    rows += [level("on", low, p99=(100.0 * value, change)) for value, low, change in levels]
    assert decide(trial(rows, best_level(rows, "p99", one_stage=True), rounds)) == verdict


def test_infinite_levels_are_not_better_and_decide_nothing():
    late, here = level("on", p99=(math.inf, "")), level("off", p99=(100.0, ""))
    for rows, verdict in (([here, late], "leave"), ([late, here], "undecided")):
        assert decide(trial(rows, 0)) == verdict


def test_a_level_without_a_ratio_is_not_kept():
    present, better = level("off", mean=(100.0, "")), level("on", mean=(80.0, "lower"))
    assert [level_to_keep([present, better], best, "mean") for best in (None, 0, 1)] == [None, None, 1]
    for change in ("", "undecided"):
        assert level_to_keep([present, level("on", mean=(80.0, change))], 1, "mean") is None


def test_levels_are_a_list_or_a_range():
    assert parse_levels("free, each") == ("free", "each")
    assert parse_levels("0,1..16") == ("0", "1", "2", "4", "8", "16")
    for wrong in ("on", "a,a", "5..5", "0..4,9"):
        with pytest.raises(UsageError):
            parse_levels(wrong)
    for levels in (["free", "each"], ["0", "ff,00000000"], ["1..2", "3"]):
        assert list(parse_levels(write_levels(levels))) == levels
    assert numbers_of(["0", "5us"]) == ([0.0, 5.0], "us")
    assert parse_what("pinning = true") == {"pinning": True}
    for wrong in ("pinning", "nothing = 1", "pinning = false"):
        with pytest.raises(UsageError):
            parse_what(wrong)


def test_invalid_requests_are_refused_before_any_run(stored_study, tmp_path):
    running = MeasureRequest(target="memcached://127.0.0.1:9", rate="1k")
    with raises(UsageError, "needs-managed-target", target="memcached://127.0.0.1:9"):
        open_new(running, "pinning = true", "free,each", out=tmp_path / "a")
    synth = MeasureRequest(target="synth", rate="1k")
    for rounds, by, levels, refine, code, option in [
        (5, "p99", "free,0", 0, "bad-value", "--pairs"),
        (8, "p98.5", "free,0", 0, "unknown-name", "--by"),
        (8, "p99", "free,0", 1, "conflicting-options", "--refine"),
        (20, "p99", "0,1", 7, "bad-value", "--refine"),
    ]:
        with raises(UsageError, code, option=option):
            open_new(synth, "cpus = true", levels, rounds, by, tmp_path / "b", refine)
    with pytest.raises(UsageError) as refused:
        open_new(synth, "cpus = true", "free,nowhere", 8, "p99", tmp_path / "b")
    assert refused.value.fields["value"] == "nowhere"
    assert not (tmp_path / "b").exists()
    with raises(UsageError, "bad-value", option="--pairs", value=3, least=6):
        reopen(stored_study[0], 3)
