"""Python processes that Hindmost starts import nothing from the working folder, which may be untrusted."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rows import each_row

TOP = Path(__file__).parents[2]
COMMAND = re.compile(r'(?:\[\s*sys\.executable|"\{python\}"),\s*"([^"]*)"')
"""A command in a source or a target file, and the first word after the interpreter."""
FILES = sorted(
    file
    for folder, kind in [("python/hindmost", "*.py"), ("python/hindmost", "*.toml"), ("examples", "*.toml")]
    for file in (TOP / folder).rglob(kind)
    if COMMAND.search(file.read_text())
)


@each_row("file", FILES, ids=[file.name for file in FILES])
def test_python_commands_ignore_the_working_folder(file: Path) -> None:
    assert set(COMMAND.findall(file.read_text())) <= {"-P", "-I"}


def test_python_commands_are_found_in_the_sources() -> None:
    result = {file.name for file in FILES}
    assert {"client.py", "interference.py", "warden.py", "tcpdump.py", "synth.toml"} <= result


@pytest.mark.parametrize("name", ["json.py", "signal.py", "hindmost.py"])
def test_a_module_in_the_working_folder_is_not_imported(name: str, tmp_path: Path) -> None:
    from hindmost.core.fleet.client import Client

    (tmp_path / name).write_text("from pathlib import Path\nPath(__file__).with_name('was run').touch()\n")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        place = tmp_path / "place"
        place.mkdir()
        one = Client(0, "{}", place, [])
        try:
            events = []
            while not events:
                events = one.hear()
        finally:
            one.stop()
    finally:
        os.chdir(before)
    assert events[0]["event"] in ("failed", "ended"), "an empty plan is refused"
    assert not (tmp_path / "was run").exists()
    careless = subprocess.run(
        [sys.executable, "-c", f"import {name[:-3]}"], cwd=tmp_path, capture_output=True, check=False
    )
    assert careless.returncode == 0
    assert (tmp_path / "was run").exists() or name == "signal.py", "the module runs without -P"
