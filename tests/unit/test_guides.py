"""The guides and the README are correct: snippets run, options exist, and quick commands run."""

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
    "hindmost watch": "needs a running application or its ring: see tests/unit/test_watch.py",
    "sudo hindmost watch": "changes units of the host: tests/unit/test_watch_unit.py, test_watch_services.py",
    "hindmost diagnose": "needs a slow server of the reader's: tests/unit/test_diagnosis_procedure.py, benches/blind_diagnosis.py",
    "python examples/diagnosis/": "injects a fault as root, for minutes",
    "kubectl proxy": "a cluster of the reader's: tests/unit/test_extender.py has its API",
    "hindmost colocate": "needs the reader's programs and root: tests/servers/test_supervise.py and tests/unit/test_colocat*",
    "hindmost attribute": "takes an hour: tests/servers/test_attribute.py runs it; --dry-run is run here",
    "hindmost clone fit": "needs the reader's logs: tests/unit/fitting run it, and the snippet next to it is run here",
    "hindmost clone serve": "runs until Ctrl-C: tests/servers/test_serve_clone.py runs it; --integrated is run here",
    "hindmost host doctor memcached": "needs a server of the reader's",
    "hindmost host knobs set": "changes the host: tests/servers/test_knobs_kills.py sets and restores",
    "hindmost host knobs restore": "changes the host: tests/servers/test_knobs_kills.py sets and restores",
    "hindmost extender": "runs until Ctrl-C: tests/unit/test_extender.py tests it",
    "hindmost harvest": "needs the reader's traces: tests/unit/test_harvest.py runs it",
    "setup/hadoop.sh ": "tests/servers/test_hadoop.py runs it",
    "hdfs ": "a name node of the reader's",
    "java -cp": "a resource manager of the reader's: tests/servers/test_hadoop_daemons.py starts it",
    "protoc ": "a compiler of the reader's: tests/servers/test_grpc.py has descriptors",
    "make ": "tests/golden/test_readme.py checks the targets of the Makefile",
    "for ": "a shell loop; its body is parsed like any other command",
}
"""Commands that are parsed but not run here, by their first words, with the reason."""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def commands() -> Iterator[tuple[str, str]]:
    """Yield page and command of every line that a reader would type, without comments."""
    for page in PAGES:
        for block in blocks(page, "console"):
            for line in re.findall(r"^[$>] +(.*)$", block, re.MULTILINE):
                command = re.sub(r"\s+# .*", "", line).removeprefix(".venv/bin/")
                yield page.name, command


COMMANDS = list(dict.fromkeys(commands()))
OURS = [(page, command) for page, command in COMMANDS if command.startswith("hindmost")]


def reason_not_to_run(command: str) -> str | None:
    if "--dry-run" in command or "--integrated" in command:
        return None
    return next((why for begins, why in NOT_RUN.items() if command.startswith(begins)), None)


RUN = list({command: page for page, command in OURS if reason_not_to_run(command) is None}.items())


def split_command(command: str) -> list[str]:
    """Split the command like a shell, up to a redirection."""
    return shlex.split(command.partition(" > ")[0])[1:]


def options_of(command: str) -> tuple[str, ...]:
    """Return the verb and the names of its options: commands that share these are parsed alike."""
    arguments = split_command(command)
    names = {word.partition("=")[0] for word in arguments if word.startswith("-")}
    verb = arguments[:1]
    while " ".join(verb) in list_subcommands():
        verb = arguments[: len(verb) + 1]
    return (*verb, *sorted(names))


def test_every_option_in_the_guides_exists():
    for page, command in {options_of(command): (page, command) for page, command in OURS}.values():
        _, bound, unused, *_ = app.parse_known_args(split_command(command))
        assert not unused, f"{page}: {command}"
        assert bound.arguments or command == "hindmost host doctor" or " knobs " in command


def test_translated_commands_and_options_exist():
    text = (ROOT / "docs/guides/coming-from-other-tools.md").read_text(encoding="utf-8")
    for cell in re.findall(r"\|([^|]*)\|$", text, re.MULTILINE):
        for code in re.findall(r"`([^`]+)`", cell):
            command = code if code.startswith("hindmost") else f"hindmost measure URL {code}"
            _, _, unused, *_ = app.parse_known_args(split_command(command))
            assert not unused, code


def test_every_command_is_run_or_has_a_reason_not_to():
    unexplained = [
        command
        for _, command in COMMANDS
        if command.startswith("hindmost") is False and reason_not_to_run(command) is None
    ]
    assert [command for command in unexplained if command != "done"] == []
    used_reasons = {
        begins for begins in NOT_RUN if any(command.startswith(begins) for _, command in COMMANDS)
    }
    assert used_reasons == set(NOT_RUN), "a reason for a command that is no longer in the guides"


@pytest.mark.parametrize(("command", "page"), RUN, ids=lambda value: value[:60])
def test_quick_commands_of_the_guides_run(command, page, monkeypatch, capsys, tmp_path):
    # The requested number would take twenty seconds of CPU time.
    command = command.replace("--requests 100000", "--requests 2000")
    if command.startswith(("hindmost clone simulate", "hindmost clone sweep")):
        command += " --requests 10000"
    if "clone.toml" in command:
        (tmp_path / "clone.toml").write_text(
            Path(ROOT / "python/hindmost/commands/clone/applications/silo.toml").read_text()
        )
        monkeypatch.chdir(tmp_path)
    else:
        monkeypatch.chdir(ROOT)
    code = main(split_command(command))
    output = capsys.readouterr()
    assert output.out
    assert code == 0 or (command == "hindmost host doctor" and code == 5), output.err


def write_log(path: Path, rate_per_s: float, seed: int, requests: int = 2_000) -> None:
    """Write the log of a server with one thread whose services take 100 us on average."""
    random = np.random.default_rng(seed)
    arrival = np.cumsum(random.exponential(1e9 / rate_per_s, requests)).astype(int)
    service = random.lognormal(np.log(9e4), 0.45, requests).astype(int)
    start, end, free = np.zeros_like(arrival), np.zeros_like(arrival), 0
    for index in range(requests):
        start[index] = max(arrival[index], free)
        end[index] = free = start[index] + service[index]
    columns = {"arrival_ns": arrival, "start_ns": start, "end_ns": end, "thread": np.zeros_like(arrival)}
    pytest.importorskip("polars").DataFrame(columns).write_csv(path)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem
)
def test_snippets_of_a_guide_run_in_order(page, tmp_path, monkeypatch):
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
