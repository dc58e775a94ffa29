"""``hindmost attribute`` on real servers: planted effects are found, failures are reported, changes are undone."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from factorials import PATIENCE_S, attribute, factor, read, study_file
from measuring import Answer, finish, need, need_two_cpus, start, wait_for

from hindmost.core.run.figure_cache import run_figures
from hindmost.core.run.readings import plan_of
from hindmost.core.store import Study

SLOWER = factor("body", 100, 1000, option="body_us")
SHORT = {"design": '[design]\nblocks = "3"\n', "duration": "200ms"}


@dataclass(frozen=True)
class StoppedStudy:
    """A study of one switch that was stopped once and resumed."""

    folder: Path
    first: Answer
    finished: dict[Path, int]
    answer: Answer


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    need_two_cpus()
    folder = tmp_path_factory.mktemp("planted")
    file, out = study_file(folder, SLOWER, **SHORT), folder / "study"
    process = start("attribute", file, "--json", "--out", out)
    wait_for(lambda: [*out.glob("1-low/*/runs/0*/run.json")] or process.poll() is not None, "a finished run")
    process.send_signal(signal.SIGTERM)
    first = finish(process, out)
    finished = {path: path.stat().st_mtime_ns for path in out.glob("1-low/*/runs/0*/run.json")}
    resumed = start("attribute", out, "--json", "--yes")
    return StoppedStudy(out, first, finished, finish(resumed, out, PATIENCE_S))


def medians(study, cell):
    """P50 of every run of a cell in microseconds, including excluded runs."""
    part = Study.open(study.folder / "1-low" / cell)
    plan = plan_of(part)
    return [run_figures(run, plan).values["latency"]["p50"] for run in part.runs()]


def test_a_stopped_study_keeps_its_finished_runs(study):
    study.first.assert_error(130, "interrupted")
    assert str(study.folder) in study.first.err
    assert 0 < len(study.finished) < 9, "two cells and the control have three runs each"
    assert {path: path.stat().st_mtime_ns for path in study.finished} == study.finished
    assert len([*study.folder.glob("1-low/*/runs/0*/run.json")]) == 9


def test_every_cell_has_its_runs_at_its_level_and_the_report_agrees(study):
    """A request takes its body, log-normal about 1,000 us, and 25 us of a lock. The host can only add to that.

    The median of a hundred requests is within 10 % of it (four standard errors). Without the switch it would be 125 us
    plus what the host adds.
    """
    document = read(study.answer)
    (load,) = document["loads"]
    assert [cell["levels"] for cell in load["cells"]] == [{"body": "100"}, {"body": "1000"}]
    assert [cell["runs"] + cell["invalid"] for cell in load["cells"]] == [6, 3], "the control has three more"
    high = medians(study, "1")
    assert len(high) == 3
    assert min(high) > 900.0
    page = (study.folder / "report.html").read_text()
    assert "body" in page
    assert "<script src" not in page
    report = finish(start("study", "report", study.folder, "--json"), study.folder)
    assert report.code == 0
    assert {**json.loads(report.out), "created": None} == {**document, "created": None}


def test_a_study_is_read_without_its_server_and_nothing_is_written_into_its_cells(study, tmp_path):
    moved = shutil.copytree(study.folder, tmp_path / "moved")
    manifest = json.loads((moved / "manifest.json").read_text())
    manifest["attribution"]["target"] = str(tmp_path / "gone.toml")
    manifest["plan"] |= {"server_cpus": [4000], "client_cpus": [[4001]]}
    (moved / "manifest.json").write_text(json.dumps(manifest))
    shutil.rmtree(moved / "1-low" / "control")
    before = {path: path.stat().st_mtime_ns for path in moved.glob("1-low/**/*")}
    report = finish(start("study", "report", moved, "--json"), moved)
    assert len(json.loads(report.out)["loads"][0]["cells"]) == 2, report.err
    assert {path: path.stat().st_mtime_ns for path in moved.glob("1-low/**/*")} == before


def test_a_cell_whose_server_does_not_start_is_reported_and_the_study_continues(tmp_path):
    need("memcached")
    need_two_cpus()
    broken = '[[factor]]\nname = "port"\nargument = "{level}"\nlevels = ["", "--no-such-option"]\n'
    document = read(attribute(study_file(tmp_path, broken, target="memcached", **SHORT), tmp_path / "study"))
    fine, failed = document["loads"][0]["cells"]
    assert fine["runs"] + fine["invalid"] == 6, "all runs were made, disturbed or not"
    assert (failed["runs"], failed["failure"]["code"]) == (0, "server-failed")
    assert "failed-cell" in [reason["code"] for reason in document["reasons"]]
