"""What `make test` does with tests that failed: `setup/again.sh`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RING = """
set -uo pipefail
. setup/lib.sh
. setup/again.sh
work=$1 PYTEST=("$1/ring")
asked_by_pytest ring --first
status=$?
tell_unsteady
exit "$status"
"""
PYTEST = """#!/bin/sh
# The ring itself, and then what --last-failed asks for.
echo "$@" >>{work}/asked
case "$*" in *--last-failed*) exit {second} ;; esac
mkdir -p {work}/cache-ring/v/cache
cp {work}/failed {work}/cache-ring/v/cache/lastfailed
exit {first}
"""


def ring(work: Path, first: int, failed: list[str], second: int = 0) -> tuple[int, list[str], int]:
    """Status, what is told as unsteady, and how often a pytest was asked that ends with these statuses."""
    lines = ",\n".join(f'  "{name}": true' for name in failed)
    (work / "failed").write_text(f"{{\n{lines}\n}}")
    (work / "ring").write_text(PYTEST.format(work=work, first=first, second=second))
    (work / "ring").chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", RING, "bash", work], cwd=ROOT, capture_output=True, text=True, check=False
    )
    told = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("UNSTEADY")]
    return done.returncode, told, len((work / "asked").read_text().splitlines())


def test_what_holds_when_it_is_asked_again_is_told_as_unsteady(tmp_path: Path) -> None:
    assert ring(tmp_path, 1, ["a.py::b[0.5]", "a.py::c"]) == (0, ["a.py::b[0.5]", "a.py::c"], 2)


def test_what_fails_twice_is_red(tmp_path: Path) -> None:
    assert ring(tmp_path, 1, ["a.py::b"], second=1) == (1, [], 2)


@pytest.mark.parametrize(
    ("first", "failed"),
    [(1, [f"a.py::t{n}" for n in range(4)]), (1, []), (2, ["a.py::b"]), (0, [])],
    ids=["four failed", "none is known", "interrupted", "all held"],
)
def test_nothing_else_is_asked_again(tmp_path: Path, first: int, failed: list[str]) -> None:
    assert ring(tmp_path, first, failed) == (first, [], 1)


LIBTEST = """
failures:

---- real::first stdout ----

thread 'real::first' panicked at a.rs:1:
    left: 1
failures:
    real::first
    second

test result: FAILED. 1 passed; 2 failed
    not::one
"""


def test_failed_tests_of_rust_are_read_from_the_list_alone() -> None:
    read = ". setup/lib.sh; . setup/again.sh; failed_of_libtest"
    done = subprocess.run(
        ["bash", "-c", read], cwd=ROOT, input=LIBTEST, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["real::first", "second"]
