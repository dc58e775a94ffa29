"""`hindmost measure` as a user runs it: a process with a command line, observed from outside."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from forking import PIPE_BYTES, ForkedProcess, fork, interpreter

from hindmost.core.targets import Managed, ManagedServer, TargetSpec, parse_target, preset
from hindmost.core.targets.launch import search_path
from hindmost.testing import VARIABLE

REAL = ("memcached", "redis", "nginx", "apache", "haproxy", "nutcracker", "postgresql", "unbound")
SHORT = ("--duration", "0.5s", "--warmup", "0.3s", "--runs", "2", "--remake", "0", "--quantiles", "50,90")
VERDICTS = {"valid": 0, "inconclusive": 4, "invalid": 6}
PATIENCE_S = 60.0
"""Limit of all waits. Only a fault, or a host that runs twenty other tests, takes this long."""
PR_SET_CHILD_SUBREAPER = 36


def need(name: str) -> TargetSpec:
    """The preset of a real server; skips and names the missing program if it is not installed."""
    spec = preset(name)
    for program in spec.needs or spec.command[:1]:
        if shutil.which(program, path=search_path(os.environ)) is None:
            # CI installs all servers, so a missing one is an error there.
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
                f"{program} is not installed (apt-get install {spec.package})"
            )
    return spec


def servers(*names: str) -> list[Any]:
    """Parameters, each marked with the server it needs."""
    return [pytest.param(n, marks=getattr(pytest.mark, n)) if n in REAL else n for n in names]


def need_two_cpus() -> tuple[int, int]:
    """One CPU for the server and one for the client; skips where there is only one."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("only one CPU: server and client cannot be separated")
    return cpus[0], cpus[1]


def parse_managed(target: str) -> TargetSpec:
    """Parse the spec of a managed target: a preset with options, or a target file."""
    parsed = parse_target(target)
    assert isinstance(parsed, Managed)
    return parsed.spec


def process_state(pid: int) -> str:
    """One letter (proc(5)); X for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return "X"


def descendants(root: int | None = None) -> dict[int, str]:
    """Command lines of all living descendants of `root` (default: this process), by pid."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            kind, parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            if kind not in (b"Z", b"X"):
                children.setdefault(int(parent), []).append(int(entry.name))
    commands: dict[int, str] = {}
    pids = list(children.get(root or os.getpid(), []))
    for pid in pids:
        pids.extend(children.get(pid, []))
        with contextlib.suppress(OSError):
            commands[pid] = (
                Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            )
    return commands


class ProcessTracker:
    """Adopts every process that outlives its parent (child subreaper, prctl(2)), so that none escapes."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        interpreter()
        self.before = set(descendants())

    def leftovers(self) -> dict[int, str]:
        """Command lines of processes that did not exist before, by pid."""
        return {pid: command for pid, command in descendants().items() if pid not in self.before}

    def assert_none_left(self, within_s: float = PATIENCE_S) -> None:
        """Assert that all new processes end within some seconds."""
        deadline = time.monotonic() + within_s
        while self.leftovers() and time.monotonic() < deadline:
            time.sleep(0.02)
        leftovers = self.leftovers()
        for pid in leftovers:  # so that they do not disturb the next test
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        assert not leftovers, f"left behind: {leftovers}"

    def close(self) -> None:
        """Stop adopting processes."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@dataclass
class Study:
    """A study folder, read from outside."""

    folder: Path

    def runs(self) -> list[Path]:
        """Folders of finished runs."""
        return sorted(self.folder.glob("runs/[0-9]*"))

    def hidden_files(self) -> list[Path]:
        """Hidden files of unfinished runs."""
        return [path for path in self.folder.rglob(".*") if path.name != ".lock"]

    def samples(self, run: int = 1, client: int = 0) -> Any:
        """Single requests of a run, ordered by scheduled time."""
        pl = pytest.importorskip("polars")
        return pl.read_parquet(self.folder / f"runs/{run:04d}/samples-{client}.parquet").sort("scheduled_ns")

    def client(self, run: int = 1, client: int = 0) -> dict[str, Any]:
        """The stored result of one client."""
        result: dict[str, Any] = json.loads(
            (self.folder / f"runs/{run:04d}/client-{client}.json").read_text()
        )
        return result


@dataclass
class Answer:
    """Exit code and output of one `hindmost` command."""

    code: int
    out: str
    err: str
    seconds: float
    study: Study

    @cached_property
    def result(self) -> dict[str, Any]:
        """The JSON on standard output."""
        document: dict[str, Any] = json.loads(self.out)
        return document

    @property
    def error_codes(self) -> list[str]:
        """Codes of the errors on standard error, in order."""
        return re.findall(r"^error\[([a-z0-9-]+)\]: ", self.err, re.MULTILINE)

    def assert_error(self, exit_code: int, code: str, **fields: object) -> None:
        """Assert one error with this code and a hint, and no traceback. `fields` need ``--json`` on the command line."""
        assert self.code == exit_code, self.err
        assert self.error_codes == [code], self.err
        assert sum(line.startswith("hint: ") for line in self.err.splitlines()) == 1, self.err
        assert "Traceback" not in self.err
        if fields:
            document = self.result
            assert document["schema"] == "hindmost.error/1"
            assert {name: document["fields"].get(name) for name in fields} == fields


QUICK_DEFAULTS = {
    "remake": 0.0,
    "calibration_s": 0.1,
    "pacing": "sleep",
    "host_looks": 1,
    "host_spin_s": 0.02,
}
"""Quick defaults for tests that need no precision (`hindmost.testing`): no run is repeated, calibration is no longer than
a measurement, the host is examined once, and clients sleep instead of spinning on a CPU."""

COMMANDS: dict[str, str] = {}
"""Environment variables of commands besides those of this process; set by `tests/servers/conftest.py`."""

HindmostProcess = subprocess.Popen[str] | ForkedProcess


def start(
    *arguments: object,
    before: Sequence[str] = (),
    fresh: bool = False,
    env: Mapping[str, str] | None = None,
    preexec_fn: Callable[[], None] | None = None,
) -> HindmostProcess:
    """`BEFORE hindmost ARGUMENTS`, in its own session, as a shell would give it a process group.

    With `fresh`, a new interpreter is started, without the quick defaults of the tests.
    """
    if fresh:
        env = {name: value for name, value in (env or os.environ).items() if name != VARIABLE}
    else:
        env = {**COMMANDS, **(env or os.environ)}
    if not (fresh or before or preexec_fn):
        return fork([*map(str, arguments)], env)
    return subprocess.Popen(
        [
            *before,
            sys.executable,
            "-c",
            "import sys; from hindmost.cli import main; sys.exit(main())",
            *map(str, arguments),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pipesize=PIPE_BYTES,
        text=True,
        start_new_session=True,
        env=env,
        preexec_fn=preexec_fn,
    )


def finish(process: HindmostProcess, study: Path, timeout_s: float = 150.0) -> Answer:
    """Wait for the end of the process."""
    began = time.monotonic()
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"hindmost did not end within {timeout_s:g} s; it said: {err}")
    return Answer(process.returncode, out, err, time.monotonic() - began, Study(study))


def hindmost(
    *arguments: object, study: Path = Path("none"), timeout_s: float = 150.0, **options: Any
) -> Answer:
    """Run `hindmost ARGUMENTS` to its end."""
    return finish(start(*arguments, **options), study, timeout_s)


def measure(target: str, out: Path, *extra: object, **options: Any) -> Answer:
    """Run `hindmost measure TARGET --json --out OUT ...`; options in `extra` override `SHORT`."""
    flags = {str(word) for word in extra}
    short: list[object] = []
    for flag, value in zip(SHORT[::2], SHORT[1::2], strict=True):
        if flag not in flags:
            short += [flag, value]
    return hindmost("measure", target, "--json", "--out", out, *short, *extra, study=out, **options)


@contextmanager
def run_server(spec: TargetSpec, cpus: Iterable[int] = ()) -> Iterator[ManagedServer]:
    """A server that runs before Hindmost starts."""
    with ManagedServer(spec, cpus=list(cpus) or None) as server:
        yield server


def assert_counts_add_up(result: dict[str, Any]) -> None:
    """scheduled = completed + errors + timeouts + unsent: by run, by client, by kind, and in total."""

    def assert_sum(counts: dict[str, int], scope: str) -> None:
        total = counts["completed"] + counts["errors"] + counts["timeouts"] + counts["unsent"]
        assert counts["scheduled"] == total, f"{scope}: {counts}"

    assert_sum(result["counts"], "in total")
    for run in result["runs"]:
        assert_sum(run["counts"], f"run {run['run']}")
        for client in run["clients"]:
            assert_sum(client["counts"], f"run {run['run']}, client {client['index']}")
        for name in run["counts"]:
            assert run["counts"][name] == sum(client["counts"][name] for client in run["clients"])
    for name, kind in result["by_kind"].items():
        assert_sum(kind["counts"], name)
    for name in result["counts"]:
        assert result["counts"][name] == sum(run["counts"][name] for run in result["runs"])
        assert result["counts"][name] == sum(kind["counts"][name] for kind in result["by_kind"].values())


def wait_for(condition: Any, what: str, within_s: float = PATIENCE_S) -> None:
    """Poll until the condition holds."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.01)
