"""The page and the text of an attribution: the values they show, and what a page must not contain."""

import copy
import json
import math
import re
from itertools import pairwise

import jsonschema
import pytest
from pages import LOADING, Page
from rows import each_row
from sample_attributions import SAMPLES, full, small

from hindmost.commands.attribute.view import render_attribution, render_attribution_page, wording
from hindmost.commands.attribute.view.panels import spread
from hindmost.core.store.estimates import encode
from hindmost.core.store.schema import schemas
from hindmost.present import numbers
from hindmost.present.svg import Scale


def plain_text(html: str) -> str:
    return " ".join(" ".join(Page(html).text).split())


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_follow_the_schema(name):
    document = json.loads(encode(SAMPLES[name]()))
    jsonschema.Draft202012Validator(schemas()["attribution"]).validate(document)


@each_row("name", ["full", "small", "barren"])
def test_no_line_is_wider_than_100_columns_but_a_command(name):
    lines = [line for line in render_attribution(SAMPLES[name]()).splitlines() if "hint: " not in line]
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("name", SAMPLES)
def test_page_loads_nothing_and_is_well_formed(name):
    html = render_attribution_page(SAMPLES[name]())
    page = Page(html)
    assert page.faults == []
    assert page.open == []
    for attribute in LOADING:
        for value in page.attributes(attribute):
            assert value is None or value.startswith(("#", "data:,")), (attribute, value)
    assert not any(tag == "script" for tag, _ in page.elements)
    assert not re.search(r"url\(|@import", html)


@pytest.mark.parametrize("name", SAMPLES)
def test_links_resolve_and_charts_have_names(name):
    page = Page(render_attribution_page(SAMPLES[name]()))
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in page.attributes("href") if link.startswith("#")} <= set(ids)
    drawn = [attrs for tag, attrs in page.elements if tag == "svg"]
    assert all(attrs.get("aria-label") or attrs.get("aria-hidden") for attrs in drawn)


def test_hostile_names_are_shown_as_text():
    html = render_attribution_page(SAMPLES["hostile"]())
    page = Page(html)
    assert not any("onload" in attrs for _, attrs in page.elements)
    assert "<script" not in html
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "{{7*7}}" in html
    text = render_attribution(SAMPLES["hostile"]())
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_headline_comes_first():
    for render in (render_attribution, lambda one: plain_text(render_attribution_page(one))):
        text = render(full())
        headline = text.replace(numbers.THIN, " ").find(full()["headline"].replace(numbers.THIN, " "))
        assert 0 <= headline < 400


def rows_of(html: str, name: str) -> list[str]:
    """Return the texts of the body rows of the table with this name."""
    table = html.split(f'aria-label="{name}"', 1)[1].split("</table>")[0]
    rows = table.split("<tbody>")[1].split("</tr>")[:-1]
    return [re.sub(r"<svg.*?</svg>|<[^>]+>", " ", row, flags=re.DOTALL) for row in rows]


def test_every_cell_is_shown_with_its_levels_prediction_and_runs():
    document = full()
    html = render_attribution_page(document)
    for load in document["loads"]:
        for label in ("p50", "p95", "p99"):
            predicted = rows_of(html, f"Configurations by {label} at {load['name']}")
            runs = rows_of(html, f"Runs by {label} at {load['name']}")
            for rows in (predicted, runs):
                assert len(rows) == 16
                for cell in load["cells"]:
                    levels = " ".join(cell["levels"].values())
                    assert any(" ".join(row.split()).startswith(levels) for row in rows)


def test_the_lowest_prediction_comes_first_and_is_marked_best():
    document = full()
    html = render_attribution_page(document)
    for load in document["loads"]:
        first = rows_of(html, f"Configurations by p99 at {load['name']}")[0].split()
        assert first[:4] == ["same-node", "off", "performance", "all-nodes"]
        assert first[-1] == "best"


def effect_tables(html: str, where: str, *, many: bool = False) -> list[str]:
    """Return tables of effects, the average one first; effects of three or more factors have their own table."""
    name = f'aria-label="Effects {"of many factors " if many else ""}on {where}"'
    return [part.split("</table>")[0] for part in html.split(name)[1:]]


def test_both_tables_show_every_term_with_interval_and_p():
    html = render_attribution_page(full())
    for load in ("low", "high"):
        for label in ("p50", "p95", "p99"):
            for many, terms in ((False, 10), (True, 5)):
                tables = effect_tables(html, f"{label} at {load}", many=many)
                assert len(tables) == 2
                for table in tables:
                    assert table.count("<tr class=") == terms
                    assert len(re.findall(r"interval\">\[[^]]+\]</td>", table)) == terms


def test_terms_of_three_or_more_factors_are_folded():
    html = render_attribution_page(full())
    before = html.split('aria-label="Effects of many factors on p99 at high"')[0]
    assert "<summary>5 " in before.rsplit("<details", 1)[1]
    rows = [row for table in effect_tables(html, "p99 at high") for row in table.split("<tr ")]
    names = [row.split('<th scope="row">')[1].split("</th>")[0] for row in rows[1:] if "<th scope" in row]
    assert not any(name.count(wording.TIMES) > 1 for name in names)


def test_corner_effects_follow_the_order_of_the_document():
    document = full()
    html = render_attribution_page(document)
    first, *effects = document["loads"][1]["quantiles"]["p99"]["corner"]
    few, many = (effect_tables(html, "p99 at high", many=many)[1] for many in (False, True))
    assert first["factors"] == []
    assert f'</th><td class="text" colspan="8">{first["value"]:.0f}' in few
    row = r'<tr class=.*?<th scope="row">(.*?)</th>.*?<td class="value".*?>(.*?)</td>'
    shown = [*re.findall(row, few), *re.findall(row, many)]
    assert len(shown) == len(effects)
    for (name, value), effect in zip(shown, effects, strict=True):
        assert all(factor in name for factor in effect["factors"])
        assert float(value.replace("−", "-")) == pytest.approx(effect["value"], abs=0.51)


def test_undecided_effects_neither_raise_nor_lower():
    assert not {"lowers", "raises"} & set(render_attribution(small()).split())
    assert {"lowers", "raises"} <= set(render_attribution(full()).split())


def test_reversals_of_both_loads_have_a_chart_and_a_line():
    document = full()
    html, text = render_attribution_page(document), " ".join(render_attribution(document).split())
    for one in document["loads"][0]["quantiles"]["p99"]["reversals"]:
        assert html.count(f"<figcaption>{one['text']}</figcaption>") == len(document["loads"])
        assert one["text"] in text


def test_a_factor_of_three_levels_shows_the_compared_levels():
    text, name = render_attribution(small()), "server threads"
    assert f"{name}: 1 → 4" in text
    assert f"{name} = 4 × " in text


def test_a_failed_cell_and_excluded_runs_are_shown():
    document = small()
    (failed,) = [cell for cell in document["loads"][0]["cells"] if cell["failure"]]
    assert failed["failure"]["text"] in plain_text(render_attribution_page(document))
    assert rows_of(render_attribution_page(document), "Runs by p99 at only")[1].split()[-2:] == ["4", "1"]
    assert failed["failure"]["text"] in " ".join(render_attribution(document).split())
    document["reasons"][1]["values"] = {"load": "only"}
    assert failed["failure"]["text"] not in " ".join(render_attribution(document).split()), (
        "a reason names it"
    )


def test_infinitely_late_runs_are_marked_and_not_drawn_as_numbers():
    html = render_attribution_page(small())
    assert f"{numbers.INFINITE} 1×" in html
    assert "nan" not in plain_text(html).lower().split()


def test_naive_intervals_appear_only_in_a_folded_section():
    html = render_attribution_page(full())
    outside = re.sub(r'<section id="pooled".*?</section>', "", html, flags=re.DOTALL)
    inside = html.split('<section id="pooled"')[1].split("</section>")[0]
    assert "naive" in inside
    assert "naive" not in outside.split("<body>")[1]
    assert "<details>" in inside
    assert "<details open" not in inside


def test_empty_sections_are_left_out():
    html = render_attribution_page(SAMPLES["barren"]())
    for name in (
        "averages",
        "reversals",
        "effects",
        "configurations",
        "runs",
        "drift",
        "pooled",
        "explained",
    ):
        assert f'id="{name}"' not in html
        assert f'href="#{name}"' not in html
    assert "confirmation" not in render_attribution(SAMPLES["barren"]())


def test_a_missing_value_does_not_break_the_page():
    """Each number of the document in turn is infinite, missing, or not a number."""
    document = small()
    for other in (None, math.nan, math.inf):
        changed = copy.deepcopy(document)
        for one in changed["loads"][0]["quantiles"]["p99"]["corner"]:
            one |= dict.fromkeys(("value", "low", "high", "share", "share_low", "share_high"), other)
        for one in changed["loads"][0]["quantiles"]["p99"]["predicted"]:
            one |= dict.fromkeys(("value", "low", "high"), other)
        page = Page(render_attribution_page(changed))
        assert page.faults == []
        assert "nan" not in " ".join(page.text).split()
        assert render_attribution(changed)


def test_overlapping_dots_are_drawn_side_by_side():
    y = Scale(0.0, 100.0, 0.0, 100.0)
    runs = [50.0] * 9 + [90.0, None]
    shifts = spread(runs, y)
    assert shifts[9] == 0.0
    assert shifts[10] == 0.0
    positions = sorted(shifts[:9])
    assert all(b - a >= 5.0 for a, b in pairwise(positions))


def test_the_terminal_shortens_a_long_list_of_interactions_and_counts_the_rest():
    document = full()
    answer = document["loads"][1]["quantiles"]["p99"]
    joint = next(one for one in answer["average"] if one["term"] == "numa:dvfs")
    answer["average"] += [joint | {"value": -9.0 - place / 100} for place in range(20)]
    table = render_attribution(document).split("p99 at high (")[1].split("confirmation")[0]
    shown = table.split("best:")[0]
    interactions = sum(
        1 for one in answer["average"] if len(one["factors"]) > 1 and one["verdict"] in ("raises", "lowers")
    )
    assert len(re.findall(r"× .* (?:raises|lowers)$", shown, re.MULTILINE)) == 12
    assert str(interactions - 12) in [
        word for line in shown.splitlines() if "×" not in line for word in line.split()
    ]


def test_a_drift_is_marked_and_a_variance_component_may_be_unknown():
    drifting, steady = (
        render_attribution_page(document).split('id="drift"')[1].split("</section>")[0]
        for document in (small(), full())
    )
    assert 'class="tag' in drifting
    assert 'class="tag' not in steady
    row = rows_of(render_attribution_page(small()), "Variance explained")[0].replace(numbers.THIN, " ")
    assert " ".join(row.split()) == "p99, only 10 % 90 % – 10 % 10 % −0.04"


def test_the_summary_comes_before_any_table():
    document = full()
    html = render_attribution_page(document)
    header = plain_text(html.split("</header>")[0]).replace(numbers.THIN, " ")
    for text in document["summary"]:
        assert text in header
    assert "<table" not in html.split("</header>")[0]
    text = " ".join(render_attribution(document).split())
    assert (
        text.index(document["summary"][0]) < text.index(document["summary"][2]) < text.index("p99 at high (")
    )


def test_the_costs_of_a_recommendation_are_shown():
    row = rows_of(render_attribution_page(full()), "Costs of the recommended setting")[0]
    assert row.replace(numbers.THIN, " ").split()[:8] == [
        "low",
        "p50",
        "39.0",
        "µs",
        "248",
        "µs",
        "6.36",
        "[6.10,",
    ]


def test_huge_ratios_are_shown_as_bounds():
    document = full()
    document["confirmations"][0]["spread_ratio"]["p99"] = {"value": 2.0, "low": 0.1, "high": 248125835784.0}
    for effect in document["loads"][1]["quantiles"]["p99"]["average"][1:]:
        effect["share"] = effect["share_high"] = 248125835784.0
    for render in (render_attribution, render_attribution_page):
        text = render(document)
        assert "> 1000" in text or "&gt; 1000" in text
        assert "248" + numbers.THIN + "125" not in text
        assert "835784" not in text


def test_measured_latency_is_shown_next_to_isolated_latency_under_interference():
    document = full()
    html = render_attribution_page(document)
    stolen = rows_of(html, "Runs by p99 at low")
    for row, cell in zip(stolen, document["loads"][0]["cells"], strict=True):
        assert numbers.latency(cell["measured_us"]["p99"]["value"]) in row
    assert 'class="raw' not in html.split('aria-label="Runs by p99 at high"')[1].split("</table>")[0]
