"""Planted problems on real servers: whether `hindmost explain` names the cause and confirms the right change.

    python benches/planted_problems.py [NAME...] [--budget 100s] [--out FOLDER]

Needs root. A failure is a confirmed change that is not one of the right ones; "undecided" on a noisy host
is not a failure. The table is Markdown.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

REDIS = ["redis-server", "--bind", "{host}", "--port", "{port}", "--dir", "{dir}", "--save", ""]
SYNCED = json.dumps([*REDIS, "--appendonly", "yes", "--appendfsync", "always"])
PYTHON = """
import gc, socketserver, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 0
    disable_nagle_algorithm = False
    def do_GET(self):
        PAUSE
        self.send_response(200); self.send_header("Content-Length", "5"); self.end_headers()
        SPLIT
    def log_message(self, *words): pass
Answer.disable_nagle_algorithm = NODELAY
ThreadingHTTPServer.request_queue_size = 128
ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Answer).serve_forever()
"""


def service(pause: str, split: bool) -> str:
    """Return the target file of a Python service that pauses, or writes its response in two pieces."""
    body = 'self.wfile.write(b"he"); self.wfile.write(b"llo")' if split else 'self.wfile.write(b"hello")'
    code = PYTHON.replace("PAUSE", pause).replace("SPLIT", body).replace("NODELAY", str(not split))
    code = json.dumps(code.replace("{", "{{").replace("}", "}}").replace("{{pause_ms}}", "{pause_ms}"))
    command = json.dumps([sys.executable, "{dir}/s.py", "{host}", "{port}"])
    return f'name = "service"\nprotocol = "http"\ncommand = {command}\n[files]\n"s.py" = {code}\n'


QUOTA = """
set -e
mkdir -p /sys/fs/cgroup/explained
echo "20000 100000" > /sys/fs/cgroup/explained/cpu.max
echo $$ > /sys/fs/cgroup/explained/cgroup.procs
exec memcached -u nobody -l {host} -p {port} -U 0 -t 1
"""


@dataclass(frozen=True)
class Problem:
    """A planted problem: target, load, cause (parts or kinds of culprits), the right changes, a neighbour
    process."""

    target: str
    load: tuple[str, ...]
    cause: tuple[str, ...]
    helps: tuple[str, ...] = ()
    beside: str = ""


PROBLEMS = {
    "client that batches": Problem(
        "memcached", ("--rate", "5k", "--batching", "2ms"), ("client",), ("batching",)
    ),
    "noisy neighbour": Problem(
        "memcached",
        ("--rate", "5k"),
        ("interference by others", "process"),
        ("schedule", "autogroup"),
        "exec taskset -c 0 sh -c 'while :; do :; done'",
    ),
    "redis waits for the disk": Problem(
        f'name = "redis"\nprotocol = "redis"\ncommand = {SYNCED}\n',
        ("--rate", "500"),
        ("locks and other waits", "server work", "behind other requests"),
        ("appendfsync",),
    ),
    "redis with a slow command": Problem(
        'name = "redis"\nprotocol = "redis"\ncommand = ["sh", "{dir}/start.sh"]\n[files]\n"start.sh" = """\n'
        "(sleep 1; while :; do redis-cli -h {host} -p {port} eval"
        " 'for i=1,1500000 do end return 1' 0; sleep 0.1; done) >/dev/null 2>&1 &\n"
        'exec redis-server --bind {host} --port {port} --dir {dir} --daemonize no --save ""\n"""\n',
        ("--rate", "2k"),
        ("behind other requests", "server work"),
    ),
    "CPU quota": Problem(
        'name = "memcached"\nprotocol = "memcached"\ncommand = ["sh", "{dir}/start.sh"]\n[files]\n'
        f'"start.sh" = """{QUOTA}"""\n',
        ("--rate", "10k"),
        ("run queue", "behind other requests"),
        ("cpu.max",),
    ),
    "Nagle and delayed ACK": Problem(
        service("pass", split=True), ("--rate", "100"), ("network out", "delayed ACK"), ("nodelay",)
    ),
    "pauses of the service": Problem(
        service("time.time() % 0.5 < 0.02 and sum(range(400000))", split=False),
        ("--rate", "200"),
        ("server work", "behind other requests", "run queue"),
    ),
    "a setting of the program": Problem(
        service("time.sleep({pause_ms} / 1000)", split=False)
        + "[options]\npause_ms = 30\n[settings]\npause_ms = [3]\n",
        ("--rate", "40", "--connections", "4"),
        ("locks and other waits", "timer"),
        ("pause_ms",),
    ),
    "healthy memcached": Problem("memcached", ("--rate", "10k"), ()),
    "healthy nginx": Problem("nginx", ("--rate", "2k"), ()),
    "healthy redis": Problem("redis", ("--rate", "5k"), ()),
}


def explain(name: str, problem: Problem, budget: str, out: Path) -> tuple[dict, float]:
    """Plant a problem and explain it; return the document, and the seconds until the answer."""
    target = problem.target
    if "\n" in target:
        file = out / f"{name.replace(' ', '-')}.toml"
        file.write_text(target)
        target = str(file)
    beside = subprocess.Popen(["sh", "-c", problem.beside]) if problem.beside else None
    began = time.monotonic()
    try:
        words = [sys.executable, "-c", "import sys; from hindmost.cli import main; sys.exit(main())"]
        words += ["explain", target, *problem.load, "--budget", budget, "--json", "--quiet"]
        said = subprocess.run(
            [*words, "--out", str(out / name.replace(" ", "-"))], capture_output=True, text=True, check=False
        )
    finally:
        if beside is not None:
            beside.kill()
            beside.wait()
    if said.returncode not in (0, 4):
        raise SystemExit(f"{name}: {said.stderr}")
    return json.loads(said.stdout), time.monotonic() - began


def row(name: str, problem: Problem, found: dict, seconds: float) -> str:
    """Return a line of the table."""
    parts = sorted(found["parts"], key=lambda one: -one["of_variance"])[:2]
    kinds = [one["kind"] for one in found["culprits"][:2]]
    named = not problem.cause or bool(
        {one["name"] for one in parts} & {*problem.cause} or {*kinds} & {*problem.cause}
    )
    fresh = found["confirmation"]
    change = " and ".join(fresh["labels"]) if fresh else "none"
    ratio = fresh["ratios"]["p99"] if fresh else {"value": None, "low": None, "high": None}
    right = found["verdict"] != "gain" or any(word in change for word in problem.helps)
    figures = (
        ""
        if ratio["low"] is None
        else "{:.2f} [{:.2f}, {:.2f}]".format(*(float(ratio[name]) for name in ("value", "low", "high")))
    )
    cells = [
        *(name, ", ".join(f"{one['name']} {one['of_variance']:.0%}" for one in parts)),
        *(
            "yes" if named else "NO",
            change,
            found["verdict"],
            figures,
            "right" if right else "WRONG",
            f"{seconds:.0f}",
        ),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Plant all problems, or the named ones."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(PROBLEMS))
    parser.add_argument("--budget", default="100s")
    parser.add_argument("--out", type=Path, help="folder to keep the studies in")
    asked = parser.parse_args()
    print("| planted | most of the variance | named | change tried last | verdict | p99 ratio | claim | s |")
    print(f"|{' --- |' * 8}", flush=True)
    with tempfile.TemporaryDirectory(prefix="hindmost-explained-") as folder:
        out = asked.out or Path(folder)
        out.mkdir(exist_ok=True)
        for name in asked.names:
            print(row(name, PROBLEMS[name], *explain(name, PROBLEMS[name], asked.budget, out)), flush=True)


if __name__ == "__main__":
    main()
