"""Planted problems on real servers: does `hindmost explain` name the cause and confirm the right change?

``python -m benches.planted_problems [--only NAME ...] [--budget 5m] [--out FOLDER] [--list]``, as root, on
a quiet machine. Each problem has one planted cause. Its row says whether the first causes contain it
(*named*), and whether the change that fresh pairs confirmed removes it (*right*) or something else
(*other*: the host may have a second problem). On a healthy server nothing but an idle CPU that wakes late
may be gained. Writes a table in Markdown to standard output, each row as soon as it is known.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

SERVER = Path(__file__).parent / "planted" / "server.py"
CLONE = '''
name = "planted-clone"
protocol = "memcached"
command = ["{python}", "-P", "-m", "hindmost.agent", "synth", \'\'\'
  {"address": "{address}", "protocol": "memcached", "threads": 1, "clone": "{dir}/clone.toml",
   "idle": "block", "occupy": "wall", "seed": 1, "memory_mib": 64}\'\'\']
[options]
pause_us = 1
rare = 0.0
[settings]
%s
[files]
"clone.toml" = """
schema = "hindmost.clone/1"
name = "planted"
threads = 1
[[service]]
law = { kind = "lognormal", median_us = 60, sigma_log = 0.2 }
[[disturbances]]
name = "rare"
scope = "request"
when = { kind = "chance", probability = {rare} }
length = { kind = "lognormal", median_us = 3000, sigma_log = 0.1 }
[[disturbances]]
name = "pause"
scope = "server"
when = { kind = "periodic", every_us = 5e4 }
length = { kind = "deterministic", us = {pause_us} }
"""
'''
TUTORIAL = Path(__file__).parents[1] / "examples" / "tutorial" / "shop.toml"
WORK, BEHIND, WAITS = "server work", "behind other requests", "locks and other waits"
QUEUE, OTHERS, CLIENT = "run queue", "interference by others", "client"


def python_server(settings: str = "", **plant: object) -> str:
    """Return the target file of the planted Python server; `settings` are the levels that explain may try."""
    words = ", ".join(f'"{name}={{{name}}}"' for name in plant)
    options = "\n".join(f"{name} = {value}" for name, value in plant.items())
    return f'''
name = "planted-python"
protocol = "http"
command = ["{{python}}", "-P", "{SERVER}", "{{host}}", "{{port}}", {words}]
[options]
{options}
[settings]
{settings}
'''


def server_with(base: str, words: Sequence[str], name: str) -> str:
    """Return a target file of a program with these arguments."""
    command = ", ".join(json.dumps(word) for word in words)
    return f'name = "{name}"\nprotocol = "{base}"\nuser_if_root = "dynamic"\ncommand = [{command}]\n'


@contextmanager
def neighbour(cpu: str = "0") -> Iterator[None]:
    """Run an ordinary program on the server's CPU: 2 ms of work, then 4 ms of sleep."""
    code = (
        "import time\nwhile True:\n"
        " end = time.perf_counter() + .002\n"
        " while time.perf_counter() < end: pass\n"
        " time.sleep(.004)\n"
    )
    process = subprocess.Popen(["taskset", "-c", cpu, sys.executable, "-c", code])
    try:
        yield
    finally:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class Problem:
    """One planted problem.

    Attributes
    ----------
    target : str
        A preset, or the text of a target file.
    options : sequence of str
        Load options of ``hindmost explain``.
    causes : sequence of str
        Parts of the path, or kinds or names of culprits: the planted cause appears as one of them.
    changes : sequence of str
        Labels of changes that remove the cause; empty if no setting can.
    workload : str
        JSON text of a workload, if the server's usual one does not show the problem.
    """

    name: str
    target: str
    options: Sequence[str]
    causes: Sequence[str]
    changes: Sequence[str] = ()
    workload: str = ""
    beside: Callable[[], AbstractContextManager[None]] = field(default=nullcontext)


REDIS = ("redis-server", "--bind", "{host}", "--port", "{port}", "--dir", "{dir}", "--save", "")
SETS = '{"kind": "key-value", "keys": 1000, "get_ratio": 0.2}'
CONVOY = """{"kind": "sql", "statements": [{"name": "hot", "weight": 1,
  "sql": "UPDATE items SET value = $1 WHERE id = 1", "parameters": ["{{string:100}}"]}]}"""
SLOW_COMMAND = """{"kind": "commands", "commands": [
  {"name": "get", "weight": 200, "command": "GET one"},
  {"name": "slow", "weight": 1, "command":
    ["EVAL", "local n = 0; for i = 1, 200000 do n = n + i end; return n", "0"]}]}"""

PROBLEMS = (
    Problem("lock", str(TUTORIAL), ("--rate", "1k"), (WAITS, QUEUE, BEHIND, WORK), ("lock_us=40",)),
    Problem(
        "pauses of the server",
        CLONE.replace("pause_us = 1", "pause_us = 3000") % "pause_us = [3000, 1]",
        ("--rate", "2k"),
        (WORK, BEHIND),
        ("pause_us=1",),
    ),
    Problem("slow code", CLONE.replace("rare = 0.0", "rare = 0.03") % "", ("--rate", "1k"), (WORK, BEHIND)),
    Problem(
        "noisy neighbour",
        "memcached",
        ("--rate", "5k"),
        (OTHERS,),
        ("nice:-10", "fifo:10", "autogroup=off"),
        beside=neighbour,
    ),
    Problem(
        "client that batches",
        "memcached",
        ("--rate", "5k", "--batching", "2ms"),
        (CLIENT, "client"),
        ("batching=none",),
    ),
    Problem(
        "redis waits for its log",
        server_with("redis", (*REDIS, "--appendonly yes", "--appendfsync always"), "redis-log"),
        ("--rate", "500"),
        (WAITS, WORK, BEHIND),
        ("--appendfsync no=on",),
        SETS,
    ),
    Problem("redis with a slow command", "redis", ("--rate", "2k"), (BEHIND, WORK), workload=SLOW_COMMAND),
    Problem(
        "PostgreSQL with a hot row",
        "postgresql",
        ("--rate", "2k", "--connections", "32"),
        (WAITS, QUEUE),
        workload=CONVOY,
    ),
    Problem(
        "too few workers",
        python_server("workers = [1, 8]", workers=1, wait_ms=2.0),
        ("--rate", "300"),
        (WAITS, QUEUE, BEHIND, WORK),
        ("workers=8",),
    ),
    Problem(
        "collector's pauses",
        python_server("collect = [100, 0]", collect=100, heap=100_000),
        ("--rate", "300"),
        (WORK, BEHIND),
        ("collect=0",),
    ),
    Problem(
        "the interpreter's lock",
        python_server("burner = [1, 0]", burner=1),
        ("--rate", "100"),
        (QUEUE, WAITS, WORK, BEHIND),
        ("burner=0",),
    ),
    Problem(
        "Nagle and delayed ACK",
        python_server(split=1),
        ("--rate", "100"),
        ("network out", "delayed ACK", WORK),
        ("nodelay=on",),
    ),
    Problem(
        "writes to the disk", python_server("sync = [1, 0]", sync=1), ("--rate", "100"), (WAITS,), ("sync=0",)
    ),
    Problem(
        "a lock in Python",
        python_server("lock_ms = [3.0, 0.1]", lock_ms=3.0),
        ("--rate", "150"),
        (WAITS, BEHIND),
        ("lock_ms=0.1",),
    ),
    Problem(
        "Apache with few workers",
        "apache?workers=2",
        ("--rate", "1k", "--connections", "32"),
        (QUEUE, BEHIND, WAITS),
        ("workers=16",),
    ),
)
IDLE = ("cpu_dma_latency=0",)
HEALTHY = (
    Problem("healthy memcached", "memcached", ("--rate", "2k"), (), IDLE),
    Problem("healthy redis", "redis", ("--rate", "2k"), (), IDLE),
    Problem("healthy nginx", "nginx", ("--rate", "1k"), (), IDLE),
    Problem("healthy PostgreSQL", "postgresql", ("--rate", "500"), (), IDLE),
    Problem("healthy Python", python_server(workers=4), ("--rate", "100"), (), IDLE),
)


def explain(problem: Problem, budget: str, folder: Path) -> tuple[dict, float]:
    """Run the command; return its document and the seconds that it took."""
    target = problem.target
    if "\n" in target:
        file = folder / "server.toml"
        file.write_text(target, encoding="utf-8")
        target = str(file)
    command = [
        "hindmost",
        "explain",
        target,
        *problem.options,
        "--budget",
        budget,
        "--out",
        str(folder / "study"),
    ]
    if problem.workload:
        (folder / "workload.json").write_text(problem.workload, encoding="utf-8")
        command += ["--workload", str(folder / "workload.json")]
    begun = time.monotonic()
    with problem.beside():
        done = subprocess.run([*command, "--json", "--quiet"], capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{") or "error" in json.loads(done.stdout):
        raise SystemExit(f"{problem.name}: exit code {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout), time.monotonic() - begun


def first_causes(document: dict) -> list[str]:
    """Return the two largest parts of the path and the two worst culprits, by their larger share."""

    def share(one: dict) -> float:
        return max(one["of_variance"] or 0.0, one["of_slowest"] or 0.0)

    parts = sorted(document["parts"], key=share, reverse=True)[:2]
    culprits = sorted(document["culprits"], key=share, reverse=True)[:2]
    return [one["name"] for one in parts] + [word for one in culprits for word in (one["kind"], one["name"])]


def judge(problem: Problem, document: dict) -> tuple[str, str]:
    """Return whether the cause was named, and what became of the change."""
    named = not problem.causes or bool(set(problem.causes) & set(first_causes(document)))
    cause = "named" if named else "missed"
    fresh = document["confirmation"]
    if document["verdict"] != "gain" or fresh is None:
        return cause, document["verdict"]
    is_right = any(change in label for label in fresh["labels"] for change in problem.changes)
    return cause, "right" if is_right else "other"


def show_ratio(ratio: dict | None) -> str:
    """Format a ratio and its interval."""
    if ratio is None:
        return ""
    ends = "" if ratio["low"] is None else f" [{ratio['low']:.2f}, {ratio['high']:.2f}]"
    return f"{ratio['value']:.2f}{ends}"


def main(arguments: Sequence[str]) -> int:
    """Run the problems; the exit code is 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args(arguments)
    chosen = [one for one in (*PROBLEMS, *HEALTHY) if not options.only or one.name in options.only]
    if options.list:
        print("\n".join(one.name for one in chosen))
        return 0
    wrong = 0
    print(
        "| problem | first causes | cause | change | ratio | seconds |\n"
        "| --- | --- | --- | --- | --- | ---: |"
    )
    with tempfile.TemporaryDirectory() as temporary:
        for one in chosen:
            folder = (options.out or Path(temporary)) / one.name.replace(" ", "-")
            folder.mkdir(parents=True)
            document, seconds = explain(one, options.budget, folder)
            cause, change = judge(one, document)
            wrong += cause == "missed" or (change == "other" and one in HEALTHY)
            fresh = document["confirmation"]
            labels = "" if fresh is None else f" ({' and '.join(fresh['labels'])})"
            shown = "" if fresh is None else show_ratio(fresh["ratios"].get(document["by"]))
            causes = ", ".join(dict.fromkeys(first_causes(document)))
            print(
                f"| {one.name} | {causes} | {cause} | {change}{labels} | {shown} | {seconds:.0f} |",
                flush=True,
            )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
