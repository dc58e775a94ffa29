"""The commands that README.md names exist, and CI runs them."""

import re
import subprocess
from pathlib import Path

import pytest

from hindmost.cli.verbs import VERBS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def first_commands() -> list[str]:
    """Return the commands in the first console block of the README."""
    block = re.search(r"```console\n(.*?)```", README, re.DOTALL)
    assert block is not None, "README.md has no ```console block"
    return re.findall(r"^\$ ([^#\n]*[^#\s])", block[1], re.MULTILINE)


def test_the_readme_names_exactly_two_commands():
    assert first_commands() == ["make demo", "make test"]


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_the_makefile_has_the_command(command):
    target = command.removeprefix("make ")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:.*## \S", makefile, re.MULTILINE), f"no documented target {target}"
    dry = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"setup/{target}.sh" in dry.stdout


def test_ci_runs_the_documented_test_command():
    assert "make test" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_the_readme_shows_the_demo_command():
    script = (ROOT / "setup/demo.sh").read_text(encoding="utf-8")
    command_line = re.search(r"command=\((.venv/bin/hindmost measure .*)\)", script)
    assert command_line is not None
    shown = command_line[1].replace('"$target"', "memcached").replace('"$out"', "demo-study")
    assert f"$ {shown}" in README


def test_the_readme_and_the_help_page_list_the_same_commands():
    section = README[README.index("| command | question |") :]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [v.name for v in VERBS if not v.hidden]
