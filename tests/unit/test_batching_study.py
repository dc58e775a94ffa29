"""A study of batching: which ways are tried, what is said of them, and that it is answered from its folder."""

import json
import re
from dataclasses import replace

import pytest
from tiny_study import HOST, tiny_plan

from hindmost import open_study
from hindmost.errors import UsageError
from hindmost.report.batching import render_batching, render_batching_page
from hindmost.report.batching.charts import best_by_rate, improvement, variability
from hindmost.run.request import MeasureRequest
from hindmost.stats import contrasts, least_pairs
from hindmost.store import Study
from hindmost.studies.batching import Asked, answer, opened, reopened
from hindmost.studies.batching.asked import parse_intervals, usual_intervals
from hindmost.studies.kind import carry_out
from hindmost.studies.talk import Silent

SIDES = [
    (500.0, "none"),
    (500.0, "nagle"),
    (500.0, 0.004),
    (1000.0, "none"),
    (1000.0, "nagle"),
    (1000.0, 0.004),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A real study: two rounds of tiny runs of the synthetic server, three ways at two rates.

    Made again where a busy host spoilt a run, so that its way has one only.
    """
    plan = tiny_plan().model_copy(update={"target": "synth", "clients": 1, "runs": (2, 2), "remake": 0.0})
    asked = Asked(plan, SIDES)
    manifest = {"plan": plan.model_dump(mode="json"), "host": HOST, "kind": "batching", "created": "x"}
    for _ in range(5):
        place = tmp_path_factory.mktemp("batched") / "study"
        study = Study.create(place, {**manifest, "batching": asked.manifest()})
        shown = carry_out(study, Silent())
        sides = [side for rate in shown.document["rates"] for side in rate["sides"]]
        if all(len(side["values_us"]["mean"]) == 2 for side in sides):
            break
    return study.folder, shown


def test_every_way_has_a_run_in_each_round_and_batches_as_it_says(made):
    folder, shown = made
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
    assert document["headline"].endswith("2 rounds cannot tell 3 ways apart, whatever they show: 7 can")
    assert "not told from it" not in document["headline"]


def test_it_is_answered_again_from_its_folder_alone(made):
    folder, shown = made
    again = answer(Study.open(folder))
    assert {**again, "created": ""} == {**shown.document, "created": ""}
    result = open_study(folder)
    assert result.best == {500.0: 0.004, 1000.0: 0.004}
    assert len(result.latency) == 6 * len(again["rates"][0]["sides"][0]["latency_us"])


def test_the_page_draws_the_figures_of_the_paper(made):
    document = made[1].document
    page = render_batching_page(document)
    assert {f"Figure {n}" for n in ("4", "5 a", "5 b", "6", "7")} <= set(
        re.findall(r"Figure \d(?: [ab])?", page)
    )
    for chart in (improvement, best_by_rate, variability):
        assert "<svg" in (chart(document, 700.0) or ""), chart.__name__
    one_rate = {**document, "rates": document["rates"][:1]}
    assert best_by_rate(one_rate, 700.0) is None, "a line needs two rates"
    table = render_batching(document, 100)
    assert "500.0/s" in table
    assert "4000us" in table
    assert "[nan" not in table


def test_a_study_that_goes_on_keeps_what_it_has(made):
    with pytest.raises(UsageError, match="--rounds 1 is not between"):
        reopened(made[0], 1)
    before = {path: path.stat().st_mtime_ns for path in made[0].glob("*/runs/*/run.json")}
    assert len(before) == 12
    carry_out(Study.open(made[0]), Silent())
    assert {path: path.stat().st_mtime_ns for path in made[0].glob("*/runs/*/run.json")} == before


def test_usual_intervals_hold_two_to_thirty_two_requests_of_a_connection():
    assert [one * 50_000 / 10 for one in usual_intervals(50_000.0, 10)] == pytest.approx([2, 4, 8, 16, 32])
    assert usual_intervals(10.0, 100) == [], "none that would be most of the latency"


@pytest.mark.parametrize(
    ("changes", "more", "said"),
    [
        ({"rate": None}, {}, "--rate is missing"),
        ({"rate": "1k,1000"}, {}, "names a rate twice"),
        ({"rate": "1k", "closed": True}, {}, "--closed leaves nothing to batch"),
        ({"rate": "1k"}, {"intervals": "1ms,nagle"}, "not a list of at most"),
        ({"rate": "1k"}, {"by": "p98"}, "not among mean, p50"),
        ({"rate": "1k"}, {"intervals": "3s"}, "below timeout_s"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_starts(changes, more, said, tmp_path):
    with pytest.raises(UsageError, match=re.escape(said)):
        opened(MeasureRequest(target="synth", **changes), out=tmp_path / "study", **more)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("end", ["stop", "refuse", "again"])
def test_a_trace_that_does_not_begin_again_goes_with_one_rate(tmp_path, end):
    times = tmp_path / "times"
    times.write_text("".join(f"{0.001 * at:.3f}\n" for at in range(10_000)))
    request = MeasureRequest(
        target="synth", arrivals=f"trace:{times},end={end}", duration="1s", warmup="1s", rate="1k,2k"
    )
    if end == "again":
        assert opened(request, rounds=7, out=tmp_path / "two")
        return
    with pytest.raises(UsageError, match=f"--rate 1k,2k does not go with end={end}.*10,000 moments"):
        opened(request, rounds=7, out=tmp_path / "two")
    assert opened(replace(request, rate="1k"), rounds=7, out=tmp_path / "one")


def test_intervals_are_tried_in_their_order():
    assert parse_intervals("1ms, 50us") == pytest.approx([5e-05, 0.001])


def test_as_many_rounds_are_made_as_can_tell_the_ways_apart():
    """Nine values of one side below all of the other's, with seven such sides; eight never suffice."""
    slow, fast = {"mean": [2.0 + 0.01 * i for i in range(9)]}, {"mean": [1.0 + 0.01 * i for i in range(9)]}
    assert least_pairs(7) == 9
    for pairs, word in ((9, "slower"), (8, "undecided")):
        first, second = ({"mean": side["mean"][:pairs]} for side in (fast, slow))
        found = contrasts(first, second, paired=True, comparisons=7)["mean"]
        assert (found.word, found.more) == (word, 9 - pairs)
