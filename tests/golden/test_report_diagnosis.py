"""The page of a diagnosis shows its document: every pair, and every correction."""

import copy
import json
import re

import pytest
from messages import raises
from pages import LOADING, Page
from test_report_golden import DATA

from hindmost.cli import main
from hindmost.commands.diagnose.document import read_diagnosis
from hindmost.commands.diagnose.view.page import render_diagnosis_page
from hindmost.commands.diagnose.view.terminal import render_diagnosis
from hindmost.errors import StudyError
from hindmost.present import numbers

TEXT = (DATA / "diagnosis_two.json").read_text()
"""A made-up host with two causes at once, found one after the other and each corrected."""


@pytest.fixture
def document():
    return json.loads(TEXT)


def page_text(html: str) -> str:
    return " ".join(" ".join(Page(html).text).split())


def chart(html: str, title: str) -> str:
    found = re.search(rf'aria-label="{re.escape(title)}">(.*?)</svg>', html, re.DOTALL)
    assert found, f"no chart of {title}"
    return found[1]


def dots(drawn: str) -> list[tuple[float, float, str]]:
    found = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="[\d.]+" class="(\w+)"', drawn)
    return [(float(x), float(y), cls) for x, y, cls in found]


def test_the_page_is_well_formed_and_loads_nothing(document):
    page = Page(render_diagnosis_page(document))
    assert (page.faults, page.open) == ([], [])
    loads = {value for name in LOADING for value in page.attributes(name)}
    assert {value for value in loads if not value.startswith(("data:,", "#"))} == set()


def test_every_pair_is_drawn_at_its_percentiles(document):
    html = render_diagnosis_page(document)
    (neighbour, *_) = document["suspects"]
    drawn = dots(chart(html, f"Pairs with and without {neighbour['name']}"))
    present = [y for _, y, cls in drawn if cls == "hollow"]
    absent = [y for _, y, cls in drawn if cls != "hollow"]
    pairs = neighbour["measured"]
    assert len(present) == len(absent) == len(pairs) == 10
    values = [pair["with_us"] for pair in pairs] + [pair["without_us"] for pair in pairs]
    by_value = [y for _, y in sorted(zip(values, present + absent, strict=True), reverse=True)]
    assert by_value == sorted(by_value), "higher latency is drawn higher"
    course = dots(chart(html, "p95 in the course of the diagnosis"))
    parts = (document, document["next"])
    arms = [
        one["measured"] for part in parts for one in (*part["suspects"], part["sham"], part["correction"])
    ]
    assert len(course) == 2 * sum(map(len, arms))


def test_a_suspect_has_one_colour_in_all_charts(document):
    html = render_diagnosis_page(document)
    parts = (document, document["next"])
    classes = {}
    for name in {one["name"] for part in parts for one in part["suspects"]}:
        titles = re.findall(
            rf'aria-label="Pairs with and without {re.escape(name)}">(.*?)</svg>', html, re.DOTALL
        )
        classes[name] = {cls for drawn in titles for *_, cls in dots(drawn)} - {"hollow"}
        keyed = re.search(rf'class="line side (c\d)"/></svg>without {re.escape(name)}</li>', html)
        assert keyed
        assert classes[name] == {keyed[1]}
    assert len(set.union(*classes.values())) == len(classes)


def test_the_page_shows_latency_before_during_and_after(document):
    def heading() -> str:
        found = re.search(r"<h1>(.*?)</h1>", render_diagnosis_page(document), re.DOTALL)
        assert found
        return found[1]

    after = numbers.latency(document["next"]["correction"]["after_us"])
    for value in ("p95", numbers.latency(document["now_us"]), "10.0", numbers.latency(100.0), after):
        assert value in heading()
    text = page_text(render_diagnosis_page(document))
    assert "hindmost host knobs restore" in text
    for name, why in document["not_tried"].items():
        assert name in text
        assert why in text
    document["correction"]["kept"] = document["next"]["correction"]["kept"] = False
    assert after not in heading()


def test_ranked_metrics_are_shown_if_no_cause_was_found(document):
    moved = [{"name": "psi.cpu", "explained": 0.4, "correlation": 0.6, "p": 0.02, "suggests": "a neighbour"}]
    ranked = {
        **document,
        "ruling": "inconclusive",
        "leader": None,
        "next": None,
        "correction": None,
        "moved": moved,
    }
    text = page_text(render_diagnosis_page(ranked))
    for value in ("psi.cpu", "40", "0.60", "0.02", "a neighbour"):
        assert value in text
    assert 'class="verdict inconclusive"' in render_diagnosis_page(ranked)
    assert "20 blocks" in page_text(render_diagnosis_page({**ranked, "moved": [], "moved_wait": "20 blocks"}))


def test_a_diagnosis_without_suspects_has_a_page(document):
    bare = {**document, "normal_us": None, "suspects": [], "sham": None, "next": None, "leader": None}
    bare |= {"ruling": "inconclusive", "correction": None}
    html = render_diagnosis_page(bare)
    assert 'aria-label="Suspects"' not in html
    assert "<svg viewBox" not in html.replace('<svg viewBox="0 0 28 8"', "")


def test_names_of_programs_cannot_write_into_the_page(document):
    evil = "<script>x</script>&\"'"
    hostile = json.loads(json.dumps(document).replace("batch", json.dumps(evil)[1:-1]))
    page = Page(render_diagnosis_page(hostile))
    assert (page.faults, page.open) == ([], [])
    assert "script" not in {tag for tag, _ in page.elements}


def test_report_renders_the_page_from_a_stored_file(tmp_path, capsys, document):
    file = tmp_path / "found.json"
    file.write_text(TEXT)
    assert main(["study", "report", str(file)]) == 0
    assert (tmp_path / "found.html").read_text() == render_diagnosis_page(document)
    assert capsys.readouterr().out == render_diagnosis(document)


@pytest.mark.parametrize("damage", ["cut off", "without pairs", "another kind"])
def test_a_damaged_diagnosis_file_is_refused(tmp_path, capsys, document, damage):
    damaged = copy.deepcopy(document)
    if damage == "without pairs":
        del damaged["suspects"][0]["measured"]
    if damage == "another kind":
        damaged["schema"] = "hindmost.trial/1"
    text = json.dumps(damaged)
    file = tmp_path / "found.json"
    file.write_text(text[: len(text) // 2] if damage == "cut off" else text)
    with raises(StudyError, "bad-file", path=str(file)):
        read_diagnosis(file)
    assert main(["study", "report", str(file)]) != 0
    assert "error[bad-file]" in capsys.readouterr().err
    assert not (tmp_path / "found.html").exists()


def test_limits_apply_to_studies_only(tmp_path, capsys):
    file = tmp_path / "found.json"
    file.write_text(TEXT)
    assert main(["study", "report", str(file), "--require", "p99<5ms"]) == 2
    assert capsys.readouterr().err.startswith("error[")
