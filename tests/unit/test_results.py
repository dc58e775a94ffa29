"""Results as Python users get them: frames, figures, pages and documents, from real and from sample documents."""

from __future__ import annotations

import copy
import math
import os
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from messages import raises
from tiny_study import Diary

import hindmost
from hindmost.codes import CODES
from hindmost.errors import StudyError, UsageError
from hindmost.results import AttributionResult, MeasureResult, SearchResult
from hindmost.studies.kind import KINDS
from tests.golden import sample_attributions, sample_results

TINY = ["of", "quantile", "value", "low", "high", "runs", "verdict"]


@pytest.fixture(scope="module")
def pl() -> Any:
    return pytest.importorskip("polars")


@pytest.fixture(scope="module")
def pandas() -> Any:
    return pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def opened(made_study: tuple[Path, Diary], pl: Any) -> MeasureResult:
    found = hindmost.open_study(made_study[0])
    assert isinstance(found, MeasureResult)
    return found


def measured(name: str = "valid") -> MeasureResult:
    return MeasureResult(sample_results.SAMPLES[name]())


def test_a_stored_study_opens_as_the_result_of_its_kind_from_text_or_path(opened):
    again = hindmost.open_study(str(opened.study)).document
    assert {**again, "created": ""} == {**opened.document, "created": ""}
    assert opened.verdict == opened.document["verdict"]
    assert opened.study == Path(opened.study)


def test_every_kind_of_study_has_a_result():
    from hindmost.results.opening import RESULTS

    assert set(RESULTS) == set(KINDS)


def test_opening_a_study_writes_and_prints_nothing(made_study, tmp_path, capfd):
    copied = shutil.copytree(made_study[0], tmp_path / "study")
    before = {path: path.stat().st_mtime_ns for path in sorted(copied.rglob("*"))}
    repr(hindmost.open_study(copied)._repr_html_())
    assert {path: path.stat().st_mtime_ns for path in sorted(copied.rglob("*"))} == before
    assert capfd.readouterr() == ("", "")


def test_a_folder_without_a_study_is_an_error_with_a_hint_and_no_exit(tmp_path):
    with raises(StudyError, "no-such-study", path=str(tmp_path)) as caught:
        hindmost.open_study(tmp_path)
    assert caught.value.hint


def test_latency_is_tidy_and_what_the_document_says(opened, pl):
    frame = opened.latency
    assert frame.columns == TINY
    p99 = frame.row(by_predicate=(pl.col("of") == "latency") & (pl.col("quantile") == "p99"), named=True)
    said = opened.document["latency_us"]["p99"]
    figures = [said[name] for name in ("value", "low", "high")]
    assert [p99[name] for name in ("value", "low", "high")] == figures


def test_isolated_latency_stands_beside_latency_in_rows_of_its_own(pl):
    found = measured("stolen")
    isolated = found.latency.filter(pl.col("of") == "isolated")
    assert isolated["quantile"].to_list() == list(found.document["isolated"]["latency_us"])


def test_what_was_never_answered_is_infinite_and_not_missing(pl):
    found = measured("censored")
    late = {name for name, one in found.document["latency_us"].items() if one["value"] == math.inf}
    rows = found.latency.filter(pl.col("quantile").is_in(sorted(late)) & (pl.col("of") == "latency"))
    assert late
    assert rows["value"].to_list() == [math.inf] * len(late)


def test_parts_of_latency_are_frames_as_latency_is(opened):
    assert opened.parts.columns == TINY
    assert {"service", "send_delay"} <= set(opened.parts["of"])


def test_runs_have_a_row_each_with_rates_counts_and_quantiles(opened):
    runs = opened.runs
    assert runs["run"].to_list() == [1, 2]
    assert (runs["scheduled"] == runs["completed"] + runs["errors"] + runs["timeouts"] + runs["unsent"]).all()
    assert runs["p50_us"].to_list() == [run["latency_us"]["p50"] for run in opened.document["runs"]]


@pytest.mark.parametrize("kept", ["samples", "worst"])
def test_requests_are_read_lazily_and_with_their_place(opened, kept, pl):
    frame = opened.requests(kept)
    assert isinstance(frame, pl.LazyFrame)
    rows = frame.collect()
    stored = pl.concat(
        [pl.read_parquet(path) for path in sorted(opened.study.glob(f"runs/*/{kept}-*.parquet"))]
    )
    assert rows.height == stored.height
    assert set(rows["run"]) == {1, 2}
    assert set(rows["client"]) == {0, 1}
    late = (stored["completed_ns"] - stored["scheduled_ns"]) / 1e3
    assert sorted(rows["latency_us"].drop_nulls()) == pytest.approx(sorted(late.drop_nulls()))


def test_a_pandas_user_gets_pandas_with_the_same_figures(opened, pandas):
    same = hindmost.open_study(opened.study, frames="pandas")
    assert isinstance(same.latency, pandas.DataFrame)
    assert same.latency["value"].to_list() == opened.latency["value"].to_list()
    requests, ours = same.requests(), opened.requests().collect()
    assert isinstance(requests, pandas.DataFrame)
    assert requests["scheduled_ns"].to_list() == ours["scheduled_ns"].to_list()
    assert requests["wire_out_ns"].isna().to_list() == ours["wire_out_ns"].is_null().to_list()
    assert requests["latency_us"].to_list() == pytest.approx(ours["latency_us"].to_list())


def test_without_polars_pandas_is_taken_and_without_both_it_is_an_error(opened, monkeypatch, pandas):
    monkeypatch.setitem(sys.modules, "polars", None)
    assert isinstance(opened.latency, pandas.DataFrame)
    assert isinstance(opened.requests(), pandas.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with raises(UsageError, "missing-library"):
        _ = opened.latency
    with raises(UsageError, "missing-library"):
        opened.requests()


def test_requests_that_were_not_stored_and_a_wrong_word_are_errors(opened, tmp_path):
    with raises(UsageError, "unknown-name", name="worts", known=["samples", "worst"]):
        opened.requests("worts")
    copied = shutil.copytree(opened.study, tmp_path / "study", ignore=shutil.ignore_patterns("*.parquet"))
    with raises(StudyError, "no-requests", path=str(copied)):
        MeasureResult(opened.document, copied).requests()
    with raises(StudyError, "no-requests"):
        hindmost.clone.simulate("silo", requests=1_000).requests()


def test_figures_are_those_of_the_page_and_stand_alone():
    found = measured()
    names = [one.name for one in found.figures]
    assert names[:3] == ["summary", "tail", "runs"]
    for one in found.figures:
        root = ElementTree.fromstring(one.svg)
        assert root.tag.endswith("svg")
        assert root.get("width"), "it has a size of its own"
        assert "var(--latency)" not in one.svg or "--latency:" in one.svg, "its colours are inside"
        assert "http" not in one.svg.replace("http://www.w3.org/2000/svg", "")


def test_a_figure_is_found_by_name_or_words_and_a_wrong_one_is_an_error():
    found = measured()
    assert found.plot() is found.plot("summary")
    assert found.plot("each run") is found.plot("runs")
    with raises(UsageError, "unknown-name", name="serie", known=[one.name for one in found.figures]):
        found.plot("serie")


def test_save_writes_the_page_that_the_command_line_writes(tmp_path):
    found = measured()
    assert found.save(tmp_path / "page.html").read_text() == hindmost.render_page(found.document)
    with raises(StudyError, "unwritable-file", path=str(tmp_path / "no/page.html")) as caught:
        found.save(str(tmp_path / "no" / "page.html"))
    assert caught.value.hint


@pytest.mark.parametrize("result", [measured("hostile"), AttributionResult(sample_attributions.hostile())])
def test_a_notebook_shows_nothing_that_a_server_could_have_written_as_markup(result):
    shown = result._repr_html_()
    assert "<script" not in shown
    assert "<b onload" not in shown
    assert "\x1b" not in shown


def test_a_notebook_shows_verdict_figures_and_a_picture():
    found = measured()
    shown = found._repr_html_()
    assert ">valid</b>" in shown
    assert "<td>p99.9</td>" in shown
    assert 'src="data:image/svg+xml;base64,' in shown
    assert repr(found) == "<MeasureResult: valid>"
    assert str(found) == hindmost.render_terminal(found.document)


def test_an_attribution_gives_effects_runs_and_confirmations(pl):
    found = AttributionResult(sample_attributions.full())
    effects = found.effects.filter((pl.col("quantile") == "p99") & (pl.col("coding") == "average"))
    load = found.document["loads"][0]
    said = {one["term"]: one["value"] for one in load["quantiles"]["p99"]["average"]}
    restored_affinity = effects.filter(pl.col("load") == load["name"])
    assert dict(zip(restored_affinity["term"], restored_affinity["value"], strict=True)) == said
    assert {one["name"] for one in found.document["factors"]} <= set(found.runs.columns)
    assert found.confirmations["ratio"].len() == sum(
        len(one["ratio"]) for one in found.document["confirmations"]
    )
    assert found.recommendation["levels"] == found.document["recommendation"]["levels"]
    assert found.figures


def test_a_search_says_the_rate_and_its_steps_by_rate(pl):
    step = {"outcome": "holds", "value_us": 100.0, "low_us": 90.0, "high_us": 110.0, "runs": 5}
    late = {"outcome": "fails", "value_us": math.inf, "low_us": None, "high_us": None, "runs": 5}
    document = {"objective": "p99<500us", "rate_per_s": 1e4, "finished": True, "headline": "10k/s hold"}
    found = SearchResult({**document, "steps": [{"rate_per_s": 2e4, **late}, {"rate_per_s": 1e4, **step}]})
    assert (found.verdict, found.rate_per_s) == ("found", 1e4)
    assert found.latency["rate_per_s"].to_list() == [1e4, 2e4]
    assert found.latency["value"].to_list() == [100.0, math.inf]
    assert found.latency["quantile"].to_list() == ["p99", "p99"]
    assert SearchResult({**copy.deepcopy(found.document), "rate_per_s": None}).verdict == "open"


def test_a_sweep_is_long_and_wide_and_answers(pl):
    found = hindmost.clone.sweep("silo", {"threads": (1, 2)}, utilisation=[0.3, "60%"], requests=2_000)
    assert found.points.height == 4
    assert found.latency.height == 4 * 5
    assert found.points["threads"].to_list() == [1, 1, 2, 2]
    assert found.points["load"].to_list() == pytest.approx([0.3, 0.6] * 2)
    assert found.figures
    asked = hindmost.clone.sweep(
        "xapian", find="p99<10ms", by="threads", between=(1, 16), rate=2_000, requests=5_000
    )
    assert asked.found["by"].to_list() == ["threads"]
    assert asked.headline == asked.headline.strip()
    assert asked.verdict == "found"


def test_numbers_and_words_ask_for_the_same():
    asked = {"requests": 2_000, "seed": 3}
    by_number = hindmost.clone.simulate("silo", rate=10_000, **asked)
    assert by_number.document == hindmost.clone.simulate("silo", rate="10k", **asked).document
    assert by_number.figures


def test_a_wrong_option_is_refused_before_anything_starts():
    with raises(UsageError, "unknown-option", option="rat") as caught:
        hindmost.measure("synth", rat=1)
    assert {"rate", "connections"} <= set(caught.value.fields["known"])


def test_the_signature_of_measure_tells_every_option():
    import inspect

    from hindmost.run.request import OPTIONS

    shown = inspect.signature(hindmost.measure).parameters
    assert {name: one.default for name, one in OPTIONS.items() if name != "target"}.items() <= {
        name: one.default for name, one in shown.items()
    }.items()


def test_measuring_leaves_this_process_on_its_processors():
    from hindmost.results.api import restored_affinity

    mine = os.sched_getaffinity(0)
    with restored_affinity():
        os.sched_setaffinity(0, {min(mine)})
    assert os.sched_getaffinity(0) == mine


def test_limits_of_a_stored_study_are_judged_and_a_wrong_one_is_refused(opened):
    found = hindmost.open_study(opened.study, require=["p50<1h", "mean<1ns"])
    assert found.limits["limit"].to_list() == ["p50<1h", "mean<1ns"]
    assert found.limits["result"].to_list()[1] != "held"
    assert opened.limits.height == 0
    assert "result" in opened.limits.columns
    with pytest.raises(UsageError) as caught:
        hindmost.open_study(opened.study, require=["p77<1ms"])
    assert caught.value.code in CODES


def test_a_study_compared_with_itself_has_ratios_of_one(opened, tmp_path):
    other = shutil.copytree(opened.study, tmp_path / "other")
    found = hindmost.compare(opened, other, fail_if=["p50>+50%"], anyway=True)
    assert set(found.ratios["ratio"].drop_nulls()) == {1.0}
    assert found.limits.height == 1
    assert found.latency["side"].n_unique() == 2
    assert found.page()
    assert str(found)
    with raises(UsageError, "conflicting-options", option="rate"):
        hindmost.compare(opened, other, rate=100)
