"""Study folders: complete or absent after any failure."""

import errno
import json
import multiprocessing
import os
from pathlib import Path

import pytest
from messages import raises
from run_records import run_document, run_record

from hindmost.core.store import Study
from hindmost.core.store.study import SCHEMA
from hindmost.errors import Interrupted, StudyError, UsageError


@pytest.fixture
def study(tmp_path):
    return Study.create(tmp_path / "study", {"plan": {}, "host": {}})


FIELDS = {name: value for name, value in run_document().items() if name not in ("schema", "run")}


def contents(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def finish_run(study: Study, number: int) -> None:
    with study.new_run(number) as (place, record):
        (place / "client-0.json").write_text("{}")
        record |= FIELDS


def test_a_new_study_has_a_manifest_and_a_folder_for_runs(study):
    assert contents(study.folder) == {"manifest.json", "runs"}
    assert Study.open(study.folder).manifest == {"schema": SCHEMA, "plan": {}, "host": {}}


def test_a_study_is_not_created_in_a_folder_with_contents(study, tmp_path):
    finish_run(study, 1)
    with raises(UsageError, "study-exists", path=str(study.folder)) as caught:
        Study.create(study.folder, {})
    assert "--resume" in caught.value.hint
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    (tmp_path / "file").write_text("x")
    for name in ("full", "file"):
        with raises(UsageError, "folder-in-use", path=str(tmp_path / name)):
            Study.create(tmp_path / name, {})


def test_a_study_without_a_finished_run_is_replaced(study):
    with pytest.raises(RuntimeError), study.lock(), study.new_run(1):
        raise RuntimeError("the server does not start")
    again = Study.create(study.folder, {"plan": {"another": 1}, "host": {}})
    assert Study.open(study.folder).manifest["plan"] == {"another": 1}
    finish_run(again, 1)
    assert len(again.runs()) == 1


@pytest.mark.parametrize(
    "name", ["result.json", "steps/10000/manifest.json", "notes.txt", "runs/kept/run.json"]
)
def test_a_study_with_other_contents_is_not_replaced(study, name):
    (study.folder / name).parent.mkdir(parents=True, exist_ok=True)
    (study.folder / name).write_text("{}")
    with raises(UsageError, "study-exists"):
        Study.create(study.folder, {})


def test_a_locked_study_is_not_replaced(study):
    with study.lock(), raises(StudyError, "study-in-use"):
        Study.create(study.folder, {})


def test_an_empty_folder_becomes_a_study(tmp_path):
    (tmp_path / "empty").mkdir()
    assert Study.create(tmp_path / "empty", {}).runs() == []


def test_a_run_is_kept_when_its_block_succeeds(study):
    finish_run(study, 1)
    [run] = study.runs()
    assert (run.number, run.record) == (1, run_record())
    assert contents(study.folder / "runs") == {"0001", "0001/run.json", "0001/client-0.json"}


@pytest.mark.parametrize(
    "failure",
    [RuntimeError("no"), KeyboardInterrupt(), Interrupted("SIGTERM"), SystemExit(1), GeneratorExit()],
)
def test_a_run_that_fails_leaves_nothing(study, failure):
    finish_run(study, 1)

    def fail() -> None:
        with study.new_run(2) as (place, _):
            (place / "samples-0.parquet").write_bytes(b"half")
            raise failure

    with pytest.raises(type(failure)):
        fail()
    assert [run.number for run in study.runs()] == [1]
    assert contents(study.folder / "runs") == {"0001", "0001/run.json", "0001/client-0.json"}


@pytest.mark.parametrize("where", ["fsync", "rename"])
def test_a_full_disk_leaves_no_partial_run_and_says_how_to_resume(study, monkeypatch, where):
    finish_run(study, 1)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if where == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, "rename", full)
    with raises(StudyError, "disk-full", errno="ENOSPC") as caught:
        finish_run(study, 2)
    assert "df -h" in caught.value.hint
    assert f"hindmost measure --resume {study.folder}" in caught.value.hint
    assert [run.number for run in study.runs()] == [1]
    assert not list(study.folder.rglob(".part-*"))


def test_a_full_disk_leaves_the_old_file_complete(study, monkeypatch):
    study.write("result.json", '{"old": true}')

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with raises(StudyError, "disk-full"):
        study.write("result.json", '{"new": true}')
    assert json.loads((study.folder / "result.json").read_text()) == {"old": True}
    assert not list(study.folder.glob(".part-*"))


@pytest.mark.parametrize(
    ("number", "hint"), [(errno.EROFS, "--out"), (errno.EACCES, "ls -ld"), (errno.EIO, "ls -ld")]
)
def test_every_failed_write_has_a_hint(study, monkeypatch, number, hint):
    def failing(_: int) -> None:
        raise OSError(number, os.strerror(number), str(study.folder / "x"))

    monkeypatch.setattr(os, "fsync", failing)
    path, name = str(study.folder / "x"), errno.errorcode[number]
    with raises(StudyError, "unwritable-file", path=path, errno=name) as caught:
        study.write("x", "y")
    assert hint in caught.value.hint


def test_readers_never_see_an_unfinished_run(study):
    with study.new_run(1) as (place, record):
        record |= FIELDS
        assert place.is_dir()
        assert study.runs() == []
        assert Study.open(study.folder).runs() == []
    assert len(study.runs()) == 1


def test_the_lock_removes_leftovers_of_a_killed_process(study):
    left = study.folder / "runs" / ".part-0003"
    left.mkdir()
    (left / "run.json").write_text("{}")
    finish_run(study, 1)
    with study.lock():
        assert contents(study.folder / "runs") == {"0001", "0001/run.json", "0001/client-0.json"}


def test_a_second_process_cannot_lock_a_study(study):
    other = Study.open(study.folder)
    with study.lock(), raises(StudyError, "study-in-use", path=str(study.folder)) as caught, other.lock():
        pytest.fail("two in one study")
    assert caught.value.hint
    with study.lock():
        pass  # the lock is free


def _hold(folder: str, ready: object) -> None:
    with Study.open(Path(folder)).lock():
        ready.set()
        os._exit(0)  # no clean-up, as after kill -9


def test_the_lock_of_a_killed_process_is_free(study):
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Event()
    process = spawn.Process(target=_hold, args=(str(study.folder), ready))
    process.start()
    process.join(20)
    assert process.exitcode == 0
    with study.lock():
        pass


def test_runs_are_ordered_by_number(study):
    for number in (10, 2, 1):
        finish_run(study, number)
    assert [run.number for run in study.runs()] == [1, 2, 10]


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff\xff", b"{}"])
def test_a_damaged_run_is_reported_with_a_hint(study, content):
    folder = study.folder / "runs" / "0001"
    folder.mkdir()
    if content is not None:
        (folder / "run.json").write_bytes(content)
    with raises(StudyError, "damaged-run", run=1, path=str(folder / "run.json")) as caught:
        study.runs()
    assert str(folder) in caught.value.hint


@pytest.mark.parametrize(
    ("content", "code", "fields"),
    [
        (None, "no-such-study", {}),
        (b"", "bad-file", {}),
        (b"{", "bad-file", {}),
        (b'{"schema": "hindmost.study/1", "plan": {}}', "bad-file", {"key": "host"}),
        (b"[]", "unsupported-format", {"value": "list"}),
        (b"{}", "unsupported-format", {"value": None}),
        (
            b'{"schema": "hindmost.study/9"}',
            "unsupported-format",
            {"value": "hindmost.study/9", "known": [SCHEMA]},
        ),
    ],
)
def test_a_folder_without_a_study_is_refused(tmp_path, content, code, fields):
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(content)
    with raises(StudyError, code, **fields):
        Study.open(tmp_path)
