"""The wheel's build and the tests' share what they compile."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def features(*which: str) -> dict[str, set[str]]:
    """Each third-party package that cargo would compile, with the sets of features it would do so with."""
    command = ["cargo", "tree", "--frozen", "--prefix", "none", "--format", "{p} {f}", *which]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cargo cannot list the packages here: {done.stderr.strip()[-200:]}")
    found: dict[str, set[str]] = {}
    for line in done.stdout.replace(" (*)", "").replace(" (proc-macro)", "").split("\n"):
        if not line:
            continue
        name, version, *more = line.split()
        found.setdefault(f"{name} {version}", set()).add(more[0] if more and more[0][0] != "(" else "")
    return found


@pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo (setup/run puts it into PATH)")
def test_tests_ask_no_package_of_the_engine_for_other_features() -> None:
    engine = features("-p", "hindmost-bridge", "-e", "normal,build")
    tests = features("--workspace", "-e", "all")
    assert {name: tests[name] for name in engine} == engine
