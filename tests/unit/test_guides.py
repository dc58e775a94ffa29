"""What the guides and README tell people to type is true: snippets run, commands are understood, quick ones run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hindmost.cli import main
from hindmost.cli.app import app
from hindmost.cli.verbs import list_subcommands

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/guides/*.md"))]
NOT_RUN = {
    "hindmost measure": "takes minutes, or needs a server of the reader's: tests/servers/test_matrix.py runs each protocol",
    "dask ": "a scheduler of the reader's: tests/servers/test_fleet_faults.py starts one",
    "hindmost compare": "needs the studies before it: tests/unit/test_comparison.py, tests/servers/test_compare.py",
    "hindmost study list": "needs the folder before it: tests/unit/test_listing.py",
    "hindmost study report": "needs the study before it: tests/servers run it",
    "pip install ": "setup/try-wheels.sh installs the wheels",
    "hindmost study export": "needs the study before it: tests/servers/test_tutorial.py runs it",
    "sudo hindmost explain": "takes minutes: tests/servers/test_tutorial.py runs it",
    "hindmost explain": "takes minutes: tests/servers/test_explain_memcached.py runs it",
    "hindmost trace": "needs a busy server of the reader's, and root: tests/servers/test_trace.py runs it",
    "hindmost watch": "needs a running application, or its ring: tests/unit/test_watch.py has both",
    "hindmost diagnose": "needs a slow server of the reader's: tests/unit/test_diagnosis_procedure.py, benches/blind_diagnosis.py",
    "python examples/diagnosis/": "puts something wrong with a server, as root, for minutes",
    "kubectl proxy": "a cluster of the reader's: tests/unit/test_extender.py has its API",
    "hindmost colocate": "needs the reader's programs and root: tests/servers/test_supervise.py and tests/unit/test_colocat*",
    "hindmost attribute": "takes an hour: tests/servers/test_attribute.py runs it; --dry-run is run here",
    "hindmost clone fit": "needs the reader's logs: tests/unit/fitting run it, and the snippet beside it is run here",
    "hindmost clone serve": "lasts until Ctrl-C: tests/servers/test_serve_clone.py runs it; --integrated is run here",
    "hindmost host doctor memcached": "needs a server of the reader's",
    "hindmost host knobs set": "changes the host: tests/servers/test_knobs_kills.py sets and restores",
    "hindmost host knobs restore": "changes the host: tests/servers/test_knobs_kills.py sets and restores",
    "hindmost extender": "answers until Ctrl-C: tests/unit/test_extender.py asks it",
    "hindmost harvest": "needs the reader's traces: tests/unit/test_harvest.py runs it",
    "setup/hadoop.sh ": "tests/servers/test_hadoop.py runs it",
    "hdfs ": "a name node of the reader's",
    "java -cp": "a resource manager of the reader's: tests/servers/test_hadoop_daemons.py starts it",
    "protoc ": "a compiler of the reader's: tests/servers/test_grpc.py has descriptors without it",
    "make ": "tests/golden/test_readme.py holds the targets against the Makefile",
    "for ": "a loop of the shell; what it repeats is read like any other command",
}
"""Commands that are read but not run here, by how they begin, and why."""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def commands() -> Iterator[tuple[str, str]]:
    """Page and command of every line that a reader would type, without the comment behind it."""
    for page in PAGES:
        for block in blocks(page, "console"):
            for line in re.findall(r"^[$>] +(.*)$", block, re.MULTILINE):
                command = re.sub(r"\s+# .*", "", line).removeprefix(".venv/bin/")
                yield page.name, command


COMMANDS = list(dict.fromkeys(commands()))
OURS = [(page, command) for page, command in COMMANDS if command.startswith("hindmost")]


def why_not(command: str) -> str | None:
    if "--dry-run" in command or "--integrated" in command:
        return None
    return next((why for begins, why in NOT_RUN.items() if command.startswith(begins)), None)


RUN = list({command: page for page, command in OURS if why_not(command) is None}.items())


def words(command: str) -> list[str]:
    """As a shell would split it, up to a redirection."""
    return shlex.split(command.partition(" > ")[0])[1:]


def options_of(command: str) -> tuple[str, ...]:
    """The verb and the names of its options: what a command shares with those that are parsed alike."""
    said = words(command)
    names = {word.partition("=")[0] for word in said if word.startswith("-")}
    verb = said[:1]
    while " ".join(verb) in list_subcommands():
        verb = said[: len(verb) + 1]
    return (*verb, *sorted(names))


def test_every_command_of_the_guides_has_the_options_that_it_names():
    for page, command in {options_of(command): (page, command) for page, command in OURS}.values():
        _, bound, unused, *_ = app.parse_known_args(words(command))
        assert not unused, f"{page}: {command}"
        assert bound.arguments or command == "hindmost host doctor" or " knobs " in command


def test_every_command_is_run_here_or_has_a_reason():
    left = [
        command
        for _, command in COMMANDS
        if command.startswith("hindmost") is False and why_not(command) is None
    ]
    assert [one for one in left if one not in ("done",)] == []
    used = {begins for begins in NOT_RUN if any(command.startswith(begins) for _, command in COMMANDS)}
    assert used == set(NOT_RUN), "a reason for what nobody is told any more"


@pytest.mark.parametrize(("command", "page"), RUN, ids=lambda one: one[:60])
def test_quick_commands_of_the_guides_run(command, page, monkeypatch, capsys, tmp_path):
    # With as many requests as are asked for, twenty seconds of a processor.
    command = command.replace("--requests 100000", "--requests 2000")
    if command.startswith(("hindmost clone simulate", "hindmost clone sweep")):
        command += " --requests 10000"
    if "clone.toml" in command:
        (tmp_path / "clone.toml").write_text(
            Path(ROOT / "python/hindmost/models/applications/silo.toml").read_text()
        )
        monkeypatch.chdir(tmp_path)
    else:
        monkeypatch.chdir(ROOT)
    code = main(words(command))
    said = capsys.readouterr()
    assert said.out
    assert code == 0 or (command == "hindmost host doctor" and code == 5), said.err


def write_log(path: Path, rate_per_s: float, seed: int, requests: int = 2_000) -> None:
    """What a server of one thread would log that serves for 100 us in the mean, one after the other."""
    random = np.random.default_rng(seed)
    arrival = np.cumsum(random.exponential(1e9 / rate_per_s, requests)).astype(int)
    service = random.lognormal(np.log(9e4), 0.45, requests).astype(int)
    start, end, free = np.zeros_like(arrival), np.zeros_like(arrival), 0
    for one in range(requests):
        start[one] = max(arrival[one], free)
        end[one] = free = start[one] + service[one]
    columns = {"arrival_ns": arrival, "start_ns": start, "end_ns": end, "thread": np.zeros_like(arrival)}
    pytest.importorskip("polars").DataFrame(columns).write_csv(path)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem
)
def test_snippets_of_a_guide_run_one_after_the_other(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    if page.stem == "python":
        for library in ("polars", "pandas"):
            pytest.importorskip(library)
    if page.stem == "fit-a-clone":
        for seed, (name, rate) in enumerate((("low", 1e3), ("half", 5e3), ("high", 8e3))):
            write_log(Path(f"{name}.csv"), rate, seed)
        space["frame"] = pytest.importorskip("polars").read_csv("low.csv")
        space["times"] = np.random.default_rng(1).lognormal(4.0, 0.5, 1_000)
    for number, block in enumerate(blocks(page, "python")):
        block = block.replace("requests=20_000", "requests=2_000")
        exec(compile(block, f"{page.name}, snippet {number + 1}", "exec"), space)
