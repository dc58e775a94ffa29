"""README.md keeps its two promises: the commands it names are there, and they are what CI runs."""

import re
import subprocess
from pathlib import Path

import pytest

from hindmost.cli.verbs import VERBS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    """What the README tells a newcomer to type: the lines of its first console block."""
    block = re.search(r"```console\n(.*?)```", README, re.DOTALL)
    assert block is not None, "README.md has no ```console block"
    return re.findall(r"^\$ ([^#\n]*[^#\s])", block[1], re.MULTILINE)


def test_readme_names_exactly_the_two_commands():
    assert commands() == ["make demo", "make test"]


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_the_makefile_has_the_command(command):
    target = command.removeprefix("make ")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:.*## \S", makefile, re.MULTILINE), f"no documented target {target}"
    dry = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"setup/{target}.sh" in dry.stdout


def test_ci_runs_what_a_person_would_type():
    assert "make test" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_the_demo_is_the_one_that_the_readme_shows():
    script = (ROOT / "setup/demo.sh").read_text(encoding="utf-8")
    asked = re.search(r"command=\((.venv/bin/hindmost measure .*)\)", script)
    assert asked is not None
    shown = asked[1].replace('"$target"', "memcached").replace('"$out"', "demo-study")
    assert f"$ {shown}" in README


def test_the_table_of_commands_has_those_of_the_help_page():
    section = README[README.index("| command | question |") :]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [v.name for v in VERBS if not v.hidden]
