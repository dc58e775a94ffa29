"""How an answer leaves: limits, files for CI, and outputs that end early, are full or cannot be written."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO
from xml.etree import ElementTree as Xml

import pytest

from hindmost import Study
from hindmost.cli import main
from hindmost.studies import kind as kinds

HELD, CROSSED = "mean<1h", "p50>1h"
SHORT_AND_LONG = [("clone", "show", "silo"), ("completion", "bash")]
"""What a buffer holds until the end, and what fills it before."""


def told(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Exit code, standard output and error of a command."""
    code = main([*map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


def codes(err: str) -> list[str]:
    """Codes of errors and notes on standard error, in order."""
    return re.findall(r"^(?:error|note)\[([a-z-]+)\]: ", err, re.MULTILINE)


def has_line(text: str, *parts: str) -> bool:
    """Whether a line holds all these."""
    return any(all(part in line for part in parts) for line in text.splitlines())


def full_disk() -> IO[str]:
    """Buffered, like standard output into a file; there is no room for any of it."""
    return os.fdopen(os.open("/dev/full", os.O_WRONLY), "w")


def closed_pipe() -> IO[str]:
    """Buffered, as standard output is in a pipe; whoever would read it has gone."""
    reads, writes = os.pipe()
    os.close(reads)
    return os.fdopen(writes, "w")


def into(
    stdout: IO[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object
) -> tuple[int, str]:
    """Exit code and standard error of a command whose standard output goes there; what it held back raises nothing."""
    with stdout, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stdout)
        code = main([*map(str, words)])
    return code, capsys.readouterr().err


def started(stdout: IO[str], *words: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, whose standard output goes there, buffered as people have it."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    program = [sys.executable, "-c", "import sys; from hindmost.cli import main; sys.exit(main())"]
    return subprocess.run(
        [*program, *map(str, words)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=120,
        env=env,
    )


@pytest.fixture
def noisy(study: Study) -> Study:
    """The tiny study; this host may have been noisy, so that only what noise cannot bend is required of it."""
    return study


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ([], 0),
        ([HELD], 0),
        ([HELD, CROSSED], 3),
        ([HELD, "errors<0.0001%"], 4),  # so few requests cannot tell
        ([CROSSED, "errors<0.0001%"], 3),
    ],
)
def test_a_stored_study_is_judged_without_its_server(noisy, limits, code, capsys):
    words = [word for one in limits for word in ("--require", one)]
    found, out, err = told(capsys, "study", "report", noisy.folder, "--json", *words)
    assert found == code, err
    result = json.loads(out)
    assert [one["limit"] for one in result.get("limits", [])] == limits
    for one in result.get("limits", []):
        assert has_line(err, one["limit"], one["result"], one["text"])
        assert (one["result"] == "undecided") == bool(one["hint"])
    page = (noisy.folder / "report.html").read_text()
    assert ('id="limits"' in page) == bool(limits)


def test_limits_of_a_measurement_stay_with_its_study_and_decide_no_later_report(noisy, capsys):
    manifest = noisy.folder / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"require": [CROSSED]}))
    code, out, err = told(capsys, "study", "report", noisy.folder)
    assert code == 0
    assert has_line(out, "✕", CROSSED)
    assert has_line(err, CROSSED, "crossed")
    assert told(capsys, "study", "report", noisy.folder, "--require", HELD)[0] == 0
    assert json.loads(manifest.read_text())["require"] == [CROSSED]


def test_junit_has_a_case_for_each_limit_and_markdown_a_row(noisy, tmp_path, capsys):
    xml, summary = tmp_path / "limits.xml", tmp_path / "summary.md"
    limits = ("--require", f"{HELD},{CROSSED}", "--require", "errors<0.0001%")
    code, _, err = told(
        capsys, "study", "report", noisy.folder, *limits, "--junit", xml, "--markdown", summary
    )
    assert code == 3, err
    suite = Xml.parse(xml).getroot()[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }
    kinds_of = {case.get("name"): case[0].tag for case in suite}
    assert kinds_of == {HELD: "system-out", CROSSED: "failure", "errors<0.0001%": "error"}
    text = summary.read_text()
    for mark, limit in (("✓", HELD), ("✕", CROSSED), ("?", "errors<0.0001%")):
        assert has_line(text, f"| `{limit}` | {mark} ")


def test_words_of_a_server_are_neither_markup_nor_broken_xml(noisy, capsys):
    from hindmost.report.measure.junit import render_junit
    from hindmost.report.measure.markdown import render_markdown

    _, out, _ = told(capsys, "study", "report", noisy.folder, "--json", "--require", HELD)
    document = json.loads(out)
    evil = "<b>|*x*\x00\x1b[31m\uffff]]>\u202e & `"
    document["target"]["name"] = document["headline"] = document["limits"][0]["text"] = evil
    Xml.fromstring(render_junit(document))
    lines = render_markdown(document).splitlines()
    assert not any("<b>" in line and "\\<b\\>" not in line for line in lines)
    row = next(line for line in lines if line.startswith(f"| `{HELD}`"))
    assert row.count("|") - row.count("\\|") == 4


@pytest.mark.parametrize(("limit", "code"), [(HELD, 0), (CROSSED, 3)])
def test_a_reader_that_goes_early_changes_no_exit_code(noisy, limit, code, monkeypatch, capsys):
    found, err = into(closed_pipe(), monkeypatch, capsys, "study", "report", noisy.folder, "--require", limit)
    assert found == code, err
    assert codes(err) == ["output-closed"]
    assert limit in err
    assert "Traceback" not in err


@pytest.mark.parametrize(("limit", "code"), [(HELD, 1), (CROSSED, 3)])
def test_a_full_disk_is_one_error_and_a_crossed_limit_stays_crossed(noisy, limit, code, monkeypatch, capsys):
    found, err = into(full_disk(), monkeypatch, capsys, "study", "report", noisy.folder, "--require", limit)
    assert found == code, err
    assert codes(err) == ["unwritable-file"]
    assert os.strerror(errno.ENOSPC) in err
    assert "Traceback" not in err


@pytest.mark.parametrize("words", SHORT_AND_LONG, ids=" ".join)
def test_other_commands_report_a_full_disk_and_a_closed_pipe(words, monkeypatch, capsys):
    for stdout, error in ((full_disk(), "unwritable-file"), (closed_pipe(), "output-closed")):
        code, err = into(stdout, monkeypatch, capsys, *words)
        assert code == 1
        assert codes(err) == [error]
        assert "Traceback" not in err


def test_a_process_that_ends_adds_nothing_to_its_error():
    with full_disk() as full:
        done = started(full, *SHORT_AND_LONG[0])
    assert done.returncode == 1
    assert codes(done.stderr) == ["unwritable-file"]
    assert "Exception ignored" not in done.stderr
    with closed_pipe() as pipe:
        done = started(pipe, *SHORT_AND_LONG[0])
    assert done.returncode == 1
    assert codes(done.stderr) == ["output-closed"]
    assert "Exception ignored" not in done.stderr


def test_ci_files_that_cannot_be_written_are_one_error_and_all_else_is_shown(noisy, capsys):
    code, out, err = told(capsys, "study", "report", noisy.folder, "--require", HELD, "--junit", "/dev/full")
    assert code == 1
    assert codes(err) == ["unwritable-file"]
    assert "/dev/full" in err
    assert has_line(out, "✓", HELD)
    code, _, _ = told(capsys, "study", "report", noisy.folder, "--require", CROSSED, "--junit", "/dev/full")
    assert code == 3


def test_a_page_that_cannot_be_written_costs_neither_table_nor_runs(noisy, monkeypatch):
    from hindmost.store import study as room
    from hindmost.studies.measure import answer
    from hindmost.studies.measure.kind import publish

    whole = room.write_whole

    def full(path: Path, content: bytes) -> Path:
        if path.name == "report.html":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return whole(path, content)

    monkeypatch.setattr(room, "write_whole", full)
    kind = kinds.Kind("measure", lambda study, talk: answer(study), answer, publish)
    monkeypatch.setattr(kinds, "kind_of", lambda study: kind)
    shown = kinds.carry_out(noisy, None)  # type: ignore[arg-type]
    assert "p99" in shown.table()
    (failed,) = shown.failed
    assert os.strerror(errno.ENOSPC) in failed
    assert not any("report.html" in note for note in shown.notes)


def test_a_read_only_study_is_judged_and_nothing_is_tried_to_be_written(noisy, monkeypatch, capsys):
    from hindmost.store import study as room

    def never(path: Path, content: bytes) -> Path:
        raise AssertionError(f"{path} was tried")

    monkeypatch.setattr(room, "write_whole", never)
    monkeypatch.setattr(room.os, "access", lambda path, mode: False)
    code, out, err = told(capsys, "study", "report", noisy.folder, "--require", CROSSED)
    assert code == 3
    assert has_line(out, "✕", CROSSED)
    assert has_line(err, "read-only", str(noisy.folder))


def test_only_a_measurement_can_be_held_against_limits(noisy, capsys, tmp_path):
    shutil.copytree(noisy.folder, tmp_path / "other")
    manifest = tmp_path / "other/manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"kind": "search"}))
    code, out, _ = told(capsys, "study", "report", tmp_path / "other", "--require", HELD, "--json")
    error = json.loads(out)
    assert (code, error["code"], error["fields"]["kind"]) == (2, "wrong-study-kind", "search")
    code, out, _ = told(capsys, "study", "report", noisy.folder, "--junit", tmp_path / "none.xml", "--json")
    error = json.loads(out)
    assert (code, error["code"], error["fields"]["option"]) == (2, "missing-argument", "--require")
