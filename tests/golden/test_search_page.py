"""View of a search: percentiles with intervals against the rate, the answer marked, excluded steps."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from pages import LOADING, Page
from sample_searches import make_search, make_step

from hindmost.commands.measure.search.document import Search
from hindmost.commands.measure.search.view import view
from hindmost.core.store.measure import Estimate, Estimates
from hindmost.present import numbers
from hindmost.present.markdown import render_markdown
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal


def estimate(us: float | None) -> dict[str, Any]:
    ends = {"low": None if us is None else 0.9 * us, "high": None if us is None else 1.1 * us}
    return Estimate(value=us, **ends, runs=5, censored_runs=0, verdict="valid")


SEARCH = make_search(
    make_step(10_000.0, "holds", 210.0),
    make_step(40_000.0, "fails", 900.0),
    make_step(20_000.0, "spoiled", 5_000.0, left_out=4, why="the host disturbed 4 of 5 runs; steal"),
    make_step(20_000.0, "holds", 400.0, study="steps/20000-2"),
    make_step(80_000.0, "unmet", None, runs=0, achieved_per_s=None, why="the server died of it"),
)
LATENCIES: dict[str, Any] = {
    one.study: {"p50": estimate(0.3 * one.value_us), "p99": estimate(one.value_us)}
    for one in SEARCH.steps
    if one.value_us is not None
}


def page_of(doc: Search = SEARCH, latencies: dict[str, Estimates] = LATENCIES) -> str:
    return render_page(view(doc, latencies))


def page_text(html: str) -> str:
    return " ".join(" ".join(Page(html).text).replace(numbers.THIN, " ").split())


def test_the_page_is_well_formed_and_loads_nothing():
    page = Page(page_of())
    assert (page.faults, page.open) == ([], [])
    for attribute in LOADING:
        assert all(value is None or value.startswith(("#", "data:,")) for value in page.attributes(attribute))


def test_each_step_has_its_percentiles_with_intervals_and_a_dot():
    html = page_of()
    text = page_text(html)
    assert "400 µs [360, 440]" in text
    assert "120 µs [108, 132]" in text
    dots = html.count("<circle")
    assert dots == 2 * 2 * len(LATENCIES), "a dot for each percentile and step, for wide and narrow screens"


def test_the_answer_its_interval_and_the_limit_are_marked():
    html = page_of()
    text = page_text(html)
    assert {"19,000/s", "26,000/s", "90 %"} <= set(re.findall(r"\d[\d,]* ?(?:/s|%)", text))
    assert html.count('class="answer"') == 2
    assert html.count('class="band"') == 2
    assert "p99 < 500 µs" in text


def test_excluded_steps_are_drawn_hollow():
    html = page_of()
    assert html.count('class="hollow') == 2 * 2
    text = page_text(html)
    for one in SEARCH.steps:
        if one.outcome in ("spoiled", "unmet"):
            assert one.why in text


def test_terminal_and_markdown_have_the_figure_of_each_step():
    shown = view(SEARCH, LATENCIES)
    for text in (render_terminal(shown, width=100, color=False), render_markdown(shown)):
        for one in SEARCH.steps:
            assert f"{one.rate_per_s:,.0f}" in text
            assert one.value_us is None or f"{one.value_us:.0f}" in text


@pytest.mark.parametrize(
    "latencies", [{}, {"steps/10000": {"p99": estimate(None)}}], ids=["none", "infinite"]
)
def test_a_search_without_a_latency_has_a_page(latencies):
    unknown = {"rate_per_s": None, "low_per_s": None, "high_per_s": None}
    html = page_of(msgspec.structs.replace(SEARCH, **unknown), latencies)
    assert Page(html).faults == []
    assert "<circle" not in html


def test_hostile_texts_are_shown_as_text():
    hostile = "</script><b onload=alert(1)>"
    html = page_of(make_search(make_step(10_000.0, why=hostile), headline=hostile))
    assert "<b onload" not in html


def test_a_search_with_only_excluded_steps_claims_no_interval():
    html = page_of(make_search(SEARCH.steps[2], rate_per_s=None))
    assert 'class="band"' not in html
