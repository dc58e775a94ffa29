"""The table of verbs is complete: each verb has its function and its section in the reference."""

import subprocess
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest
from cyclopts.completion import _base, bash, fish, zsh
from messages import assert_refused
from rows import each_row

from hindmost.cli import main
from hindmost.cli.parser import parser
from hindmost.cli.verbs import RENAMED, VERBS, all_commands, list_subcommands, locate_function

ROOT = Path(__file__).parents[2]
HIDDEN = {verb.name for verb in VERBS if verb.hidden}
LEAVES = [words for words in all_commands() if " ".join(words) not in list_subcommands()]


@each_row("words", LEAVES, ids=" ".join)
def test_every_verb_has_its_function_in_its_file(words):
    module, _, name = locate_function(words).partition(":")
    assert callable(getattr(import_module(module), name))


def test_every_file_of_a_verb_is_in_the_table():
    folder = ROOT / "python/hindmost/commands"
    files = {
        Path(command, *below, path.stem)
        for command, *below in (group.split() for group in list_subcommands() if group)
        for path in folder.joinpath(command, "cli", *below).glob("*.py")
    }
    helpers = {"host/knobs/journal", "clone/load", "colocate/output"}
    scripts = {str(path).replace("_", "-") for path in files if path.name != "__init__"}
    assert scripts - helpers == {"/".join(words) for words in LEAVES if len(words) > 1}


@each_row("words", [*all_commands()], ids=" ".join)
def test_every_verb_is_in_the_reference(words):
    reference = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert f"\n## hindmost {' '.join(words)}\n" in reference, "run make golden"


@each_row("words", [*all_commands()], ids=" ".join)
def test_examples_use_their_verb(words):
    verbs = VERBS
    for word in words:
        verb = next(one for one in verbs if one.name == word)
        verbs = verb.verbs
    assert all(
        example.startswith(" ".join(words) + " ") or example == " ".join(words) for example in verb.examples
    )


@each_row(("old", "new"), [*RENAMED.items()])
def test_an_old_name_is_refused_with_the_new_one(old, new, capsys):
    assert_refused([*old.split(), "--help"], capsys, 2, "renamed-command", old=old, new=new)
    leaves = [words for words in all_commands() if words[-1] not in list_subcommands()]
    assert any(new.split()[: len(words)] == list(words) for words in (*leaves, ("clone",), ("host", "knobs")))


@pytest.fixture(scope="module")
def completions() -> dict[str, str]:
    """Return the completion script of each shell; the data they share is read once."""
    read = cache(lambda: _base.extract_completion_data(parser()))
    with pytest.MonkeyPatch.context() as patch:
        for shell in (bash, fish, zsh):
            patch.setattr(shell, "extract_completion_data", lambda app: read())
        scripts = {}
        for shell in ("bash", "fish", "zsh"):
            with redirect_stdout(StringIO()) as output:
                assert main(["completion", shell]) == 0
            scripts[shell] = output.getvalue()
    return scripts


def test_completion_names_every_verb_and_its_options(completions):
    for script in completions.values():
        for words in all_commands():
            assert words[-1] in script or words[0] in HIDDEN
        for option in ("find-rate", "server-cpus", "io_uring", "no-confirm", "utilisation"):
            assert option in script


def test_bash_loads_the_completion(completions):
    script = (
        f"{completions['bash']}\nCOMP_WORDS=(hindmost mea) COMP_CWORD=1;"
        " $(complete -p hindmost | sed 's/.*-F *//; s/ .*//') hindmost"
        ' mea hindmost; echo "${COMPREPLY[@]}"'
    )
    output = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert output.stdout.split() == ["measure"], output.stderr
