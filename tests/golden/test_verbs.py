"""The table of verbs is whole: each has its function and its place in the reference."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from rows import each_row

from hindmost.cli import main
from hindmost.cli.verbs import VERBS, every, following, home

ROOT = Path(__file__).parents[2]
LEAVES = [words for words in every() if words[-1] not in following() or len(words) > 1]


@each_row("words", LEAVES, ids=" ".join)
def test_every_verb_has_its_function_in_its_file(words):
    module, _, name = home(words).partition(":")
    assert callable(getattr(import_module(module), name))


def test_every_file_of_a_verb_is_in_the_table():
    folder = ROOT / "python/hindmost/cli"
    below = {
        (verb.name, path.stem.replace("_", "-"))
        for verb in VERBS
        if verb.verbs
        for path in (folder / verb.name).glob("*.py")
    }
    helpers = {("knobs", "journal"), ("synth", "load"), *((verb.name, "--init--") for verb in VERBS)}
    assert below - helpers == {words for words in every() if len(words) == 2}


@each_row("words", [*every()], ids=" ".join)
def test_every_verb_is_in_the_reference(words):
    reference = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert f"\n## hindmost {' '.join(words)}\n" in reference, "make golden writes it anew"


@each_row("words", [*every()], ids=" ".join)
def test_examples_are_of_their_verb(words):
    verb = next(one for one in VERBS if one.name == words[0])
    if len(words) == 2:
        verb = next(one for one in verb.verbs if one.name == words[1])
    assert all(
        example.startswith(" ".join(words) + " ") or example == " ".join(words) for example in verb.examples
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_verb_and_its_options(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for words in every():
        assert words[-1] in script
    for option in ("find-rate", "server-cpus", "io_uring", "no-confirm", "utilisation"):
        assert option in script


def test_bash_takes_the_completion():
    script = subprocess.run(
        [sys.executable, "-c", "from hindmost.cli import main; main(['completion', 'bash'])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    asked = (
        f"{script}\nCOMP_WORDS=(hindmost mea) COMP_CWORD=1; $(complete -p hindmost | sed 's/.*-F *//; s/ .*//') hindmost"
        ' mea hindmost; echo "${COMPREPLY[@]}"'
    )
    said = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=False)
    assert said.stdout.split() == ["measure"], said.stderr
