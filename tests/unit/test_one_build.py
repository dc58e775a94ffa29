"""The builds of the wheel and of the tests compile the same packages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def list_features(*options: str) -> dict[str, set[str]]:
    """Return the sets of features that cargo would compile each third-party package with."""
    command = ["cargo", "tree", "--frozen", "--prefix", "none", "--format", "{p} {f}", *options]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if process.returncode:
        pytest.skip(f"cargo cannot list the packages here: {process.stderr.strip()[-200:]}")
    features: dict[str, set[str]] = {}
    for line in process.stdout.replace(" (*)", "").replace(" (proc-macro)", "").split("\n"):
        if not line:
            continue
        name, version, *rest = line.split()
        features.setdefault(f"{name} {version}", set()).add(rest[0] if rest and rest[0][0] != "(" else "")
    return features


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_tests_use_the_engines_packages_with_the_same_features() -> None:
    engine = list_features("-p", "hindmost-bridge", "-e", "normal,build")
    tests = list_features("--workspace", "-e", "all")
    assert {name: tests[name] for name in engine} == engine
