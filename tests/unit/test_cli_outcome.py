"""How results are output: limits, files for CI, and outputs that close early, are full or cannot be written."""

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

import msgspec
import pytest

from hindmost import Study
from hindmost.cli import main
from hindmost.core.store.measure import Measure
from hindmost.core.store.reading import revive
from hindmost.core.study import kind as kinds

HELD, CROSSED = "mean<1h", "p50>1h"
SHORT_AND_LONG = [("clone", "show", "silo"), ("completion", "bash")]
"""A text that fits into the output buffer, and one that does not."""


def run_command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run a command; return its exit code, standard output and standard error."""
    code = main([*map(str, arguments)])
    output = capsys.readouterr()
    return code, output.out, output.err


def codes(err: str) -> list[str]:
    """Return the codes of errors and notes on standard error, in order."""
    return re.findall(r"^(?:error|note)\[([a-z-]+)\]: ", err, re.MULTILINE)


def has_line(text: str, *parts: str) -> bool:
    """Return whether one line has all these parts."""
    return any(all(part in line for part in parts) for line in text.splitlines())


def full_disk() -> IO[str]:
    """Return a buffered output, like standard output into a file, without room for any data."""
    return os.fdopen(os.open("/dev/full", os.O_WRONLY), "w")


def closed_pipe() -> IO[str]:
    """Return a buffered output into a pipe whose reader has gone."""
    reads, writes = os.pipe()
    os.close(reads)
    return os.fdopen(writes, "w")


def run_into(
    stdout: IO[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object
) -> tuple[int, str]:
    """Run a command with this standard output; return exit code and standard error. Closing the output raises nothing."""
    with stdout, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stdout)
        code = main([*map(str, arguments)])
    return code, capsys.readouterr().err


def start_process(stdout: IO[str], *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command in its own process with this standard output, buffered as usual."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    program = [sys.executable, "-c", "import sys; from hindmost.cli import main; sys.exit(main())"]
    return subprocess.run(
        [*program, *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=120,
        env=env,
    )


@pytest.fixture
def noisy(study: Study) -> Study:
    """The small study. The host may have been noisy, so tests check only what noise cannot change."""
    return study


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ([], 0),
        ([HELD], 0),
        ([HELD, CROSSED], 3),
        ([HELD, "errors<0.0001%"], 4),  # too few requests to decide
        ([CROSSED, "errors<0.0001%"], 3),
    ],
)
def test_limits_are_checked_on_a_stored_study(noisy, limits, code, capsys):
    arguments = [word for limit in limits for word in ("--require", limit)]
    exit_code, out, err = run_command(capsys, "study", "report", noisy.folder, "--json", *arguments)
    assert exit_code == code, err
    result = json.loads(out)
    assert [limit["limit"] for limit in result.get("limits", [])] == limits
    for limit in result.get("limits", []):
        assert has_line(err, limit["limit"], limit["result"], limit["text"])
        assert (limit["result"] == "undecided") == bool(limit["hint"])
    page = (noisy.folder / "report.html").read_text()
    assert ('id="limits"' in page) == bool(limits)


def test_stored_limits_do_not_decide_a_later_report(noisy, capsys):
    manifest = noisy.folder / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"require": [CROSSED]}))
    code, out, err = run_command(capsys, "study", "report", noisy.folder)
    assert code == 0
    assert has_line(out, "✕", CROSSED)
    assert has_line(err, CROSSED, "crossed")
    assert run_command(capsys, "study", "report", noisy.folder, "--require", HELD)[0] == 0
    assert json.loads(manifest.read_text())["require"] == [CROSSED]


def test_junit_has_a_case_for_each_limit_and_markdown_a_line(noisy, tmp_path, capsys):
    xml, summary = tmp_path / "limits.xml", tmp_path / "summary.md"
    limits = ("--require", f"{HELD},{CROSSED}", "--require", "errors<0.0001%")
    code, _, err = run_command(
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
        assert has_line(text, f"- {mark} ", f"`{limit}`: ")


def test_texts_of_a_server_are_escaped_in_markdown_and_xml(noisy, capsys):
    from hindmost.commands.measure.view import view
    from hindmost.commands.measure.view.junit import render_junit
    from hindmost.present.markdown import render_markdown

    _, out, _ = run_command(capsys, "study", "report", noisy.folder, "--json", "--require", HELD)
    document = json.loads(out)
    evil = "<b>|*x*\x00\x1b[31m\uffff]]>\u202e & `"
    document["target"]["name"] = document["headline"] = document["limits"][0]["text"] = evil
    measured = msgspec.convert(revive(document), Measure)
    Xml.fromstring(render_junit(measured.limits, measured.target, measured.created, 1.0))
    lines = render_markdown(view(measured)).splitlines()
    assert not any("<b>" in line and "\\<b\\>" not in line for line in lines)
    row = next(line for line in lines if line.startswith("- ✓ held: "))
    assert "\\<b\\>\\|\\*x\\*" in row


@pytest.mark.parametrize(("limit", "code"), [(HELD, 0), (CROSSED, 3)])
def test_a_reader_that_leaves_early_does_not_change_the_exit_code(noisy, limit, code, monkeypatch, capsys):
    exit_code, err = run_into(
        closed_pipe(), monkeypatch, capsys, "study", "report", noisy.folder, "--require", limit
    )
    assert exit_code == code, err
    assert codes(err) == ["output-closed"]
    assert limit in err
    assert "Traceback" not in err


@pytest.mark.parametrize(("limit", "code"), [(HELD, 1), (CROSSED, 3)])
def test_a_full_disk_is_one_error_and_keeps_a_crossed_limit(noisy, limit, code, monkeypatch, capsys):
    exit_code, err = run_into(
        full_disk(), monkeypatch, capsys, "study", "report", noisy.folder, "--require", limit
    )
    assert exit_code == code, err
    assert codes(err) == ["unwritable-file"]
    assert os.strerror(errno.ENOSPC) in err
    assert "Traceback" not in err


@pytest.mark.parametrize("arguments", SHORT_AND_LONG, ids=" ".join)
def test_other_commands_report_a_full_disk_and_a_closed_pipe(arguments, monkeypatch, capsys):
    for stdout, error in ((full_disk(), "unwritable-file"), (closed_pipe(), "output-closed")):
        code, err = run_into(stdout, monkeypatch, capsys, *arguments)
        assert code == 1
        assert codes(err) == [error]
        assert "Traceback" not in err


def test_a_process_prints_no_second_error_when_it_ends():
    with full_disk() as disk:
        process = start_process(disk, *SHORT_AND_LONG[0])
    assert process.returncode == 1
    assert codes(process.stderr) == ["unwritable-file"]
    assert "Exception ignored" not in process.stderr
    with closed_pipe() as pipe:
        process = start_process(pipe, *SHORT_AND_LONG[0])
    assert process.returncode == 1
    assert codes(process.stderr) == ["output-closed"]
    assert "Exception ignored" not in process.stderr


def test_unwritable_ci_files_are_one_error_and_the_result_is_shown(noisy, capsys):
    code, out, err = run_command(
        capsys, "study", "report", noisy.folder, "--require", HELD, "--junit", "/dev/full"
    )
    assert code == 1
    assert codes(err) == ["unwritable-file"]
    assert "/dev/full" in err
    assert has_line(out, "✓", HELD)
    code, _, _ = run_command(
        capsys, "study", "report", noisy.folder, "--require", CROSSED, "--junit", "/dev/full"
    )
    assert code == 3


def test_an_unwritable_page_loses_neither_table_nor_runs(noisy, monkeypatch):
    from hindmost.commands.measure.answer import answer
    from hindmost.commands.measure.kind import publish
    from hindmost.core.store import study as room

    write_whole = room.write_whole

    def fail_on_page(path: Path, content: bytes) -> Path:
        if path.name == "report.html":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write_whole(path, content)

    monkeypatch.setattr(room, "write_whole", fail_on_page)
    kind = kinds.Kind("measure", lambda study, talk: answer(study), answer, publish, "")
    monkeypatch.setattr(kinds, "kind_of", lambda study: kind)
    shown = kinds.carry_out(noisy, None)  # type: ignore[arg-type]
    assert "p99" in shown.table()
    (failed,) = shown.failed
    assert os.strerror(errno.ENOSPC) in failed
    assert not any("report.html" in note for note in shown.notes)


def test_limits_are_checked_on_a_read_only_study_without_writing(noisy, monkeypatch, capsys):
    from hindmost.core.store import study as room

    def refuse_write(path: Path, content: bytes) -> Path:
        raise AssertionError(f"{path} was written")

    monkeypatch.setattr(room, "write_whole", refuse_write)
    monkeypatch.setattr(room.os, "access", lambda path, mode: False)
    code, out, err = run_command(capsys, "study", "report", noisy.folder, "--require", CROSSED)
    assert code == 3
    assert has_line(out, "✕", CROSSED)
    assert has_line(err, "read-only", str(noisy.folder))


def test_only_a_measurement_can_have_limits(noisy, capsys, tmp_path):
    shutil.copytree(noisy.folder, tmp_path / "copy")
    manifest = tmp_path / "copy/manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"kind": "search"}))
    code, out, _ = run_command(capsys, "study", "report", tmp_path / "copy", "--require", HELD, "--json")
    error = json.loads(out)
    assert (code, error["code"], error["fields"]["kind"]) == (2, "wrong-study-kind", "search")
    code, out, _ = run_command(
        capsys, "study", "report", noisy.folder, "--junit", tmp_path / "none.xml", "--json"
    )
    error = json.loads(out)
    assert (code, error["code"], error["fields"]["option"]) == (2, "missing-argument", "--require")
