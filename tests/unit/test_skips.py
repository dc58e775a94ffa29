"""A test that shows nothing is told; one that nobody expected fails in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "setup" / "skips.py"
LINES = "a/test_r.py::one\tno R here\na/test_r.py::two\tno R here\nrust::three\tno such server\n"
LIST = """
[[skip]]
tests = "a/*"
reason = "no R*"
because = "R is a luxury"
when = "{when}"

[[skip]]
tests = "rust::*"
reason = "no such server"
because = "it is expected"
"""


def told(folder: Path, lines: str | None, listed: str, ci: str = "") -> tuple[int, str]:
    """Run the script over a register of `lines` and a list of expected skips."""
    register, file = folder / "register", folder / "skips.toml"
    if lines is not None:
        register.write_text(lines)
    file.write_text(listed)
    done = subprocess.run(
        [sys.executable, SCRIPT, register, file],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CI": ci},
    )
    assert not done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize("lines", [None, ""])
def test_nothing_skipped_is_said(tmp_path: Path, lines: str | None) -> None:
    assert told(tmp_path, lines, "", ci="true") == (0, "register of skips: no test was skipped\n")


def test_what_is_listed_is_expected_with_its_reason(tmp_path: Path) -> None:
    status, table = told(tmp_path, LINES, LIST.format(when="true"), ci="true")
    assert status == 0
    assert "3 shown as skipped, 0 of them unexpected" in table
    assert "R is a luxury" in table


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("1", 1), ("", 0), ("false", 0)])
def test_what_is_expected_elsewhere_only_is_red_in_ci(tmp_path: Path, ci: str, status: int) -> None:
    found, table = told(tmp_path, LINES, LIST.format(when="false"), ci=ci)
    assert found == status
    assert "2 of them unexpected" in table
    assert "   2  UNEXPECTED  no R here\n        a/test_r.py::one\n" in table


def test_a_line_that_two_processes_wrote_is_counted_once(tmp_path: Path) -> None:
    _, table = told(tmp_path, LINES + LINES, LIST.format(when="true"))
    assert "3 shown as skipped" in table


def test_the_list_of_this_project_can_be_read(tmp_path: Path) -> None:
    listed = (Path(__file__).parents[1] / "skips.toml").read_text()
    status, _ = told(tmp_path, LINES, listed)
    assert status == 0


def test_a_skip_of_pytest_is_registered(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "import pytest\n\n\ndef test_it():\n    pytest.skip('no\\nthing')\n"
    )
    (tmp_path / "conftest.py").write_text((Path(__file__).parents[1] / "conftest.py").read_text())
    register = tmp_path / "register"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path],
        capture_output=True,
        check=True,
        env={**os.environ, "HINDMOST_SKIPS": str(register)},
    )
    assert register.read_text() == "test_one.py::test_it\tno thing\n"
