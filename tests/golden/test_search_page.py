"""The page of a search: percentiles with intervals against the rate, the answer marked, excluded steps shown."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from pages import LOADING, Page

from hindmost.commands.measure.search.view.page import render_search_page
from hindmost.present import numbers


def step(rate: float, outcome: str, us: float | None, **changes: Any) -> dict[str, Any]:
    ends = {"low_us": None if us is None else 0.9 * us, "high_us": None if us is None else 1.1 * us}
    result = {"runs": 5, "achieved_per_s": rate, "why": f"p99 is {us} us", "study": f"steps/{rate:g}"}
    more = {"left_out": 0, "error": 0.02, "at_most_per_s": None, "above": 0}
    return {"rate_per_s": rate, "outcome": outcome, "value_us": us, **ends, **result, **more, **changes}


def estimate(us: float | None) -> dict[str, Any]:
    ends = {"low": None if us is None else 0.9 * us, "high": None if us is None else 1.1 * us}
    return {"value": us, **ends, "runs": 5, "censored_runs": 0, "verdict": "valid"}


STEPS = [
    step(10_000.0, "holds", 210.0),
    step(40_000.0, "fails", 900.0),
    step(20_000.0, "spoiled", 5_000.0, left_out=4, why="the host disturbed 4 of 5 runs; steal"),
    step(20_000.0, "holds", 400.0, study="steps/20000-2"),
    step(80_000.0, "unmet", None, runs=0, achieved_per_s=None, why="the server died of it"),
]
SEARCH: dict[str, Any] = {
    "schema": "hindmost.search/1",
    "created": "2026-01-02T03:04:05Z",
    "objective": "p99<500us",
    "finished": True,
    "headline": "p99<500us holds up to 20,000 requests/s: 400 us [360 us, 440 us], median over 5 runs",
    "rate_per_s": 20_000.0,
    "not_at_per_s": 40_000.0,
    "low_per_s": 19_000.0,
    "high_per_s": 26_000.0,
    "confidence": 0.9,
    "steps": STEPS,
}
LATENCIES: dict[str, Any] = {
    one["study"]: {"p50": estimate(0.3 * one["value_us"]), "p99": estimate(one["value_us"])}
    for one in STEPS
    if one["value_us"] is not None
}


def page_text(html: str) -> str:
    return " ".join(" ".join(Page(html).text).replace(numbers.THIN, " ").split())


def test_the_page_is_well_formed_and_loads_nothing():
    page = Page(render_search_page(SEARCH, LATENCIES))  # type: ignore[arg-type]
    assert (page.faults, page.open) == ([], [])
    for attribute in LOADING:
        assert all(value is None or value.startswith(("#", "data:,")) for value in page.attributes(attribute))


def test_each_step_has_its_percentiles_with_intervals_and_a_dot():
    html = render_search_page(SEARCH, LATENCIES)  # type: ignore[arg-type]
    text = page_text(html)
    assert "400 [360, 440] µs" in text
    assert "120 [108, 132] µs" in text
    dots = html.count("<circle")
    assert dots == 2 * 2 * len(LATENCIES), "a dot for each percentile and step, for wide and narrow screens"


def test_the_answer_its_interval_and_the_limit_are_marked():
    html = render_search_page(SEARCH, LATENCIES)  # type: ignore[arg-type]
    text = page_text(html)
    assert {"19,000/s", "26,000/s", "90 %"} <= set(re.findall(r"\d[\d,]* ?(?:/s|%)", text))
    assert html.count('class="answer"') == 2
    assert html.count('class="band"') == 2
    assert "p99 < 500 µs" in text


def test_excluded_steps_are_drawn_hollow():
    html = render_search_page(SEARCH, LATENCIES)  # type: ignore[arg-type]
    assert html.count('class="hollow') == 2 * 2
    text = page_text(html)
    for one in STEPS:
        if one["outcome"] in ("spoiled", "unmet"):
            assert one["why"] in text


@pytest.mark.parametrize(
    "latencies", [{}, {"steps/10000": {"p99": estimate(None)}}], ids=["none", "infinite"]
)
def test_a_search_without_a_latency_has_a_page(latencies):
    document = copy.deepcopy(SEARCH) | {"rate_per_s": None, "low_per_s": None, "high_per_s": None}
    html = render_search_page(document, latencies)  # type: ignore[arg-type]
    assert Page(html).faults == []
    assert "<circle" not in html


def test_hostile_texts_are_shown_as_text():
    document = copy.deepcopy(SEARCH)
    document["headline"] = document["steps"][0]["why"] = "</script><b onload=alert(1)>"
    html = render_search_page(document, LATENCIES)  # type: ignore[arg-type]
    assert "<b onload" not in html


def test_a_search_with_only_excluded_steps_claims_no_interval():
    document = copy.deepcopy(SEARCH) | {"rate_per_s": None}
    document["steps"] = [document["steps"][2]]
    html = render_search_page(document, LATENCIES)  # type: ignore[arg-type]
    assert 'class="band"' not in html
