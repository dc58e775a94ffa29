"""``hindmost attribute`` on real servers: what was planted is found, whatever fails is told, all is put back."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from factorials import PATIENCE_S, attribute, factor, read, study_file
from measuring import Answer, finish, need, need_two_cpus, start, wait_for

from hindmost.run.figure_cache import run_figures
from hindmost.run.readings import plan_of
from hindmost.store import Study

SLOWER = factor("body", 100, 1000, option="body_us")
SHORT = {"design": '[design]\nblocks = "3"\n', "duration": "200ms"}


@dataclass(frozen=True)
class Planted:
    """A study of one switch that was stopped once."""

    folder: Path
    stopped: Answer
    made: dict[Path, int]
    answer: Answer


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    need_two_cpus()
    folder = tmp_path_factory.mktemp("planted")
    file, out = study_file(folder, SLOWER, **SHORT), folder / "study"
    running = start("attribute", file, "--json", "--out", out)
    wait_for(lambda: [*out.glob("1-low/*/runs/0*/run.json")] or running.poll() is not None, "a finished run")
    running.send_signal(signal.SIGTERM)
    stopped = finish(running, out)
    made = {path: path.stat().st_mtime_ns for path in out.glob("1-low/*/runs/0*/run.json")}
    went_on = start("attribute", out, "--json", "--yes")
    return Planted(out, stopped, made, finish(went_on, out, PATIENCE_S))


def medians(planted, cell):
    """P50 of every run of a cell in microseconds, also of those that the host disturbed."""
    part = Study.open(planted.folder / "1-low" / cell)
    plan = plan_of(part)
    return [run_figures(run, plan).values["latency"]["p50"] for run in part.runs()]


def test_a_stopped_study_goes_on_with_its_finished_runs(planted):
    planted.stopped.assert_error(130, "interrupted")
    assert str(planted.folder) in planted.stopped.err
    assert 0 < len(planted.made) < 9, "two cells and the control are to be made three times"
    assert {path: path.stat().st_mtime_ns for path in planted.made} == planted.made
    assert len([*planted.folder.glob("1-low/*/runs/0*/run.json")]) == 9


def test_every_cell_has_its_runs_with_its_level_in_force_and_a_report_says_the_same(planted):
    """A request takes its body, log-normal about 1,000 us, and 25 us of a lock: the host can only add to that.

    Of a hundred requests the median is within 10 % of it (four standard errors). Where the switch is not in
    force it is 125 us, and what the host adds.
    """
    document = read(planted.answer)
    (load,) = document["loads"]
    assert [cell["levels"] for cell in load["cells"]] == [{"body": "100"}, {"body": "1000"}]
    assert [cell["runs"] + cell["invalid"] for cell in load["cells"]] == [6, 3], "the control has three more"
    high = medians(planted, "1")
    assert len(high) == 3
    assert min(high) > 900.0
    page = (planted.folder / "report.html").read_text()
    assert "body" in page
    assert "<script src" not in page
    again = finish(start("study", "report", planted.folder, "--json"), planted.folder)
    assert again.code == 0
    assert {**json.loads(again.out), "created": None} == {**document, "created": None}


def test_a_study_is_read_without_its_server_and_nothing_is_written_into_its_cells(planted, tmp_path):
    moved = shutil.copytree(planted.folder, tmp_path / "moved")
    manifest = json.loads((moved / "manifest.json").read_text())
    manifest["attribution"]["target"] = str(tmp_path / "gone.toml")
    manifest["plan"] |= {"server_cpus": [4000], "client_cpus": [[4001]]}
    (moved / "manifest.json").write_text(json.dumps(manifest))
    shutil.rmtree(moved / "1-low" / "control")
    before = {path: path.stat().st_mtime_ns for path in moved.glob("1-low/**/*")}
    again = finish(start("study", "report", moved, "--json"), moved)
    assert len(json.loads(again.out)["loads"][0]["cells"]) == 2, again.err
    assert {path: path.stat().st_mtime_ns for path in moved.glob("1-low/**/*")} == before


def test_a_cell_whose_server_does_not_start_is_reported_and_the_study_goes_on(tmp_path):
    need("memcached")
    need_two_cpus()
    broken = '[[factor]]\nname = "port"\nargument = "{level}"\nlevels = ["", "--no-such-option"]\n'
    document = read(attribute(study_file(tmp_path, broken, target="memcached", **SHORT), tmp_path / "study"))
    fine, failed = document["loads"][0]["cells"]
    assert fine["runs"] + fine["invalid"] == 6, "all were made, however disturbed"
    assert (failed["runs"], failed["failure"]["code"]) == (0, "server-failed")
    assert "failed-cell" in [reason["code"] for reason in document["reasons"]]
