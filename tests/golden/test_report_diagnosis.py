"""The page of a diagnosis shows its document: every pair, and every correction."""

import json
import re

import pytest
from messages import raises
from msgspec import structs
from pages import LOADING, Page
from test_report_golden import DATA

from hindmost.cli import main
from hindmost.commands.diagnose.document import Company, Diagnosis, read_diagnosis
from hindmost.commands.diagnose.view import view
from hindmost.core.store.estimates import to_document
from hindmost.errors import StudyError
from hindmost.present import numbers
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal

FILE = DATA / "diagnosis_two.json"
"""A made-up host with two causes at once, found one after the other and each corrected."""


@pytest.fixture
def document() -> Diagnosis:
    return read_diagnosis(FILE)


def page_of(document: Diagnosis) -> str:
    return render_page(view(document))


def page_text(html: str) -> str:
    return " ".join(" ".join(Page(html).text).split())


def chart(html: str, title: str) -> str:
    found = re.search(rf'aria-label="{re.escape(title)}">(.*?)</svg>', html, re.DOTALL)
    assert found, f"no chart of {title}"
    return found[1]


def dots(drawn: str) -> list[tuple[float, float, str]]:
    found = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="[\d.]+" class="(\w+)"', drawn)
    return [(float(x), float(y), cls) for x, y, cls in found]


def test_a_document_is_read_as_it_was_written(document):
    assert to_document(document) == json.loads(FILE.read_text())


def test_the_page_is_well_formed_and_loads_nothing(document):
    page = Page(page_of(document))
    assert (page.faults, page.open) == ([], [])
    loads = {value for name in LOADING for value in page.attributes(name)}
    assert {value for value in loads if not value.startswith(("data:,", "#"))} == set()


def test_every_pair_is_drawn_at_its_percentiles(document):
    html = page_of(document)
    (neighbour, *_) = document.suspects
    drawn = dots(chart(html, f"Pairs with and without {neighbour.name}"))
    present = [y for _, y, cls in drawn if cls == "hollow"]
    absent = [y for _, y, cls in drawn if cls != "hollow"]
    pairs = neighbour.measured
    assert len(present) == len(absent) == len(pairs) == 10
    values = [pair.with_us for pair in pairs] + [pair.without_us for pair in pairs]
    by_value = [y for _, y in sorted(zip(values, present + absent, strict=True), reverse=True)]
    assert by_value == sorted(by_value), "higher latency is drawn higher"
    course = dots(chart(html, "p95 in the course of the diagnosis"))
    parts = (document, document.next)
    arms = [one.measured for part in parts for one in (*part.suspects, part.sham, part.correction)]
    assert len(course) == 2 * sum(map(len, arms))


def test_a_suspect_has_one_colour_in_all_charts(document):
    html = page_of(document)
    parts = (document, document.next)
    classes = {}
    for name in {one.name for part in parts for one in part.suspects}:
        titles = re.findall(
            rf'aria-label="Pairs with and without {re.escape(name)}">(.*?)</svg>', html, re.DOTALL
        )
        classes[name] = {cls for drawn in titles for *_, cls in dots(drawn)} - {"hollow"}
        keyed = re.search(rf'class="line side (c\d)"/></svg>without {re.escape(name)}</li>', html)
        assert keyed
        assert classes[name] == {keyed[1]}
    assert len(set.union(*classes.values())) == len(classes)


def test_the_headline_has_latency_before_during_and_after(document):
    after = numbers.latency(document.next.correction.after_us)
    for value in ("p95", numbers.latency(document.now_us), "10.0", numbers.latency(100.0), after):
        assert value in view(document).headline
    text = page_text(page_of(document))
    assert "hindmost host knobs restore" in text
    for name, why in document.not_tried.items():
        assert name in text
        assert why in text
    undone = [structs.replace(part.correction, kept=False) for part in (document, document.next)]
    following = structs.replace(document.next, correction=undone[1])
    assert after not in view(structs.replace(document, correction=undone[0], next=following)).headline


def test_ranked_metrics_are_shown_if_no_cause_was_found(document):
    moved = Company(name="psi.cpu", explained=0.4, correlation=0.6, p=0.02, suggests="a neighbour")
    ranked = structs.replace(
        document, ruling="inconclusive", leader=None, next=None, correction=None, moved=[moved]
    )
    text = page_text(page_of(ranked))
    for value in ("psi.cpu", "40", "0.60", "0.02", "a neighbour"):
        assert value in text
    assert view(ranked).tone == "inconclusive"
    assert "20 blocks" in page_text(page_of(structs.replace(ranked, moved=[], moved_wait="20 blocks")))


def test_a_diagnosis_without_suspects_has_a_page(document):
    bare = structs.replace(document, normal_us=None, suspects=[], sham=None, next=None, leader=None)
    html = page_of(structs.replace(bare, ruling="inconclusive", correction=None))
    assert "<table" not in html
    assert "<svg viewBox" not in html.replace('<svg viewBox="0 0 28 8"', "")


def test_names_of_programs_cannot_write_into_the_page(tmp_path):
    evil = "<script>x</script>&\"'"
    file = tmp_path / "hostile.json"
    file.write_text(FILE.read_text().replace("batch", json.dumps(evil)[1:-1]))
    page = Page(page_of(read_diagnosis(file)))
    assert (page.faults, page.open) == ([], [])
    assert "script" not in {tag for tag, _ in page.elements}


def test_report_renders_the_page_from_a_stored_file(tmp_path, capsys, document):
    file = tmp_path / "found.json"
    file.write_text(FILE.read_text())
    assert main(["study", "report", str(file)]) == 0
    assert (tmp_path / "found.html").read_text() == page_of(document)
    assert capsys.readouterr().out == render_terminal(view(document))


@pytest.mark.parametrize("damage", ["cut off", "without pairs", "another kind"])
def test_a_damaged_diagnosis_file_is_refused(tmp_path, capsys, damage):
    damaged = json.loads(FILE.read_text())
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
    file.write_text(FILE.read_text())
    assert main(["study", "report", str(file), "--require", "p99<5ms"]) == 2
    assert capsys.readouterr().err.startswith("error[")
