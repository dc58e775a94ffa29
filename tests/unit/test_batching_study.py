"""Comparisons of batching intervals: the arms, the ratios, and the answer from the folder alone."""

import json
import math
import re
import shutil
from dataclasses import replace

import msgspec
import pytest
from messages import raises
from tiny_study import HOST, tiny_plan

from hindmost import open_study
from hindmost.commands.compare.batching import BatchingRequest, answer, open_new, reopen
from hindmost.commands.compare.batching.answer import summarise_known
from hindmost.commands.compare.batching.request import default_intervals, parse_intervals
from hindmost.commands.compare.view.batching import view
from hindmost.commands.compare.view.batching_charts import best_by_rate, improvement, variability
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store import Study
from hindmost.core.store.estimates import UNKNOWN, to_document
from hindmost.core.study.kind import carry_out
from hindmost.core.study.talk import Silent
from hindmost.errors import UsageError
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal
from hindmost.stats import contrasts, least_pairs

ARMS = [
    (500.0, "none"),
    (500.0, "nagle"),
    (500.0, 0.004),
    (1000.0, "none"),
    (1000.0, "nagle"),
    (1000.0, 0.004),
]


@pytest.fixture(scope="module")
def stored_study(tmp_path_factory):
    """A real study: two rounds, the second a copy of the first, with three batching modes at two rates.

    It is repeated if interference on a busy host excluded the round.
    """
    plan = tiny_plan().model_copy(update={"clients": 1, "runs": (1, 1)})
    request = BatchingRequest(plan, ARMS)
    manifest = {"plan": plan.model_dump(mode="json"), "host": HOST, "kind": "batching", "created": "x"}
    for _ in range(5):
        folder = tmp_path_factory.mktemp("batched") / "study"
        study = Study.create(folder, {**manifest, "batching": request.manifest()})
        if carry_out(study, Silent()).document["rounds"] == 1:
            break
    for run in folder.glob("*/runs/0001"):
        shutil.copytree(run, run.with_name("0002"))
    return folder, carry_out(reopen(folder, 2), Silent())


def test_every_arm_has_a_run_in_each_round_and_the_requested_batching(stored_study):
    folder, shown = stored_study
    document = json.loads((folder / "batching.json").read_text())
    assert [rate["rate_per_s"] for rate in document["rates"]] == [500.0, 1000.0]
    for rate in document["rates"]:
        none, nagle, interval = rate["sides"]
        assert [side["batching"] for side in rate["sides"]] == ["none", "nagle", 0.004]
        assert all(len(side["values_us"]["mean"]) == 2 for side in rate["sides"])
        assert interval["requests_per_write"] > none["requests_per_write"]
        assert set(interval["against"]) == {"none", "nagle"}
        assert set(nagle["against"]) == {"none"}
        means = [side["latency_us"]["mean"]["value"] for side in rate["sides"]]
        assert rate["best"] == means.index(min(means))
        assert rate["best_interval"] == 2
    assert shown.document["headline"] == document["headline"]
    assert (document["rounds"], document["aside"]) == (2, {})
    assert document["least_rounds"] == 7, "for two comparisons among three modes"


def test_the_folder_alone_gives_the_same_answer(stored_study):
    folder, shown = stored_study
    recomputed = answer(Study.open(folder))
    assert {**to_document(recomputed), "created": ""} == {**shown.document, "created": ""}
    result = open_study(folder)
    assert result.best == {500.0: 0.004, 1000.0: 0.004}
    assert len(result.latency) == 6 * len(recomputed.rates[0].sides[0].latency_us)


def test_the_page_has_the_figures_of_the_paper(stored_study):
    document = stored_study[1].answer
    page = render_page(view(document))
    assert set(re.findall(r"Figure (\d(?: [ab])?)", page)) >= {"4", "5 a", "5 b", "6", "7"}
    for chart in (improvement, best_by_rate, variability):
        assert "<svg" in (chart(document, 700.0) or ""), chart.__name__
    one_rate = msgspec.structs.replace(document, rates=document.rates[:1])
    assert best_by_rate(one_rate, 700.0) is None, "a line needs two rates"
    table = render_terminal(view(document), width=100)
    assert "500.0/s" in table
    assert "4000us" in table
    assert "[nan" not in table


def test_a_resumed_study_keeps_its_runs(stored_study):
    with raises(UsageError, "bad-value", option="--pairs", value=1, least=2):
        reopen(stored_study[0], 1)
    before = {path: path.stat().st_mtime_ns for path in stored_study[0].glob("*/runs/*/run.json")}
    assert len(before) == 12
    carry_out(Study.open(stored_study[0]), Silent())
    assert {path: path.stat().st_mtime_ns for path in stored_study[0].glob("*/runs/*/run.json")} == before


def test_default_intervals_batch_2_to_32_requests_of_a_connection():
    assert [interval * 50_000 / 10 for interval in default_intervals(50_000.0, 10)] == pytest.approx(
        [2, 4, 8, 16, 32]
    )
    assert default_intervals(10.0, 100) == [], "intervals that would dominate the latency are left out"


@pytest.mark.parametrize(
    ("changes", "more", "code", "fields"),
    [
        ({"rate": None}, {}, "missing-argument", {"option": "--rate"}),
        ({"rate": "1k,1000"}, {}, "bad-value", {"option": "--rate", "value": "1k,1000"}),
        ({"rate": "1k", "closed": True}, {}, "conflicting-options", {"option": "--closed"}),
        ({"rate": "1k"}, {"intervals": "1ms,nagle"}, "bad-value", {"option": "--batch", "most": 50}),
        ({"rate": "1k"}, {"by": "p98"}, "unknown-name", {"option": "--by", "value": "p98"}),
        ({"rate": "1k"}, {"intervals": "3s"}, "bad-value", {"key": "batching.interval.seconds"}),
    ],
)
def test_bad_requests_are_refused_before_anything_starts(changes, more, code, fields, tmp_path):
    with raises(UsageError, code, **fields):
        open_new(MeasureRequest(target="synth", **changes), out=tmp_path / "study", **more)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("end", ["stop", "refuse", "again"])
def test_a_trace_that_does_not_repeat_allows_one_rate_only(tmp_path, end):
    times = tmp_path / "times"
    times.write_text("".join(f"{0.001 * at:.3f}\n" for at in range(3_000)))
    request = MeasureRequest(
        target="synth", arrivals=f"trace:{times},end={end}", duration="1s", warmup="1s", rate="1k,2k"
    )
    if end == "again":
        assert open_new(request, rounds=7, out=tmp_path / "two")
        return
    with raises(UsageError, "conflicting-options", path=str(times), value=f"end={end}"):
        open_new(request, rounds=7, out=tmp_path / "two")
    if end == "stop":
        assert open_new(replace(request, rate="1k"), rounds=7, out=tmp_path / "one")


def test_intervals_are_sorted():
    assert parse_intervals("1ms, 50us") == pytest.approx([5e-05, 0.001])


def test_least_pairs_is_the_least_number_that_can_decide():
    """With seven comparisons, nine pairs that all agree decide, and eight never do."""
    slow, fast = {"mean": [2.0 + 0.01 * i for i in range(9)]}, {"mean": [1.0 + 0.01 * i for i in range(9)]}
    assert least_pairs(7) == 9
    for pairs, word in ((9, "slower"), (8, "undecided")):
        first, second = ({"mean": side["mean"][:pairs]} for side in (fast, slow))
        found = contrasts(first, second, paired=True, comparisons=7)["mean"]
        assert (found.word, found.more) == (word, 9 - pairs)


def test_a_run_without_replies_does_not_change_the_summary_of_the_others():
    summary = summarise_known([0.5, math.nan], "median")
    assert summary.value == 0.5
    assert summarise_known([math.nan], "median") == UNKNOWN
