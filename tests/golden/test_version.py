"""The version stands in the root Cargo.toml; wherever else it is written, `make release` changes it, too."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
COPIES = {
    "CITATION.cff": rf"^version: {VERSION}$",
    "hadoop/pom.xml": rf"^  <version>{VERSION}</version>$",
    "hadoop/contract/pom.xml": rf"^  <version>{VERSION}</version>$",
    "hadoop/search/pom.xml": rf"^  <version>{VERSION}</version>$",
    "hadoop/tez/pom.xml": rf"^  <version>{VERSION}</version>$",
    "docs/guides/ci.md": rf"hindmost@v{VERSION}$",
    "examples/ci/github-actions.yml": rf"hindmost@v{VERSION}$",
}


@pytest.mark.parametrize("file", COPIES)
def test_a_copy_of_the_version_agrees(file):
    assert re.search(COPIES[file], (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture
def tree(tmp_path):
    """A repository of the files that a release changes, with a changelog of the next version."""
    for file in (*COPIES, "Cargo.toml", "setup/release.sh", "setup/lib.sh"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    (tmp_path / "setup/run").write_text("#!/bin/sh\n")  # would run cargo on the lock files
    (tmp_path / "setup/run").chmod(0o755)
    (tmp_path / ".gitignore").write_text(".stamps/\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 9.8.7, unreleased\n\n- New.\n")
    for words in (("init", "-q"), ("config", "user.name", "a"), ("config", "user.email", "a@b.c")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    commit(tmp_path)
    return tmp_path


def commit(tree):
    subprocess.run(["git", "add", "--all"], cwd=tree, check=True)
    subprocess.run(["git", "commit", "-qm", "change"], cwd=tree, check=True)


def release(tree, version):
    command = ["setup/release.sh", version]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False).returncode


def test_a_release_writes_the_version_everywhere_and_tags_it(tree):
    assert release(tree, "9.8.7") == 0
    for file, pattern in COPIES.items():
        text = (tree / file).read_text(encoding="utf-8")
        assert re.search(pattern.replace(VERSION, "9.8.7"), text, re.MULTILINE), file
    assert re.search(r"^## 9\.8\.7, \d{4}-\d\d-\d\d$", (tree / "CHANGELOG.md").read_text(), re.MULTILINE)
    shown = subprocess.run(
        ["git", "describe", "--exact-match"], cwd=tree, capture_output=True, text=True, check=True
    )
    assert shown.stdout == "v9.8.7\n"


def test_a_release_without_a_section_or_with_changes_is_refused(tree):
    assert release(tree, "9.8.8") != 0
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## 9.8.7, unreleased\n")
    assert release(tree, "9.8.7") != 0
