"""The object file with the probes is stored in the tree and written by ``setup/bpf.sh`` only."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_make_does_not_rebuild_the_stored_object():
    """A checkout gives files arbitrary times, so the source can be younger than the object."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    source = "crates/trace/bpf/stages.bpf.c"
    assert (ROOT / source).is_file()
    command = ["make", "--dry-run", f"--what-if={source}", ".stamps/engine"]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert Path(source).name not in output, output
