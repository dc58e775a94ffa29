"""The table of verbs is whole: each has its function and its place in the reference."""

import subprocess
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest
from cyclopts.completion import _base, bash, fish, zsh
from rows import each_row

from hindmost.cli import main
from hindmost.cli.parser import parser
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


@pytest.fixture(scope="module")
def completions() -> dict[str, str]:
    """Of each shell; what they are made of is the same and is read once."""
    read = cache(lambda: _base.extract_completion_data(parser()))
    with pytest.MonkeyPatch.context() as patch:
        for shell in (bash, fish, zsh):
            patch.setattr(shell, "extract_completion_data", lambda app: read())
        found = {}
        for shell in ("bash", "fish", "zsh"):
            with redirect_stdout(StringIO()) as said:
                assert main(["completion", shell]) == 0
            found[shell] = said.getvalue()
    return found


def test_completion_names_every_verb_and_its_options(completions):
    for script in completions.values():
        for words in every():
            assert words[-1] in script
        for option in ("find-rate", "server-cpus", "io_uring", "no-confirm", "utilisation"):
            assert option in script


def test_bash_takes_the_completion(completions):
    asked = (
        f"{completions['bash']}\nCOMP_WORDS=(hindmost mea) COMP_CWORD=1;"
        " $(complete -p hindmost | sed 's/.*-F *//; s/ .*//') hindmost"
        ' mea hindmost; echo "${COMPREPLY[@]}"'
    )
    said = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=False)
    assert said.stdout.split() == ["measure"], said.stderr
