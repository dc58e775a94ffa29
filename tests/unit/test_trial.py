"""A trial of one change: what may be asked, what is said of it, and that it is answered from its folder."""

import json

import pytest
from tiny_study import HOST, tiny_plan

from hindmost import open_study
from hindmost.errors import UsageError
from hindmost.report.trial import render_trial, render_trial_page
from hindmost.run.request import MeasureRequest
from hindmost.store import Study
from hindmost.studies.kind import carry_out
from hindmost.studies.talk import Silent
from hindmost.studies.trial import Asked, answer, opened, reopened
from hindmost.studies.trial.answer import _headline, kept
from hindmost.studies.trial.asked import parse_knob, parse_levels

SLOWER = {"env": "HINDMOST_NOTHING"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A real study: six rounds of tiny runs of the synthetic server on two ways that are alike."""
    plan = tiny_plan().model_copy(
        update={
            "clients": 1,
            "runs": (6, 6),
            "rate_per_s": 300.0,
            "duration_s": 0.2,
            "warmup": 0.1,
            "timeout_s": 10.0,
        }
    )
    asked = Asked(plan, SLOWER, ("", "1"), "p99")
    manifest = {"plan": plan.model_dump(mode="json"), "host": HOST, "kind": "trial", "created": "x"}
    folder = tmp_path_factory.mktemp("tried") / "study"
    study = Study.create(folder, {**manifest, "trial": asked.manifest()})
    return folder, carry_out(study, Silent())


def test_each_level_has_a_run_in_every_round_and_is_answered_again_from_the_folder(made):
    folder, shown = made
    document = json.loads((folder / "trial.json").read_text())
    assert [one["level"] for one in document["levels"]] == ["", "1"]
    # A busy host sets rounds aside; all count where none would be left.
    rounds = document["rounds"] or 6
    assert rounds + len(document["aside"]) == 6 or document["rounds"] == 0
    assert all(len(one["values_us"]["p99"]) == rounds for one in document["levels"])
    assert document["levels"][0]["against"] == {}
    before, after = (one["values_us"]["mean"] for one in document["levels"])
    ratios = sorted(b / a for a, b in zip(before, after, strict=True))
    found = document["levels"][1]["against"]["mean"]["ratio"]
    assert ratios[0] * 0.999 <= found["value"] <= ratios[-1] * 1.001
    assert found["low"] is not None or rounds < 6  # a few carry no interval
    if found["low"] is not None:
        assert ratios[0] * 0.999 <= found["low"] <= found["value"] <= found["high"] <= ratios[-1] * 1.001
    again = answer(Study.open(folder))
    assert {**again, "created": ""} == {**shown.document, "created": ""}
    assert open_study(folder).best in ("", "1")
    page, table = render_trial_page(document), render_trial(document, 100)
    assert page.count("<svg") >= 4
    assert "p99 ratio" in table
    assert render_trial({**document, "by": "mean"}, 100).count("mean ratio") == 1


def level(name: str, **figures: tuple[float, str]) -> dict:
    """A level with its figures, and what became of them beside the present state."""
    return {
        "level": name,
        "latency_us": {figure: {"value": us} for figure, (us, _) in figures.items()},
        "against": {
            figure: {"change": change, "ratio": {"value": us / 100.0, "low": None, "high": None}}
            for figure, (us, change) in figures.items()
            if change
        },
    }


@pytest.mark.parametrize(
    ("after", "best", "keep", "said"),
    [
        (level("on", p99=(80.0, "lower"), mean=(90.0, "lower")), 1, 1, "set argument x to on"),
        (level("on", p99=(95.0, "no change seen"), mean=(90.0, "lower")), 1, None, "not decided"),
        (
            level("on", p99=(120.0, "higher"), mean=(100.0, "no change seen")),
            0,
            None,
            "leave argument x at off",
        ),
        (level("on", p99=(120.0, "higher"), mean=(90.0, "lower")), 0, None, "a lower mean and a higher p99"),
    ],
)
def test_the_sentence_keeps_what_is_proven_and_says_where_the_mean_would_mislead(after, best, keep, said):
    before = level("off", p99=(100.0, ""), mean=(100.0, ""))
    document = {
        "knob": {"argument": "x"},
        "by": "p99",
        "rounds": 6,
        "aside": {},
        "levels": [before, after],
        "best": best,
        "keep": keep,
    }
    assert said in _headline(document)


def test_what_was_infinitely_late_in_a_run_has_no_ratio_and_is_not_kept():
    better = {"against": {"mean": {"change": "lower"}}}
    assert [kept([{}, better], best, "mean") for best in (None, 0, 1)] == [None, None, 1]
    assert kept([{}, {"against": {}}], 1, "mean") is None
    assert kept([{}, {"against": {"mean": {"change": "undecided"}}}], 1, "mean") is None


def test_levels_are_a_list_or_a_range_and_nothing_else():
    assert parse_levels("free, each") == ("free", "each")
    assert parse_levels("0,1..16") == ("0", "1", "2", "4", "8", "16")
    for wrong in ("on", "a,a", "5..5", "0..4,9"):
        with pytest.raises(UsageError):
            parse_levels(wrong)
    assert parse_knob("pinning = true") == {"pinning": True}
    for wrong in ("pinning", "nothing = 1", "pinning = false"):
        with pytest.raises(UsageError):
            parse_knob(wrong)


def test_what_cannot_be_tried_is_refused_before_anything_runs(made, tmp_path):
    ask = MeasureRequest(target="memcached://127.0.0.1:9", rate="1k")
    with pytest.raises(UsageError, match="runs already"):
        opened(ask, "pinning = true", "free,each", out=tmp_path / "a")
    synth = MeasureRequest(target="synth", rate="1k")
    for rounds, by, levels in [(5, "p99", "free,0"), (8, "p98.5", "free,0"), (8, "p99", "free,nowhere")]:
        with pytest.raises(UsageError):
            opened(synth, "cpus = true", levels, rounds, by, tmp_path / "b")
    assert not (tmp_path / "b").exists()
    with pytest.raises(UsageError, match="6"):
        reopened(made[0], 3)
