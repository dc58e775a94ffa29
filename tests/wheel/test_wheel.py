"""The wheel, and the sources for machines that have Rust and Python only."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MEASURE = "measure synth --rate 2k --runs 2 --duration 1s --quantiles 50 --json --out study"
ANSWERS = {0: "valid", 4: "inconclusive", 6: "invalid"}

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]


def run(*command: object, cwd: Path, path: str = os.defpath, status: set[int] | None = None) -> str:
    """Run with `path` alone as PATH, and return what it printed."""
    environment = {"PATH": path, "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in (status or {0}), done.stderr[-2000:]
    return done.stdout


def fresh(folder: Path) -> Path:
    """The `bin` of a new virtual environment with nothing in it."""
    venv.create(folder, with_pip=True)
    return folder / "bin"


def check_that_it_measures(binaries: Path, folder: Path) -> None:
    assert "measure" in run(binaries / "hindmost", "--help", cwd=folder)
    found = json.loads(run(binaries / "hindmost", *MEASURE.split(), cwd=folder, status=set(ANSWERS)))
    assert found["verdict"] in ANSWERS.values()
    assert found["latency_us"]["p50"]["value"] > 0


def test_one_wheel_serves_a_fresh_environment_without_rust(tmp_path: Path) -> None:
    run("make", "wheel", cwd=ROOT, path=os.environ["PATH"])
    (wheel,) = sorted((ROOT / "dist").glob("hindmost-*.whl"), key=lambda file: file.stat().st_mtime)[-1:]
    # As manylinux where the toolchain links against a glibc that is old enough to be one.
    assert re.fullmatch(r"hindmost-[\d.]+-cp311-abi3-(many)?linux\w*_x86_64\.whl", wheel.name), wheel.name
    binaries = fresh(tmp_path / "venv")
    run(binaries / "python", "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    check_that_it_measures(binaries, tmp_path)


def test_pip_installs_the_sources_with_rust_and_python_alone(tmp_path: Path) -> None:
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("there is no cargo (setup/run puts it into PATH)")
    sources = tmp_path / "sources"
    run("git", "clone", "--quiet", "--no-hardlinks", ROOT, sources, cwd=tmp_path, path=os.environ["PATH"])
    binaries = fresh(tmp_path / "venv")
    path = f"{Path(cargo).parent}:{os.defpath}"
    run(binaries / "python", "-m", "pip", "install", "--quiet", sources, cwd=tmp_path, path=path)
    check_that_it_measures(binaries, tmp_path)
