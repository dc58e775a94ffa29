"""Infinite, unknown and missing values differ: written, read, shown, and read from older versions."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pytest
from measured_studies import runs_of, write_study
from rows import each_row
from sample_searches import make_search, make_step

from hindmost.commands.attribute.document import Attribution
from hindmost.commands.attribute.view import view as view_attribution
from hindmost.commands.compare.documents.targets import Comparison
from hindmost.commands.compare.targets import compare
from hindmost.commands.compare.view import targets
from hindmost.commands.measure.search.document import Search
from hindmost.commands.measure.search.view import view as view_search
from hindmost.commands.measure.view import render_terminal, view
from hindmost.core.store.estimates import encode, to_document, without_nan
from hindmost.core.store.reading import read_document, revive
from hindmost.core.store.schema import schemas
from hindmost.present import terminal
from hindmost.present.markdown import render_markdown
from tests.golden import sample_attributions, sample_results
from tests.golden.sample_results import typed

EACH_VALUE = pytest.mark.parametrize("value", [math.inf, None])
PARTS = ("latency_us", "isolated", "loads", "sides", "against", "steps")
NUMBERS = {"value", "low", "high", "value_us", "low_us", "high_us"}


def round_trip(document: dict[str, Any]) -> dict[str, Any]:
    text = encode(document)
    json.loads(text, parse_constant=pytest.fail)
    return revive(json.loads(text))


def test_a_word_of_an_older_version_is_read_where_its_type_allows_the_new_one():
    findings = [{"mark": "mind", "title": "mind"}]
    assert revive({"schema": "hindmost.doctor/1", "findings": findings})["findings"] == [
        {"mark": "note", "title": "mind"}
    ]


def test_a_document_has_no_types_of_numpy():
    document = without_nan({"value": np.float64(1.5), "each": [np.float64("nan")]})
    assert msgspec.to_builtins(document) == {"value": 1.5, "each": [None]}


def test_a_document_is_read_back_and_the_text_inf_stays_a_text():
    document: dict[str, Any] = {
        "schema": "hindmost.attribution/2",
        "name": "inf",
        "loads": [
            {
                "name": "inf",
                "cells": [
                    {
                        "levels": {"limit": "inf"},
                        "values": {"p99": [31.5, math.inf, None]},
                        "latency_us": {"p99": {"value": math.inf, "low": 31.5, "high": None}},
                    }
                ],
            }
        ],
    }
    assert round_trip(document) == document


def test_older_versions_distinguish_infinite_values_by_censored_runs(tmp_path):
    late = {"value": None, "low": 90.0, "high": None, "runs": 9, "censored_runs": 2}
    document = {
        "schema": "hindmost.measure/2",
        "latency_us": {"p50": {**late, "value": 50.0, "high": None, "censored_runs": 0}, "p99": late},
        "runs": [
            {
                "run": 1,
                "latency_us": {"p50": 50.0, "p99": None},
                "isolated": {"isolated_us": {"p99": dict(late)}},
            }
        ],
    }
    (tmp_path / "result.json").write_text(json.dumps(document))
    found = read_document(tmp_path / "result.json")
    assert [found["latency_us"]["p50"][end] for end in ("value", "low", "high")] == [50.0, 90.0, None]
    assert [found["latency_us"]["p99"][end] for end in ("value", "low", "high")] == [math.inf, 90.0, math.inf]
    assert found["runs"][0]["latency_us"] == {"p50": 50.0, "p99": math.inf}
    steps = [{"value_us": None, "low_us": None, "high_us": None, "runs": runs} for runs in (0, 5)]
    search = revive({"schema": "hindmost.search/1", "steps": steps})
    assert [one["value_us"] for one in search["steps"]] == [None, math.inf]


def test_the_schema_allows_inf_only_for_numbers_that_can_be_infinite():
    document = json.loads(encode(sample_results.SAMPLES["censored"]()))
    check = jsonschema.Draft202012Validator(schemas()["measure"]).is_valid
    assert document["latency_us"]["p99.9"]["value"] == "inf"
    assert check(document)
    assert not check({**document, "seconds_total": "inf"})
    document["latency_us"]["p99.9"]["value"] = "late"
    assert not check(document)


def figure_places(part: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the container and the key of every figure and interval end."""
    for key, one in part.items() if isinstance(part, dict) else enumerate(part):
        if isinstance(one, dict | list):
            yield from figure_places(one)
        elif key in NUMBERS or (isinstance(key, str) and key[0] == "p" and key[1:2].isdigit()):
            yield part, key


def make_comparison(tmp_path: Path) -> dict[str, Any]:
    isolated = {"p99": runs_of(3)["p99"]}
    sides = [
        write_study(tmp_path / name, runs_of(n, n / 10), isolated=isolated)
        for name, n in (("a", 10), ("b", 13))
    ]
    return to_document(compare(sides, fail_if=["p99>+5%"]))


def render_attribution(document: dict[str, Any]) -> str:
    return terminal.render_terminal(view_attribution(msgspec.convert(document, Attribution)))


def render_comparison(document: dict[str, Any]) -> str:
    return terminal.render_terminal(targets.view(msgspec.convert(document, Comparison)))


def show_search(document: dict[str, Any]) -> str:
    shown = view_search(msgspec.convert(document, Search), {})
    return terminal.render_terminal(shown, width=80, color=False)


@EACH_VALUE
@each_row("missing", [False, True])
def test_every_document_is_shown_with_infinite_unknown_or_missing_values(tmp_path, value, missing):
    rows: list[tuple[Any, Any]] = [
        (sample_results.valid(), lambda one: render_terminal(typed(one), width=80, color=False)),
        (sample_results.valid(), lambda one: render_markdown(view(typed(one)))),
        (sample_attributions.small(), render_attribution),
        (make_comparison(tmp_path / str(missing)), render_comparison),
        (to_document(make_search(make_step(1e4))), show_search),
    ]
    for document, render in rows:
        changed = copy.deepcopy(document)
        of_runs = changed.get("latency_us", {}) if missing else {}
        for name in list(of_runs)[1:2]:
            del of_runs[name]
        for part in [changed[key] for key in PARTS if key in changed]:
            for holder, key in figure_places(part or {}):
                always = {"term", "run"} & set(holder)  # effects and predictions always have numbers
                if isinstance(holder[key], float) and not always:
                    holder[key] = value
        assert render(revive(json.loads(encode(changed))))


def test_a_study_of_an_older_version_is_compared_like_a_new_one(tmp_path):
    values = runs_of(2, 1.2)
    for name, late in (("old", None), ("new", "inf")):
        write_study(tmp_path / name, {**values, "p99": [late] * 10} if late is None else values)
    document = json.loads((tmp_path / "new" / "result.json").read_text())
    for run in document["runs"]:
        run["latency_us"]["p99"] = "inf"
    (tmp_path / "new" / "result.json").write_text(json.dumps(document))
    before = write_study(tmp_path / "before", runs_of(1))
    old, new = (compare([before, tmp_path / name]).against[0].latency for name in ("old", "new"))
    assert old["p99"] == new["p99"]
    assert (new["p99"].word, new["p99"].ratio.value) == ("slower", math.inf)
