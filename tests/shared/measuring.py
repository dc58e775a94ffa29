"""`hindmost measure` as a person runs it: a process with a command line, watched from outside."""

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
from forking import ROOM, Forked, fork, interpreter

from hindmost.targets import Managed, ManagedServer, TargetSpec, parse_target, preset
from hindmost.targets.launch import search_path
from hindmost.testing import VARIABLE

REAL = ("memcached", "redis", "nginx", "apache", "haproxy", "nutcracker", "postgresql", "unbound")
SHORT = ("--duration", "0.5s", "--warmup", "0.3s", "--runs", "2", "--remake", "0", "--quantiles", "50,90")
VERDICTS = {"valid": 0, "inconclusive": 4, "invalid": 6}
PATIENCE_S = 60.0
"""Waits end with what they wait for: only a fault, or a host with twenty others on it, takes so long."""
PR_SET_CHILD_SUBREAPER = 36


def need(name: str) -> TargetSpec:
    """The preset of a real server, or a skip that says what is missing."""
    spec = preset(name)
    for program in spec.needs or spec.command[:1]:
        if shutil.which(program, path=search_path(os.environ)) is None:
            # CI installs all servers: there, one that is missing is a fault.
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
                f"{program} is not installed (apt-get install {spec.package})"
            )
    return spec


def servers(*names: str) -> list[Any]:
    """Parameters, each marked by the server it needs."""
    return [pytest.param(n, marks=getattr(pytest.mark, n)) if n in REAL else n for n in names]


def need_two_processors() -> tuple[int, int]:
    """One processor for the server, one for the client; a skip where there is one only."""
    at_hand = sorted(os.sched_getaffinity(0))
    if len(at_hand) < 2:
        pytest.skip("one processor only: server and client cannot be told apart")
    return at_hand[0], at_hand[1]


def managed(target: str) -> TargetSpec:
    """What a preset with options, or a target file, describes."""
    found = parse_target(target)
    assert isinstance(found, Managed)
    return found.spec


def state(pid: int) -> str:
    """One letter (proc(5)); X for a process that is no more."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return "X"


def offspring(root: int | None = None) -> dict[int, str]:
    """All living descendants of `root` (default: this process) and their command lines."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            kind, parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            if kind not in (b"Z", b"X"):
                children.setdefault(int(parent), []).append(int(entry.name))
    found: dict[int, str] = {}
    rest = list(children.get(root or os.getpid(), []))
    for pid in rest:
        rest.extend(children.get(pid, []))
        with contextlib.suppress(OSError):
            found[pid] = (
                Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            )
    return found


class Household:
    """Adopts what outlives its parent (child subreaper, prctl(2)), so that nothing can hide."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        interpreter()
        self.before = set(offspring())

    def left(self) -> dict[int, str]:
        """Processes that were not there before."""
        return {pid: words for pid, words in offspring().items() if pid not in self.before}

    def assert_empty(self, within_s: float = PATIENCE_S) -> None:
        """Nothing is left, some seconds later at most."""
        deadline = time.monotonic() + within_s
        while self.left() and time.monotonic() < deadline:
            time.sleep(0.02)
        left = self.left()
        for pid in left:  # do not trouble the next test with them
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        assert not left, f"left behind: {left}"

    def close(self) -> None:
        """Adopt no more."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@dataclass
class Study:
    """A study folder, read from outside."""

    folder: Path

    def runs(self) -> list[Path]:
        """Folders of finished runs."""
        return sorted(self.folder.glob("runs/[0-9]*"))

    def half_done(self) -> list[Path]:
        """Hidden leftovers."""
        return [path for path in self.folder.rglob(".*") if path.name != ".lock"]

    def samples(self, run: int = 1, client: int = 0) -> Any:
        """Single requests of a run, in order of their due times."""
        pl = pytest.importorskip("polars")
        return pl.read_parquet(self.folder / f"runs/{run:04d}/samples-{client}.parquet").sort("scheduled_ns")

    def client(self, run: int = 1, client: int = 0) -> dict[str, Any]:
        """An instance's own result."""
        result: dict[str, Any] = json.loads(
            (self.folder / f"runs/{run:04d}/client-{client}.json").read_text()
        )
        return result


@dataclass
class Answer:
    """What one call of `hindmost` said."""

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
        """One error with this code and a hint, no traceback. `fields` need ``--json`` on the command line."""
        assert self.code == exit_code, self.err
        assert self.error_codes == [code], self.err
        assert sum(line.startswith("hint: ") for line in self.err.splitlines()) == 1, self.err
        assert "Traceback" not in self.err
        if fields:
            document = self.result
            assert document["schema"] == "hindmost.error/1"
            assert {name: document["fields"].get(name) for name in fields} == fields


HASTE = {"remake": 0.0, "calibration_s": 0.1, "pacing": "sleep", "host_looks": 1, "host_spin_s": 0.02}
"""Quicker defaults for tests that do not ask for precision (`hindmost.testing`): no run is repeated, a calibration is no
longer than a measurement, the host is examined once, and clients sleep instead of taking a processor each."""

COMMANDS: dict[str, str] = {}
"""Variables that commands get besides those of this process; `tests/servers/conftest.py` fills it."""

Started = subprocess.Popen[str] | Forked


def start(
    *arguments: object,
    before: Sequence[str] = (),
    fresh: bool = False,
    env: Mapping[str, str] | None = None,
    preexec_fn: Callable[[], None] | None = None,
) -> Started:
    """`BEFORE hindmost ARGUMENTS`, in a session of its own as a shell would give it a process group.

    With `fresh`, the interpreter is started as well, without the quicker defaults of the tests.
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
        pipesize=ROOM,
        text=True,
        start_new_session=True,
        env=env,
        preexec_fn=preexec_fn,
    )


def finish(process: Started, study: Path, timeout_s: float = 150.0) -> Answer:
    """Wait for its end."""
    began = time.monotonic()
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"hindmost did not end within {timeout_s:g} s; it said: {err}")
    return Answer(process.returncode, out, err, time.monotonic() - began, Study(study))


def hindmost(*arguments: object, study: Path = Path("none"), **options: Any) -> Answer:
    """`hindmost ARGUMENTS`, to its end."""
    return finish(start(*arguments, **options), study)


def measure(target: str, out: Path, *more: object, **options: Any) -> Answer:
    """`hindmost measure TARGET --json --out OUT ...`; all later words win over `SHORT`."""
    named = {str(word) for word in more}
    short: list[object] = []
    for flag, value in zip(SHORT[::2], SHORT[1::2], strict=True):
        if flag not in named:
            short += [flag, value]
    return hindmost("measure", target, "--json", "--out", out, *short, *more, study=out, **options)


@contextmanager
def running(spec: TargetSpec, cpus: Iterable[int] = ()) -> Iterator[ManagedServer]:
    """A server that runs already when Hindmost comes."""
    with ManagedServer(spec, cpus=list(cpus) or None) as server:
        yield server


def assert_counts_close(result: dict[str, Any]) -> None:
    """scheduled = completed + errors + timeouts + unsent: by run, by client, by kind, and in total."""

    def close(counts: dict[str, int], where: str) -> None:
        ended = counts["completed"] + counts["errors"] + counts["timeouts"] + counts["unsent"]
        assert counts["scheduled"] == ended, f"{where}: {counts}"

    close(result["counts"], "in total")
    for run in result["runs"]:
        close(run["counts"], f"run {run['run']}")
        for one in run["clients"]:
            close(one["counts"], f"run {run['run']}, instance {one['index']}")
        for name in run["counts"]:
            assert run["counts"][name] == sum(one["counts"][name] for one in run["clients"])
    for kind, one in result["by_kind"].items():
        close(one["counts"], kind)
    for name in result["counts"]:
        assert result["counts"][name] == sum(run["counts"][name] for run in result["runs"])
        assert result["counts"][name] == sum(one["counts"][name] for one in result["by_kind"].values())


def wait_for(condition: Any, what: str, within_s: float = PATIENCE_S) -> None:
    """Poll until it holds."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.01)
