"""Every folder of `reproduce/` has its row, its README and commands that Hindmost accepts."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from hindmost.cli.app import app
from reproduce.commands import run
from reproduce.tailwag import __main__ as tailwag
from reproduce.variability import __main__ as variability

FOLDER = Path(__file__).parents[2] / "reproduce"
PAPERS = sorted(path.parent.name for path in FOLDER.glob("*/__main__.py"))


def test_the_readme_lists_every_paper():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| \[(\w+)\]\(\1/README\.md\)", text, re.MULTILINE)) == PAPERS


@pytest.mark.parametrize("paper", PAPERS)
def test_each_paper_has_a_program_and_a_table(paper):
    import_module(f"reproduce.{paper}.__main__")
    text = (FOLDER / paper / "README.md").read_text(encoding="utf-8")
    assert re.search(r"^\| .*\bpaper\b.* \|$", text, re.MULTILINE), "our results next to the paper's"


def test_commands_of_the_papers_are_accepted(monkeypatch, tmp_path, capsys):
    parsed: list[str] = []

    def parse(words: list[str]) -> int:
        command, _, unused, *_ = app.parse_known_args(words)
        assert not unused
        parsed.append(command.__name__)
        return 0

    monkeypatch.setattr("reproduce.commands.main", parse)
    assert run("host doctor") == 0
    for case in variability.CASES.values():
        case("--pairs 8 --duration 2s --remake 0 --warmup 500ms --quiet", tmp_path)
    assert tailwag.dnn_evolution() == tailwag.interrupts() == tailwag.garbage_collectors() == 0
    assert {name: parsed.count(name) for name in parsed} == {
        "doctor": 1,
        "compare": 6,
        "measure": 1,
        "sweep": 4,
    }
