"""The list of studies in a folder: one line per study, unreadable ones included."""

from __future__ import annotations

import fcntl
import json
import math
import os
from pathlib import Path

import pytest
from measured_studies import runs_of, write_study

import hindmost
from hindmost.cli import main
from hindmost.commands.study.listing import FILES, listing
from hindmost.commands.study.view import view
from hindmost.core.store.kinds import GO_ON
from hindmost.present.page import render_page


@pytest.fixture
def folder(tmp_path):
    """Six studies: two of one target, others with another load, in a subfolder, without a result, and a broken one."""
    write_study(tmp_path / "second", runs_of(2), started="2026-02-02T00:00:00Z")
    write_study(tmp_path / "first", runs_of(1), started="2026-01-01T00:00:00Z")
    write_study(tmp_path / "faster", runs_of(3), plan={"rate_per_s": 9_000.0}, started="2026-03-01T00:00:00Z")
    write_study(tmp_path / "deep/er", runs_of(4), verdict="invalid", started="2026-04-01T00:00:00Z")
    write_study(tmp_path / "begun", runs_of(5), started="2026-05-01T00:00:00Z")
    (tmp_path / "begun/result.json").unlink()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/manifest.json").write_text("{")
    (tmp_path / "first/report.html").write_text("page")
    write_study(tmp_path / "first/part", runs_of(6))
    (tmp_path / "no study").mkdir()
    return tmp_path


def test_studies_are_listed_by_age_and_their_parts_are_not(folder):
    studies = listing(folder).studies
    names = ["broken", "first", "second", "faster", "deep/er", "begun"]
    assert [study.folder for study in studies] == names
    first = studies[1]
    assert (first.kind, first.verdict, first.runs, first.page) == ("measure", "valid", 10, "report.html")
    assert first.latency_us["p99"].low < 400 < first.latency_us["p99"].high
    assert (studies[-1].verdict, studies[-1].latency_us) == (None, {})


def test_an_unreadable_study_is_listed_without_an_error(folder, capsys):
    (folder / "second/result.json").write_text('{"verdict": 3}')
    assert main(["study", "list", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    faults = {study.folder: study.fault for study in listing(folder).studies if study.fault}
    assert {name: fault.code for name, fault in faults.items()} == {
        "broken": "bad-file",
        "second": "bad-file",
    }
    assert faults["broken"].values == {"path": str(folder / "broken/manifest.json")}
    assert all(
        any(name in line and fault.text.replace("`", "") in line for line in lines)
        for name, fault in faults.items()
    )
    names = [study.folder for study in listing(folder).studies if not study.fault]
    assert [line.split()[0] for line in lines if "memcached" in line] == names


def test_a_locked_study_is_listed_as_busy(folder):
    with (folder / "second/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert [study.folder for study in listing(folder).studies if study.busy] == ["second"]
        busy = view(listing(folder)).blocks
    assert busy[1] != view(listing(folder)).blocks[1]


def test_the_page_links_to_reports_and_shows_the_trend_of_each_load(folder, tmp_path, capsys):
    (tmp_path / "pages").mkdir()
    assert main(["study", "list", str(folder), "--page", str(tmp_path / "pages/index.html"), "--json"]) == 0
    json.loads(capsys.readouterr().out)
    page = (tmp_path / "pages/index.html").read_text()
    assert 'href="../first/report.html"' in page
    assert page.count("<figure>") == 1
    assert "5000/s" in page


def test_an_empty_folder_is_accepted_and_a_missing_one_refused(tmp_path, capsys):
    assert main(["study", "list", str(tmp_path)]) == 0
    assert str(tmp_path) in capsys.readouterr().out
    assert main(["study", "list", str(tmp_path / "nosuch")]) == 2


def test_listing_reads_no_runs(folder, monkeypatch):
    from hindmost.core.store import Study

    monkeypatch.setattr(Study, "runs", lambda self: pytest.fail("read a run"))
    assert render_page(view(listing(folder)))


def test_every_manifest_and_answer_is_read_once(folder, monkeypatch):
    read: list[Path] = []
    original_open = os.open

    def recording_open(path, *args, **options):
        read.append(path)
        return original_open(path, *args, **options)

    monkeypatch.setattr(os, "open", recording_open)
    listing(folder)
    read = [path for path in read if Path(path).suffix == ".json"]
    assert len(read) == len(set(read)) == 6 + 4  # manifests, answers


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_the_list_is_a_frame_with_a_row_for_each_study(folder, library):
    pytest.importorskip(library)
    found = hindmost.list_studies(str(folder), frames=library)
    assert type(found).__module__.partition(".")[0] == library
    rows = found.to_dicts() if library == "polars" else found.to_dict("records")
    assert [Path(row["folder"]).relative_to(folder).name for row in rows] == [
        *("broken", "first", "second", "faster", "er", "begun")
    ]
    first = rows[1]
    assert (Path(rows[2]["folder"]) / "manifest.json").exists(), (
        "a path that is valid from any working folder"
    )
    assert (first["kind"], first["verdict"], first["runs"], first["created"].year) == (
        "measure",
        "valid",
        10,
        2026,
    )
    assert first["p99_low_us"] < 400 < first["p99_high_us"]
    assert [row["folder"] for row in rows if row["fault_code"] == "bad-file"] == [str(folder / "broken")]


def test_an_unanswered_percentile_is_infinite_in_the_frame(
    tmp_path,
):
    pytest.importorskip("polars")
    assert {"folder", "verdict", "created"} <= set(hindmost.list_studies(tmp_path).columns)
    values = runs_of(1)
    values["p99"] = [None] * 10
    write_study(tmp_path / "late", values)
    row = hindmost.list_studies(tmp_path).to_dicts()[0]
    assert (row["p99_us"], row["p99_high_us"]) == (math.inf, math.inf)
    assert row["p50_us"] == pytest.approx(100, rel=0.1)


@pytest.mark.parametrize(
    ("kind", "file", "verdict"),
    [
        ("trial", "trial.json", "leave"),
        ("batching", "batching.json", "valid"),
        ("explain", "explanation.json", "gain"),
    ],
)
def test_every_kind_of_study_shows_its_verdict(tmp_path, kind, file, verdict):
    study_folder = tmp_path / "study"
    study_folder.mkdir()
    manifest = {"schema": "hindmost.study/1", "kind": kind, "plan": {"target": "memcached"}, "host": {}}
    (study_folder / "manifest.json").write_text(json.dumps(manifest))
    (study_folder / file).write_text(json.dumps({"verdict": verdict}))
    (study_folder / "report.html").touch()
    (study,) = listing(tmp_path).studies
    assert (study.kind, study.verdict, study.page) == (kind, verdict, "report.html")


def test_the_list_has_the_files_of_every_kind():
    assert set(GO_ON) <= set(FILES)
