"""``hindmost attribute`` on real servers: what was planted is found, whatever fails is told, all is put back."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from factorials import BODY, HOLD, PATIENCE_S, attribute, factor, read, study_file
from measuring import Answer, finish, need_two_processors, start, wait_for

from hindmost.plan.factorial import read_study
from hindmost.run.figures import Totals, run_figures
from hindmost.run.readings import plan_of
from hindmost.store import Study
from hindmost.studies.attribution.resolve import resolve

ROOT = Path(__file__).parents[2]
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")


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
    need_two_processors()
    folder = tmp_path_factory.mktemp("planted")
    file, out = study_file(folder, SLOWER, **SHORT), folder / "study"
    running = start("attribute", file, "--json", "--out", out)
    wait_for(lambda: [*out.glob("1-low/*/runs/0*/run.json")] or running.poll() is not None, "a finished run")
    running.send_signal(signal.SIGTERM)
    stopped = finish(running, out)
    made = {path: path.stat().st_mtime_ns for path in out.glob("1-low/*/runs/0*/run.json")}
    went_on = start("attribute", out, "--json")
    return Planted(out, stopped, made, finish(went_on, out, PATIENCE_S))


def test_every_cell_is_there_in_order_with_all_its_runs_accounted_for(planted):
    document = read(planted.answer)
    (load,) = document["loads"]
    assert [cell["levels"] for cell in load["cells"]] == [{"body": "100"}, {"body": "1000"}]
    assert [cell["runs"] + cell["invalid"] for cell in load["cells"]] == [6, 3], "the control has three more"


def test_a_switch_is_in_force_in_every_run_however_disturbed_the_host(planted):
    """A request takes its body, log-normal about 1,000 us, and 25 us of a lock: the host can only add to that.

    Of a hundred requests the median is within 10 % of it (four standard errors). Where the switch is not in
    force it is 125 us, and what the host adds.
    """
    assert all(median > 900.0 for median in medians(planted, "1")), medians(planted, "1")
    assert len(medians(planted, "1")) == 3


def medians(planted, cell):
    """P50 of every run of a cell in microseconds, also of those that the host disturbed."""
    part = Study.open(planted.folder / "1-low" / cell)
    plan = plan_of(part)
    return [run_figures(run, plan, Totals()).values["latency"]["p50"] for run in part.runs()]


def test_the_page_is_there_and_the_report_says_the_same_again(planted):
    folder, answer = planted.folder, planted.answer
    page = (folder / "report.html").read_text()
    assert "body" in page
    assert "<script src" not in page
    again = finish(start("report", folder, "--json"), folder)
    first, second = read(answer), json.loads(again.out)
    assert again.code == 0
    assert {k: v for k, v in first.items() if k != "created"} == {
        k: v for k, v in second.items() if k != "created"
    }


def test_a_study_is_read_without_its_server_and_nothing_is_written_into_its_cells(planted, tmp_path):
    moved = shutil.copytree(planted.folder, tmp_path / "moved")
    manifest = json.loads((moved / "manifest.json").read_text())
    manifest["attribution"]["target"] = str(tmp_path / "gone.toml")
    manifest["plan"] |= {"server_cpus": [4000], "client_cpus": [[4001]]}
    (moved / "manifest.json").write_text(json.dumps(manifest))
    shutil.rmtree(moved / "1-low" / "control")
    before = {path: path.stat().st_mtime_ns for path in moved.glob("1-low/**/*")}
    again = finish(start("report", moved, "--json"), moved)
    assert len(json.loads(again.out)["loads"][0]["cells"]) == 2, again.err
    assert {path: path.stat().st_mtime_ns for path in moved.glob("1-low/**/*")} == before


def test_a_study_that_was_stopped_goes_on_and_makes_no_run_twice(planted):
    assert planted.stopped.code == 130, planted.stopped.err
    assert f"hindmost attribute {planted.folder}" in planted.stopped.err
    assert 0 < len(planted.made) < 9, "two cells and the control are to be made three times"
    assert {path: path.stat().st_mtime_ns for path in planted.made} == planted.made
    assert len([*planted.folder.glob("1-low/*/runs/0*/run.json")]) == 9


def test_a_cell_whose_server_does_not_start_is_reported_and_the_study_goes_on(tmp_path):
    need_two_processors()
    broken = '[[factor]]\nname = "port"\nargument = "{level}"\nlevels = ["", "--no-such-option"]\n'
    file = study_file(tmp_path, broken, target="memcached", **SHORT)
    document = read(attribute(file, tmp_path / "study"))
    fine, failed = document["loads"][0]["cells"]
    assert fine["runs"] + fine["invalid"] == 6, "all were made, however disturbed"
    assert failed["runs"] == 0
    assert "--no-such-option" in failed["failure"]["text"]
    assert any(reason["code"] == "failed-cell" for reason in document["reasons"])


def test_a_setting_of_the_host_is_put_back(tmp_path):
    need_two_processors()
    if not THP.exists():
        pytest.skip("no transparent huge pages here")
    before = THP.read_text()
    now = before.split("[")[1].split("]")[0]
    other = "never" if now != "never" else "madvise"
    thp = f'[[factor]]\nname = "huge"\nknob = "thp"\nlevels = ["{now}", "{other}"]\n'
    file = study_file(tmp_path, thp, **SHORT)
    document = read(attribute(file, tmp_path / "study"))
    assert [cell["levels"]["huge"] for cell in document["loads"][0]["cells"]] == [now, other]
    assert THP.read_text() == before


@pytest.mark.parametrize(
    ("parts", "code", "said"),
    [
        ((BODY, BODY.replace('"body"', '"again"')), 2, "'body' and 'again' both set"),
        (('[[factor]]\nname = "x"\nknob = "thq"\nlevels = ["a", "b"]\n',), 2, "did you mean thp"),
        (('[[factor]]\nname = "x"\nknob = "thp"\nlevels = ["always", "sometimes"]\n',), 2, "sometimes"),
        (('[[factor]]\nname = "x"\nknob = "turbo"\nlevels = ["off", "on"]\n',), 5, "factor 'x'"),
        ((BODY.replace("option", "optoin"),), 2, "did you mean option"),
        ((BODY, '[[load]]\nname = "low"\nrate = "1k"\n'), 2, "two loads are called 'low'"),
    ],
)
def test_a_study_that_cannot_be_meant_is_refused_before_anything_is_written(tmp_path, parts, code, said):
    if "turbo" in "".join(parts) and Path("/sys/devices/system/cpu/intel_pstate/no_turbo").exists():
        pytest.skip("turbo can be set here")
    answer = attribute(study_file(tmp_path, *parts), tmp_path / "study")
    assert answer.code == code, answer.err
    assert said in answer.err
    assert "hint:" in answer.err
    assert not (tmp_path / "study").exists()


def test_a_running_server_is_refused(tmp_path):
    answer = attribute(study_file(tmp_path, BODY, target="memcached://127.0.0.1:1"), tmp_path / "study")
    assert answer.code == 2
    assert "started anew" in answer.err


def test_a_budget_that_pays_for_nothing_names_the_least_that_would(tmp_path):
    answer = attribute(study_file(tmp_path, BODY), tmp_path / "study", "--budget", "1s")
    assert answer.code == 2
    assert "--budget" in answer.err
    assert "the least is" in answer.err


def test_a_dry_run_says_what_it_would_cost_and_starts_nothing(tmp_path):
    file = study_file(tmp_path, BODY, HOLD)
    before = set(tmp_path.iterdir())
    answer = finish(start("attribute", file, "--dry-run"), tmp_path)
    assert answer.code == 0
    assert "full factorial of 2 factors: 4 cells; 3 blocks: 15 runs" in answer.out
    assert set(tmp_path.iterdir()) == before


def test_a_dry_run_runs_nothing_of_the_users(tmp_path):
    mark = tmp_path / "ran"
    own = f"""
[[factor]]
name = "mine"
command = "touch {mark}; true {{level}}"
read = "touch {mark}; echo 1"
undo = "touch {mark}"
levels = ["1", "2"]
"""
    folder = tmp_path / "study"
    folder.mkdir()
    file = study_file(folder, BODY, own)
    answer = finish(start("attribute", file, "--dry-run"), tmp_path)
    assert answer.code == 0, answer.err
    assert "note: nothing is run, so not tried: mine" in answer.out
    assert not mark.exists()
    resolve(file, None, budget=None, without=None)
    assert mark.exists(), "before the first run it is"


def test_a_budget_is_kept_with_the_study_because_it_decides_the_design(tmp_path):
    file = study_file(tmp_path, BODY, HOLD)
    plan, _ = resolve(file, None, budget="2m", without=None)
    again = read_study(plan.file.model_dump(mode="json"), "manifest")
    assert plan.blocks[0] > 3
    assert again.design.budget == "2m"
