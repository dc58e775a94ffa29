"""The object with the probes, which is kept in the tree: only ``setup/bpf.sh`` writes it."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_make_leaves_the_kept_object_alone_where_its_source_is_younger():
    """As a checkout may leave them: times are those of writing, in any order."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    source = "crates/trace/bpf/stages.bpf.c"
    assert (ROOT / source).is_file()
    pretended = ["make", "--dry-run", f"--what-if={source}", ".stamps/engine"]
    said = subprocess.run(pretended, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert Path(source).name not in said, said
