"""Properties of every page, whatever its document contains or lacks."""

import copy
import math
import re
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import pytest
from pages import LOADING, Page
from sample_results import HOSTILE, SAMPLES, typed, valid, with_steal

from hindmost.commands.measure import view
from hindmost.commands.measure.view.wording import title
from hindmost.core.store.measure import Measure
from hindmost.present import numbers


def render_page(document: dict[str, Any]) -> str:
    """Render the page of a sample, which may be changed."""
    return view.render_page(typed(document))


def render_terminal(document: dict[str, Any], **how: Any) -> str:
    """Render the terminal's text of a sample, which may be changed."""
    return view.render_terminal(typed(document), **how)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_has_no_scripts_and_loads_nothing(name):
    page = Page(render_page(SAMPLES[name]()))
    assert page.faults == []
    assert page.open == []
    for attribute in LOADING:
        for value in page.attributes(attribute):
            assert value is None or value.startswith(("#", "data:,")), (attribute, value)
    policies = [a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none';")
    assert "http" not in policies[0]
    assert "script-src" not in policies[0], "default-src 'none' covers scripts"
    assert not any(tag == "script" for tag, _ in page.elements)


def test_style_sheets_fetch_nothing():
    for body in re.findall(r"<style[^>]*>(.*?)</style>", render_page(valid()), re.DOTALL):
        assert not re.search(r"url\(|@import", body)


def test_the_figures_of_every_label_and_the_slowest_window_are_drawn():
    document = valid(runs=3, windows=5)
    for one in document["series"]:
        one["p99_us"] = [100.0] * len(one["p99_us"])
    document["series"][1]["p99_us"][2] = 900.0
    drawn = {attributes["id"] for tag, attributes in Page(render_page(document)).elements if tag == "figure"}
    others = {f"chart-runs-{label}" for label in document["latency_us"]} - {"chart-runs-p99"}
    assert drawn >= {"chart-runs", *others}
    numbers_ = [one["run"] for one in document["series"][:2]]
    assert {name for name in drawn if "series" in name} == {f"chart-series-{n}" for n in numbers_}


def test_the_verdict_comes_first():
    for name, word in (("valid", "valid"), ("slipping", "invalid"), ("wide", "inconclusive")):
        page = Page(render_page(SAMPLES[name]()))
        seen = [t.strip() for t in page.text if t.strip()]
        body = seen[seen.index(next(t for t in seen if t in "✓✕?")) :]
        assert body[1] == word
        assert body[2].replace(numbers.THIN, " ") == title(typed(SAMPLES[name]())).replace(numbers.THIN, " ")


def test_thirty_runs_of_four_clients_stay_below_400_kB():
    html = render_page(valid(runs=30, clients=4, windows=600))
    assert len(html.encode()) < 400_000


def test_hostile_strings_are_shown_as_text():
    html = render_page(SAMPLES["hostile"]())
    page = Page(html)
    assert page.faults == []
    assert not any("onload" in attrs for _, attrs in page.elements)
    assert "<b onload" not in html
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "{{7*7}}" in html
    shown = HOSTILE.replace("\x1b", "\ufffd").replace("\u202e", "\ufffd")
    assert any(shown in text for text in page.text)


def test_hostile_strings_cannot_control_a_terminal():
    for color in (True, False):
        text = render_terminal(SAMPLES["hostile"](), width=100, color=color)
        assert "\x1b[31mESC" not in text
        assert "\u202e" not in text
        assert "[red]" in text


def test_labels_from_the_document_are_shown_as_text():
    document = typed(valid(runs=2))
    document.runs[0].latency_us["</details><script>alert(1)//"] = 1.0
    assert "<script>alert" not in view.render_page(document)


NEWER = (
    "codes",
    "connections",
    "connect_us",
    "handshake_us",
    "causes",
    "limits",
    "isolated",
    "decided_on",
    "ideal_send_delay_us",
    "overhead_us",
    "capture",
    "held_us",
    "first_message_us",
    "message_gap_us",
    "messages",
    "session_us",
    "sessions",
    "batches",
    "endpoints",
    "over_runs",
    "saturation",
    "excluded",
    "instrument",
    "fleet",
)
NEWER_OF_A_CLIENT = ("alone_us", "arrivals", "stamps", "cpu_share")


def early_document() -> dict:
    """Return a document as the first build wrote it: without the keys that its type marks as not required."""
    document = valid(runs=2)
    for key in NEWER:
        document.pop(key, None)
    for one in (one for run in document["runs"] for one in run["clients"]):
        for key in NEWER_OF_A_CLIENT:
            one.pop(key, None)
    return document


def test_a_document_of_an_early_build_has_a_page():
    document = early_document()
    assert set(NEWER) == {
        field.name
        for field in msgspec.structs.fields(Measure)
        if not field.required and field.name not in document
    }
    assert "instrument" not in render_terminal(document, width=100, color=False, verbose=True)
    html = render_page(document)
    assert 'id="instrument"' not in html
    assert "<h1>" in html


def test_a_measurement_without_replies_has_a_page():
    empty = {
        "latency_us": {},
        "service_us": {},
        "send_delay_us": {},
        "merged_us": {},
        "by_kind": {},
        "runs": [],
    }
    gone = {"variance": {}, "distributions": {}, "per_run_curves": [], "outstanding": None, "series": []}
    document = valid(runs=2) | empty | gone
    assert render_terminal(document, color=False)
    assert Page(render_page(document)).faults == []


def numbers_in(value, path=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers_in(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value[:1]):
            yield from numbers_in(item, (*path, index))
    elif isinstance(value, float):
        yield path


@contextmanager
def replace_value(document, path, new):
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    previous, inner[path[-1]] = inner[path[-1]], new
    yield
    inner[path[-1]] = previous


def test_every_measured_figure_may_be_null_or_infinite():
    """Figures that change nothing as null are not shown."""
    document = valid(runs=2, clients=1, windows=3)
    document["plan"], document["host"] = {}, {"facts": {}, "findings": []}
    for curve in [*document["distributions"].values(), *document["per_run_curves"]]:
        curve["q"], curve["us"] = curve["q"][::20], curve["us"][::20]
    paths = [p for p in numbers_in(document) if ("", *p)[-2] not in ("q", "t_s") and p[0] != "by_kind"]
    assert len(paths) > 50
    other_labels = set(document["latency_us"]) - {"p99"}  # all labels are rendered alike
    shown = 0
    usual = render_terminal(document, width=100, color=False, verbose=True)
    for path in paths:
        if path[-1] == "q" or path[0] in ("clients", "outstanding") or not other_labels.isdisjoint(path):
            continue
        for new in (None, math.inf, 0.0):
            text = usual
            with replace_value(document, path, new), suppress(msgspec.ValidationError):  # always a number
                text = render_terminal(document, width=100, color=False, verbose=True)
                assert text
            if text == usual:
                break
            shown += new is None
    assert shown > 10
    for group in ("latency_us", "send_delay_us"):
        for value in (None, math.inf, 0.0):
            with replace_value(document, (group, "p99", "value"), value):
                assert "<h1>" in render_page(document)


def test_an_infinite_quantile_shows_how_many_runs_are_affected():
    html = Page(render_page(SAMPLES["censored"]()))
    for text in (" ".join(html.text), render_terminal(SAMPLES["censored"](), width=100, color=False)):
        assert "∞" in text
        assert "3 runs" in text


def test_a_single_point_and_a_single_run_are_drawn():
    document = valid(runs=1, clients=1)
    document["distributions"] = {"latency": {"q": [0.5], "us": [30.0]}}
    document["per_run_curves"] = []
    html = render_page(document)
    assert "dot" in html


def test_requests_that_are_unaccounted_for_are_shown():
    document = valid(runs=2)
    document["counts"]["scheduled"] += 5
    closed = valid(runs=2)
    for render in (render_page, lambda one: render_terminal(one, width=100, color=False)):
        added = set(re.findall(r"[^\n]*\b5\b[^\n]*", render(document))) - set(
            re.findall(r"[^\n]*\b5\b[^\n]*", render(closed))
        )
        assert added


def test_rendering_is_repeatable_and_leaves_the_document_unchanged():
    document = valid(runs=2)
    before = copy.deepcopy(document)
    assert render_page(document) == render_page(document)
    assert document == before


def test_isolated_latency_is_shown_next_to_latency_with_its_basis():
    document = with_steal()
    for text in (
        render_terminal(document, width=200, color=False, verbose=True),
        render_page(document),
    ):
        # The text may wrap anywhere.
        words = " ".join(text.replace(numbers.THIN, " ").split())
        for value in ("5.1 %", "812", "78 %", "9 of 10 runs"):
            assert value in words
    head = render_terminal(document, width=200, color=False, verbose=True).splitlines()[2]
    assert head.split() == ["latency", "isolated", "service", "send", "delay"]


def test_without_an_interruption_isolated_latency_has_no_column():
    document = with_steal()
    document["isolated"] |= {
        "interruptions": 0,
        "interference_share": 0.0,
        "latency_us": document["latency_us"],
    }
    head = render_terminal(document, width=200, color=False, verbose=True).splitlines()[2]
    assert "isolated" not in head


def test_a_refusal_is_shown_with_its_reason_and_remedy():
    document = with_steal()
    why = {"code": "unwatched", "text": "no thread at real-time priority can watch", "need": "run as root"}
    document["isolated"] |= {"latency_us": {}, "refused": why}
    text = " ".join(
        render_terminal(document, width=200, color=False, verbose=True).replace(numbers.THIN, " ").split()
    )
    assert why["text"] in text
    assert why["need"] in text


def test_the_terminal_has_a_row_for_each_kind_of_request():
    document = valid()
    get, set_ = document["by_kind"]["get"], document["by_kind"]["set"]
    plain = render_terminal(document, width=120, color=False)
    document["by_kind"] = {"checkout": set_, "browse": get}
    shown = render_terminal(document, width=120, color=False)
    added = [line.split() for line in shown.splitlines() if line not in plain.splitlines()]
    rows = {words[0]: words[1:] for words in added if words[0] in ("browse", "checkout")}
    assert list(rows) == ["browse", "checkout"], "the most frequent first"
    for name, kind in (("browse", get), ("checkout", set_)):
        scheduled, errors = (kind["counts"][key] for key in ("scheduled", "errors"))
        assert "".join(rows[name]).replace(",", "").startswith(f"{scheduled}{errors}")
