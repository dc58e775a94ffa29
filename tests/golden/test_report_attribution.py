"""The page and the text of an attribution: the values they show, and what a page must not contain."""

import json
import math
import re
from collections.abc import Iterator, Sequence

import jsonschema
import pytest
from pages import LOADING, Page
from rows import each_row
from sample_attributions import SAMPLES, full, small, typed

from hindmost.commands.attribute.view import view, wording
from hindmost.core.store.estimates import encode
from hindmost.core.store.schema import schemas
from hindmost.present import numbers
from hindmost.present.blocks import Block, Cell, Chart, Details, Items, Section, Table, Text, select
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal


def page(document) -> str:
    return render_page(view(typed(document)))


def terminal(document, width: int = 100) -> str:
    return render_terminal(view(typed(document)), width=width, color=False)


def words(text: str) -> str:
    return " ".join(text.replace(numbers.THIN, " ").split())


def plain_text(html: str) -> str:
    return words(" ".join(Page(html).text))


def sections(document) -> dict[str, Section]:
    """Return the sections of the page by their anchors."""
    return {
        one.anchor: one for one in select(view(typed(document)).blocks, "page") if isinstance(one, Section)
    }


def walk(blocks: Sequence[Block], place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Block]]:
    """Yield all blocks, each with the titles of the sections and folds around it."""
    for one in blocks:
        yield place, one
        if isinstance(one, Section):
            yield from walk(one.blocks, (*place, one.title))
        elif isinstance(one, Details):
            yield from walk(one.blocks, (*place, one.summary))


def tables(document, anchor: str, *titles: str) -> list[Table]:
    """Return the tables of a section whose enclosing titles begin with these."""
    return [
        block
        for place, block in walk(sections(document)[anchor].blocks)
        if isinstance(block, Table)
        and len(place) == len(titles)
        and all(one.startswith(title) for one, title in zip(place, titles, strict=True))
    ]


def texts(cells: Sequence[str | Cell]) -> list[str]:
    return [words(cell if isinstance(cell, str) else f"{cell.text} {cell.detail}") for cell in cells]


def rows_of(table: Table) -> list[dict[str, str]]:
    """Return the texts of each row by the heads of its columns."""
    return [dict(zip(texts(table.heads), texts(cells), strict=True)) for cells in table.rows]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_json_of_a_typed_document_is_complete_and_follows_the_schema(name):
    document = json.loads(encode(typed(SAMPLES[name]())))
    assert document == json.loads(encode(SAMPLES[name]()))
    jsonschema.Draft202012Validator(schemas()["attribution"]).validate(document)


@each_row("name, width", [("full", 100), ("small", 100), ("barren", 100), ("small", 80)])
def test_no_line_is_wider_than_the_terminal_but_a_command(name, width):
    lines = [line for line in terminal(SAMPLES[name](), width).splitlines() if "hint: " not in line]
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("name", SAMPLES)
def test_page_loads_nothing_and_is_well_formed(name):
    html = page(SAMPLES[name]())
    found = Page(html)
    assert found.faults == []
    assert found.open == []
    for attribute in LOADING:
        for value in found.attributes(attribute):
            assert value is None or value.startswith(("#", "data:,")), (attribute, value)
    assert not any(tag == "script" for tag, _ in found.elements)
    assert not re.search(r"url\(|@import", html)


@pytest.mark.parametrize("name", SAMPLES)
def test_names_are_unique_and_charts_have_names(name):
    found = Page(page(SAMPLES[name]()))
    ids = found.attributes("id")
    assert len(ids) == len(set(ids))
    drawn = [attrs for tag, attrs in found.elements if tag == "svg"]
    assert all(attrs.get("aria-label") or attrs.get("aria-hidden") for attrs in drawn)


def test_hostile_names_are_shown_as_text():
    html = page(SAMPLES["hostile"]())
    found = Page(html)
    assert not any("onload" in attrs for _, attrs in found.elements)
    assert "<script" not in html
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "{{7*7}}" in html
    text = terminal(SAMPLES["hostile"]())
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_headline_comes_first():
    for text in (terminal(full()), plain_text(page(full()))):
        assert 0 <= words(text).find(words(full()["headline"])) < 400


def test_every_cell_is_shown_with_its_levels_prediction_and_runs():
    document = full()
    for load in document["loads"]:
        for label in ("p99", "p95", "p50"):
            for anchor in ("configurations", "runs"):
                (table,) = tables(document, anchor, load["name"], label)
                assert len(table.rows) == 16
                shown = {tuple(texts(cells[:4])) for cells in table.rows}
                assert shown == {tuple(cell["levels"].values()) for cell in load["cells"]}


def test_the_lowest_prediction_comes_first_and_is_marked_best():
    for load in full()["loads"]:
        (table,) = tables(full(), "configurations", load["name"], "p99")
        first = texts(table.rows[0])
        assert first[:4] == ["same-node", "off", "performance", "all-nodes"]
        assert first[-1] == "best"


def test_both_tables_show_every_term_with_interval_and_p():
    for load in ("low", "high"):
        for label in ("p50", "p95", "p99"):
            for fold, terms in (((), 10), (("5 terms",), 5)):
                shown = tables(full(), "effects", load, label, *fold)
                assert len(shown) == 2
                for table in shown:
                    assert len(table.rows) == terms
                    for row in rows_of(table):
                        assert row["interval"].startswith("[")
                        assert row["adj. p"]


def test_terms_of_three_or_more_factors_are_folded():
    for table in tables(full(), "effects", "high", "p99"):
        assert not any(row["term"].count(wording.TIMES) > 1 for row in rows_of(table))


def test_corner_effects_follow_the_order_of_the_document():
    first, *effects = full()["loads"][1]["quantiles"]["p99"]["corner"]
    few, many = (tables(full(), "effects", "high", "p99", *fold)[1] for fold in ((), ("5 terms",)))
    assert first["factors"] == []
    assert f"{first['value']:.0f}" in few.caption
    rows = [*rows_of(few), *rows_of(many)]
    for row, effect in zip(rows, effects, strict=True):
        assert all(factor in row["term"] for factor in effect["factors"])
        assert float(row["µs"].replace("−", "-")) == pytest.approx(effect["value"], abs=0.51)


def test_undecided_effects_neither_raise_nor_lower():
    assert not {"lowers", "raises"} & set(terminal(small()).split())
    assert {"lowers", "raises"} <= set(terminal(full()).split())


def test_reversals_of_both_loads_have_a_chart_and_a_line():
    document = full()
    for load in document["loads"]:
        reversals = load["quantiles"]["p99"]["reversals"]
        (table,) = tables(document, "reversals", load["name"], "p99")
        drawn = [cell for cells in table.rows for cell in cells if isinstance(cell, Cell) and cell.svg]
        assert len(drawn) == len(table.rows) == sum(len(one["effects_us"]) for one in reversals)
        for one in reversals:
            assert page(document).count(f"<li>{one['text']}</li>") == len(document["loads"])
            assert words(terminal(document)).count(one["text"]) >= len(document["loads"])


def test_a_factor_of_three_levels_shows_the_compared_levels():
    text, name = terminal(small()), "server threads"
    assert f"{name}: 1 → 4" in text
    assert f"{name} = 4 × " in text


def test_a_failed_cell_and_excluded_runs_are_shown():
    document = small()
    (failed,) = [cell for cell in document["loads"][0]["cells"] if cell["failure"]]
    (table,) = tables(document, "runs", "only", "p99")
    rows = rows_of(table)
    assert failed["failure"]["text"] in rows[4][""]
    assert (rows[1]["runs"], rows[1]["left out"], rows[0]["as control"]) == ("4", "1", "2")
    assert failed["failure"]["text"] in words(terminal(document))
    document["reasons"][1]["values"] = {"load": "only"}
    assert failed["failure"]["text"] not in words(terminal(document)), "a reason names it"


def test_infinitely_late_runs_are_marked_and_not_drawn_as_numbers():
    html = page(small())
    assert f"{numbers.INFINITE} 1×" in html
    assert "nan" not in plain_text(html).lower().split()


def test_naive_intervals_appear_only_in_a_folded_section():
    inside = sections(full())["pooled"]
    assert [type(one) for one in inside.blocks] == [Details]
    assert any("naive interval" in one.heads for _, one in walk(inside.blocks) if isinstance(one, Table))
    outside = [one for anchor, one in sections(full()).items() if anchor != "pooled"]
    assert not any("naive interval" in one.heads for _, one in walk(outside) if isinstance(one, Table))


def test_empty_sections_are_left_out():
    assert set(sections(SAMPLES["barren"]())) == {"reasons", "design", "host"}
    assert "Confirmation" not in terminal(SAMPLES["barren"]())


def test_a_missing_value_does_not_break_the_page():
    """Each number of the document in turn is infinite, or not a number."""
    for other in (math.nan, math.inf):
        changed = small()
        for one in changed["loads"][0]["quantiles"]["p99"]["corner"]:
            one |= dict.fromkeys(("value", "low", "high", "share", "share_low", "share_high"), other)
        for one in changed["loads"][0]["quantiles"]["p99"]["predicted"]:
            one |= dict.fromkeys(("value", "low", "high"), other)
        found = Page(page(changed))
        assert found.faults == []
        assert "nan" not in " ".join(found.text).split()
        assert not re.search(r"\bnan\b", page(changed))
        assert terminal(changed)


def test_the_terminal_shortens_a_long_list_of_interactions_and_counts_the_rest():
    document = full()
    answer = document["loads"][1]["quantiles"]["p99"]
    joint = next(one for one in answer["average"] if one["term"] == "numa:dvfs")
    answer["average"] += [joint | {"value": -9.0 - place / 100} for place in range(20)]
    shown = select(view(typed(document)).blocks, "terminal")
    (section,) = (one for one in shown if isinstance(one, Section) and one.title.startswith("p99 at high"))
    table, others = section.blocks
    interactions = sum(
        1 for one in answer["average"] if len(one["factors"]) > 1 and one["verdict"] in ("raises", "lowers")
    )
    assert isinstance(table, Table)
    assert isinstance(others, Items)
    assert sum(wording.TIMES in texts(cells)[0] for cells in table.rows) == 12
    assert str(interactions - 12) in others.items[0].text.split()


def test_a_drift_is_marked_and_a_variance_component_may_be_unknown():
    for document, word in ((small(), "drift"), (full(), "steady")):
        (items,) = [one for one in sections(document)["drift"].blocks if isinstance(one, Items)]
        assert {one.word for one in items.items} == {word}
    (table,) = tables(small(), "explained")
    assert texts(table.rows[0]) == ["p99, only", "10 %", "90 %", "–", "10 %", "10 %", "−0.04"]


def test_the_fit_of_the_model_is_tested_where_it_can_be_and_always_drawn():
    for document, charts in ((small(), 1), (full(), 6)):
        blocks = [block for _, block in walk([sections(document)["fit"]])]
        assert sum(isinstance(block, Chart) and block.draw(600.0) is not None for block in blocks) == charts
    said = " ".join(block.text for _, block in walk([sections(small())["fit"]]) if isinstance(block, Text))
    assert "0.310" in said
    assert "−4.2" in said


def test_a_factor_of_three_levels_has_one_test_of_all_its_rows():
    table, _ = tables(small(), "effects", "only", "p99")
    assert texts(table.rows[0]) == ["server threads", "4.32", "2, 2.0", "0.188", "0.188"]
    assert all(len(one.heads) > 5 for one in tables(full(), "effects", "high", "p99"))


def test_a_split_plot_names_the_factor_that_keeps_its_level():
    document = full()
    document["factors"][1]["change_s"] = 40.0
    document["design"]["whole_plots"] = 2
    for one, split in ((full(), False), (document, True)):
        texts_ = [block.text for block in sections(one)["design"].blocks if isinstance(block, Text)]
        assert (document["factors"][1]["name"] in texts_[0]) is split


def test_the_summary_comes_before_any_table():
    document = full()
    before = plain_text(page(document).split("<table")[0])
    text = words(terminal(document))
    for one in document["summary"]:
        assert words(one) in before
        assert text.index(words(one)) < text.index("p99 at high (")


def test_the_costs_of_a_recommendation_are_shown():
    (table,) = tables(full(), "")
    assert texts(table.rows[0])[:4] == ["p50 at low", "39.0 µs", "248 µs", "6.36 [6.10, 6.60]"]


def test_huge_ratios_are_shown_as_bounds():
    document = full()
    document["confirmations"][0]["spread_ratio"]["p99"] = {"value": 2.0, "low": 0.1, "high": 248125835784.0}
    for effect in document["loads"][1]["quantiles"]["p99"]["average"][1:]:
        effect["share"] = effect["share_high"] = 248125835784.0
    for text in (terminal(document), page(document)):
        assert "> 1000" in text or "&gt; 1000" in text
        assert "248" + numbers.THIN + "125" not in text
        assert "835784" not in text


def test_measured_latency_is_shown_next_to_isolated_latency_under_interference():
    document = full()
    (table,) = tables(document, "runs", "low", "p99")
    for row, cell in zip(rows_of(table), document["loads"][0]["cells"], strict=True):
        assert row["as measured"] == words(numbers.latency(cell["measured_us"]["p99"]["value"]))
    (table,) = tables(document, "runs", "high", "p99")
    assert "as measured" not in table.heads


def test_fresh_runs_are_drawn_for_each_quantile_of_both_settings():
    (_, drawn) = tables(full(), "confirmation-1")
    assert [texts(cells)[0] for cells in drawn.rows] == [
        f"{label} {side}" for label in ("p99", "p50", "p95") for side in ("before", "after")
    ]
    assert all(isinstance(cells[1], Cell) and cells[1].svg for cells in drawn.rows)


def test_the_page_has_its_charts():
    charts = [one for _, one in walk(list(sections(full()).values())) if isinstance(one, Chart)]
    expected = 3 + 1 + 3 * 2 + 2
    assert len(charts) == expected, (
        "effects for each quantile, variance, residuals of each, drift for each load"
    )
    assert all(one.draw(860) for one in charts)
