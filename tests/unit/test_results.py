"""Results for Python users: frames, figures, pages and documents, from real and sample documents."""

from __future__ import annotations

import math
import os
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import msgspec
import pytest
from messages import raises
from msgspec.structs import replace
from sample_searches import make_search, make_step
from tiny_study import Diary

import hindmost
from hindmost.core.codes import CODES
from hindmost.core.study.kind import KINDS
from hindmost.errors import StudyError, UsageError
from hindmost.results import AttributionResult, MeasureResult, Result, SearchResult
from tests.golden import sample_attributions, sample_results
from tests.golden.sample_attributions import typed

TINY = ["of", "quantile", "value", "low", "high", "runs", "verdict"]


@pytest.fixture(scope="module")
def pl() -> Any:
    return pytest.importorskip("polars")


@pytest.fixture(scope="module")
def pandas() -> Any:
    return pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def stored_result(made_study: tuple[Path, Diary], pl: Any) -> MeasureResult:
    result = hindmost.open_study(made_study[0])
    assert isinstance(result, MeasureResult)
    return result


def sample_result(name: str = "valid") -> MeasureResult:
    return MeasureResult(sample_results.typed(sample_results.SAMPLES[name]()))


def test_a_stored_study_opens_as_a_result_of_its_kind(stored_result):
    reopened, document = hindmost.open_study(str(stored_result.study)).document, stored_result.document
    assert replace(reopened, created="") == replace(document, created="")
    assert stored_result.verdict == stored_result.document.verdict
    assert stored_result.study == Path(stored_result.study)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_study_has_a_result(name):
    kind = import_module(KINDS[name]).KIND
    assert issubclass(resolve_name(kind.result_class), Result)


def test_opening_a_study_writes_and_prints_nothing(made_study, tmp_path, capfd):
    copied = shutil.copytree(made_study[0], tmp_path / "study")
    before = {path: path.stat().st_mtime_ns for path in sorted(copied.rglob("*"))}
    repr(hindmost.open_study(copied)._repr_html_())
    assert {path: path.stat().st_mtime_ns for path in sorted(copied.rglob("*"))} == before
    assert capfd.readouterr() == ("", "")


def test_a_folder_without_a_study_is_an_error_with_a_hint(tmp_path):
    with raises(StudyError, "no-such-study", path=str(tmp_path)) as caught:
        hindmost.open_study(tmp_path)
    assert caught.value.hint


def test_the_latency_frame_has_the_values_of_the_document(stored_result, pl):
    frame = stored_result.latency
    assert frame.columns == TINY
    p99 = frame.row(by_predicate=(pl.col("of") == "latency") & (pl.col("quantile") == "p99"), named=True)
    expected_values = stored_result.document.latency_us["p99"]
    figures = [getattr(expected_values, name) for name in ("value", "low", "high")]
    assert [p99[name] for name in ("value", "low", "high")] == figures


def test_isolated_latency_has_its_own_rows(pl):
    result = sample_result("stolen")
    isolated = result.latency.filter(pl.col("of") == "isolated")
    assert isolated["quantile"].to_list() == list(result.document.isolated.latency_us)


def test_an_unanswered_percentile_is_infinite_and_not_missing(pl):
    result = sample_result("censored")
    late = {name for name, figure in result.document.latency_us.items() if figure.value == math.inf}
    rows = result.latency.filter(pl.col("quantile").is_in(sorted(late)) & (pl.col("of") == "latency"))
    assert late
    assert rows["value"].to_list() == [math.inf] * len(late)


def test_parts_of_latency_have_the_columns_of_latency(stored_result):
    assert stored_result.parts.columns == TINY
    assert {"service", "send_delay"} <= set(stored_result.parts["of"])


def test_runs_have_a_row_each_with_rates_counts_and_quantiles(stored_result):
    runs = stored_result.runs
    assert runs["run"].to_list() == [1, 2]
    assert (runs["scheduled"] == runs["completed"] + runs["errors"] + runs["timeouts"] + runs["unsent"]).all()
    assert runs["p50_us"].to_list() == [run.latency_us["p50"] for run in stored_result.document.runs]


@pytest.mark.parametrize("kind", ["samples", "worst"])
def test_requests_are_read_lazily_with_run_and_client(stored_result, kind, pl):
    frame = stored_result.requests(kind)
    assert isinstance(frame, pl.LazyFrame)
    rows = frame.collect()
    stored = pl.concat(
        [pl.read_parquet(path) for path in sorted(stored_result.study.glob(f"runs/*/{kind}-*.parquet"))]
    )
    assert rows.height == stored.height
    assert set(rows["run"]) == {1, 2}
    assert set(rows["client"]) == {0, 1}
    late = (stored["completed_ns"] - stored["scheduled_ns"]) / 1e3
    assert sorted(rows["latency_us"].drop_nulls()) == pytest.approx(sorted(late.drop_nulls()))


def test_a_pandas_user_gets_pandas_with_the_same_figures(stored_result, pandas):
    same = hindmost.open_study(stored_result.study, frames="pandas")
    assert isinstance(same.latency, pandas.DataFrame)
    assert same.latency["value"].to_list() == stored_result.latency["value"].to_list()
    requests, expected = same.requests(), stored_result.requests().collect()
    assert isinstance(requests, pandas.DataFrame)
    assert requests["scheduled_ns"].to_list() == expected["scheduled_ns"].to_list()
    assert requests["wire_out_ns"].isna().to_list() == expected["wire_out_ns"].is_null().to_list()
    assert requests["latency_us"].to_list() == pytest.approx(expected["latency_us"].to_list())


def test_without_polars_pandas_is_used_and_without_both_it_is_an_error(stored_result, monkeypatch, pandas):
    monkeypatch.setitem(sys.modules, "polars", None)
    assert isinstance(stored_result.latency, pandas.DataFrame)
    assert isinstance(stored_result.requests(), pandas.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with raises(UsageError, "missing-library"):
        _ = stored_result.latency
    with raises(UsageError, "missing-library"):
        stored_result.requests()


def test_missing_requests_and_a_wrong_kind_are_errors(stored_result, tmp_path):
    with raises(UsageError, "unknown-name", name="worts", known=["samples", "worst"]):
        stored_result.requests("worts")
    copied = shutil.copytree(
        stored_result.study, tmp_path / "study", ignore=shutil.ignore_patterns("*.parquet")
    )
    with raises(StudyError, "no-requests", path=str(copied)):
        MeasureResult(stored_result.document, copied).requests()
    with raises(StudyError, "no-requests"):
        hindmost.clone.simulate("silo", requests=1_000).requests()


def test_figures_are_those_of_the_page_and_self_contained():
    result = sample_result()
    names = [figure.name for figure in result.figures]
    assert names[:3] == ["summary", "tail", "runs"]
    for figure in result.figures:
        root = ElementTree.fromstring(figure.svg)
        assert root.tag.endswith("svg")
        assert root.get("width"), "the figure has no size"
        assert "var(--latency)" not in figure.svg or "--latency:" in figure.svg, (
            "the figure refers to colours of the page"
        )
        assert "http" not in figure.svg.replace("http://www.w3.org/2000/svg", "")


def test_a_figure_is_found_by_name_or_title():
    result = sample_result()
    assert result.plot() is result.plot("summary")
    assert result.plot("each run") is result.plot("runs")
    with raises(UsageError, "unknown-name", name="serie", known=[figure.name for figure in result.figures]):
        result.plot("serie")


def test_save_writes_the_page_of_the_command_line(tmp_path):
    result = sample_result()
    assert result.save(tmp_path / "page.html").read_text() == hindmost.render_page(result.document)
    with raises(StudyError, "unwritable-file", path=str(tmp_path / "no/page.html")) as caught:
        result.save(str(tmp_path / "no" / "page.html"))
    assert caught.value.hint


@pytest.mark.parametrize(
    "result", [sample_result("hostile"), AttributionResult(typed(sample_attributions.hostile()))]
)
def test_a_notebook_shows_no_markup_from_a_server(result):
    html = result._repr_html_()
    assert "<script" not in html
    assert "<b onload" not in html
    assert "\x1b" not in html


def test_a_notebook_shows_verdict_figures_and_a_picture():
    result = sample_result()
    html = result._repr_html_()
    assert ">valid</b>" in html
    assert "<td>p99.9</td>" in html
    assert 'src="data:image/svg+xml;base64,' in html
    assert repr(result) == "<MeasureResult: valid>"
    assert str(result) == hindmost.render_terminal(result.document)


def test_an_attribution_gives_effects_runs_and_confirmations(pl):
    result = AttributionResult(typed(sample_attributions.full()))
    effects = result.effects.filter((pl.col("quantile") == "p99") & (pl.col("coding") == "average"))
    load = result.document.loads[0]
    expected_values = {effect.term: effect.value for effect in load.quantiles["p99"].average}
    at_load = effects.filter(pl.col("load") == load.name)
    assert dict(zip(at_load["term"], at_load["value"], strict=True)) == expected_values
    assert {factor.name for factor in result.document.factors} <= set(result.runs.columns)
    assert result.confirmations["ratio"].len() == sum(
        len(confirmation.ratio) for confirmation in result.document.confirmations
    )
    assert result.recommendation is result.document.recommendation
    assert result.figures


def test_a_search_has_the_rate_and_its_steps_by_rate(pl):
    late = make_step(2e4, "fails", math.inf, low_us=None, high_us=None)
    document = make_search(late, make_step(1e4, us=100.0), rate_per_s=1e4)
    result = SearchResult(document)
    assert (result.verdict, result.rate_per_s) == ("found", 1e4)
    assert result.latency["rate_per_s"].to_list() == [1e4, 2e4]
    assert result.latency["value"].to_list() == [100.0, math.inf]
    assert result.latency["quantile"].to_list() == ["p99", "p99"]
    assert SearchResult(msgspec.structs.replace(document, rate_per_s=None)).verdict == "open"


def test_a_sweep_has_points_latencies_and_a_found_value(pl):
    result = hindmost.clone.sweep("silo", {"threads": (1, 2)}, utilisation=[0.3, "60%"], requests=2_000)
    assert result.points.height == 4
    assert result.latency.height == 4 * 5
    assert result.points["threads"].to_list() == [1, 1, 2, 2]
    assert result.points["load"].to_list() == pytest.approx([0.3, 0.6] * 2)
    assert result.figures
    search = hindmost.clone.sweep(
        "xapian", find="p99<10ms", by="threads", between=(1, 16), rate=2_000, requests=5_000
    )
    assert search.found["by"].to_list() == ["threads"]
    assert search.headline == search.headline.strip()
    assert search.verdict == "found"


def test_numbers_and_texts_are_equivalent_options():
    options = {"requests": 2_000, "seed": 3}
    by_number = hindmost.clone.simulate("silo", rate=10_000, **options)
    assert by_number.document == hindmost.clone.simulate("silo", rate="10k", **options).document
    assert by_number.figures


def test_a_wrong_option_is_refused_before_anything_starts():
    with raises(UsageError, "unknown-option", option="rat") as caught:
        hindmost.measure("synth", rat=1)
    assert {"rate", "connections"} <= set(caught.value.fields["known"])


def test_the_signature_of_measure_has_every_option():
    import inspect

    from hindmost.core.run.request import OPTIONS

    parameters = inspect.signature(hindmost.measure).parameters
    assert {name: option.default for name, option in OPTIONS.items() if name != "target"}.items() <= {
        name: parameter.default for name, parameter in parameters.items()
    }.items()


def test_measuring_restores_the_cpus_of_this_process():
    from hindmost.core.results.call import restored_affinity

    cpus = os.sched_getaffinity(0)
    with restored_affinity():
        os.sched_setaffinity(0, {min(cpus)})
    assert os.sched_getaffinity(0) == cpus


def test_limits_are_checked_on_a_stored_study(stored_result):
    result = hindmost.open_study(stored_result.study, require=["p50<1h", "mean<1ns"])
    assert result.limits["limit"].to_list() == ["p50<1h", "mean<1ns"]
    assert result.limits["result"].to_list()[1] != "held"
    assert stored_result.limits.height == 0
    assert "result" in stored_result.limits.columns
    with pytest.raises(UsageError) as caught:
        hindmost.open_study(stored_result.study, require=["p77<1ms"])
    assert caught.value.code in CODES


def test_a_study_compared_with_itself_has_ratios_of_one(stored_result, tmp_path):
    copied = shutil.copytree(stored_result.study, tmp_path / "copy")
    result = hindmost.compare(stored_result, copied, fail_if=["p50>+50%"], anyway=True)
    assert set(result.ratios["ratio"].drop_nulls()) == {1.0}
    assert result.limits.height == 1
    assert result.latency["side"].n_unique() == 2
    assert result.page()
    assert str(result)
    with raises(UsageError, "conflicting-options", option="rate"):
        hindmost.compare(stored_result, copied, rate=100)
