"""What `make test` does with tests that failed: `setup/again.sh`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RING = """
set -uo pipefail
. setup/lib.sh
. setup/again.sh
work=$1 PYTEST=("$1/ring")
shift
"$@"
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


def asked(folder: Path, work: Path, *words: str) -> tuple[int, list[str], str]:
    """A ring asked by the scripts of a project: its status, what is told as unsteady, and what it said."""
    environment = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"}
    done = subprocess.run(
        ["bash", "-c", RING, "bash", work, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    told = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("UNSTEADY")]
    return done.returncode, told, done.stdout


def ring(work: Path, first: int, failed: list[str], second: int = 0) -> tuple[int, list[str], int]:
    """Status, what is told as unsteady, and how often a pytest was asked that ends with these statuses."""
    lines = ",\n".join(f'  "{name}": true' for name in failed)
    (work / "failed").write_text(f"{{\n{lines}\n}}")
    (work / "ring").write_text(PYTEST.format(work=work, first=first, second=second))
    (work / "ring").chmod(0o755)
    status, told, _ = asked(ROOT, work, "asked_by_pytest", "ring", "--first")
    return status, told, len((work / "asked").read_text().splitlines())


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


MANIFEST = """
[package]
name = "one"
version = "0.0.0"
edition = "2021"
rust-version = "1.80"

[workspace]
members = ["."]
"""
RUST_TEST = """
#[test]
fn holds() {}

#[test]
fn is_starved() {
    let past = std::path::Path::new("past");
    let again = past.exists();
    std::fs::write(past, "").unwrap();
    assert!(again && !std::path::Path::new("broken").exists());
}
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of Rust with the scripts of this one and one test that fails at first; always, beside a file `broken`."""
    folder = tmp_path_factory.mktemp("workspace")
    for name, text in {"Cargo.toml": MANIFEST, "src/lib.rs": "", "tests/starved.rs": RUST_TEST}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "setup").mkdir()
    for name in ("lib.sh", "run", "again.sh"):
        shutil.copy(ROOT / "setup" / name, folder / "setup")
    shutil.copy(ROOT / "rust-toolchain.toml", folder)
    subprocess.run(
        [ROOT / "setup/run", "cargo", "generate-lockfile", "--manifest-path", folder / "Cargo.toml"],
        check=True,
    )
    return folder


def cargo_ring(folder: Path, work: Path) -> tuple[int, list[str], int]:
    """Status, what is told as unsteady, and how often that test was run."""
    (folder / "past").unlink(missing_ok=True)
    status, told, said = asked(folder, work, "asked_by_cargo", "--workspace")
    return status, told, said.count("test result: FAILED") + said.count("test result: ok. 1 passed")


def test_a_test_of_rust_that_holds_when_it_is_asked_again_is_unsteady(
    workspace: Path, tmp_path: Path
) -> None:
    assert cargo_ring(workspace, tmp_path) == (0, ["is_starved"], 2)


def test_a_test_of_rust_that_fails_twice_is_red(workspace: Path, tmp_path: Path) -> None:
    (workspace / "broken").touch()
    try:
        assert cargo_ring(workspace, tmp_path) == (1, [], 2)
    finally:
        (workspace / "broken").unlink()


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
