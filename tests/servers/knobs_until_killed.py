"""Sets every kind of knob around a real server, is killed at a random moment, and looks what is left.

``python knobs_until_killed.py FOLDER KILLS``: prints what happened as one JSON object.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from hindmost.errors import HindmostError
from hindmost.knobs import Knob, kind_of, knob_of, recover
from hindmost.knobs.journal import knobs
from hindmost.knobs.tasks import tasks
from hindmost.targets import ManagedServer, parse_target

TARGET = parse_target("memcached")
PATIENCE_S = 30.0
HOST = {"tcp_notsent_lowat": "131072", "netdev_budget_usecs": "9000", "tcp_autocorking": "off", "rps@lo": "1"}
"""Settings that hurt nobody while they are in force."""


def factors(folder: Path) -> list[tuple[Knob, str]]:
    """Every kind with a level, those left out that this host does not have."""
    file = folder / "setting"
    tables: list[tuple[dict, str]] = [
        *(({"knob": name}, level) for name, level in HOST.items()),
        ({"command": f"echo {{level}} > {file}", "read": f"cat {file}"}, "set"),
        ({"option": "threads"}, "2"),
        ({"argument": "-o no_lru_maintainer"}, "on"),
        ({"cpus": True}, "0"),
        ({"cpu_dma_latency": True}, "500"),
        ({"cgroup": "cpu.max"}, "90000 100000"),
        ({"cgroup": "memory.max"}, "1G"),
        ({"schedule": True}, "batch"),
        ({"threads": True}, "each:0"),
        ({"socket": "busy_poll"}, "10"),
        ({"interference": "spin", "share": 0.05}, "on"),
    ]
    found = []
    for what, level in tables:
        try:
            knob = knob_of(kind_of(what), what, TARGET, folder / "journal")
            knob.check(level)
        except HindmostError:
            continue
        found.append((knob, level))
    return found


def run_once(chosen: list[tuple[Knob, str]]) -> None:
    """One run of a cell: everything set, a server, nothing left."""
    spec = TARGET.spec
    with ExitStack() as stack:
        for knob, level in chosen:
            spec = knob.spec(spec, level)
            stack.enter_context(knob.before(level))
        server = stack.enter_context(ManagedServer(spec))
        for knob, level in chosen:
            stack.enter_context(knob.beside(level, server))
        assert tasks(server)


def state(folder: Path) -> dict[str, object]:
    """Whatever the knobs could have changed."""
    every = knobs(folder / "journal")
    return {
        **{name: every[name]["value"] for name in HOST if name in every},
        "setting": (folder / "setting").read_text(),
        "cpu_dma_latency": dma_latency(),
    }


def dma_latency() -> bytes | None:
    try:
        return Path("/dev/cpu_dma_latency").open("rb", buffering=0).read(4)
    except OSError:
        return None


def guards_of(pid: int) -> list[int]:
    """Guards of a process, alive or not."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"guard.py" in b" ".join(words) and str(pid).encode() in words:
                found.append(int(entry.name))
    return found


def groups_of(pid: int) -> list[str]:
    return [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/hindmost-{pid}-*")]


def killed(chosen: list[tuple[Knob, str]], after_s: float) -> int:
    """A study in a process of its own, killed after so long; its number."""
    pid = os.fork()
    if pid == 0:
        try:
            while True:
                run_once(chosen)
        finally:  # an error is no kill: the parent sees its status
            os._exit(3)
    time.sleep(after_s)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit(f"the study ended by itself with {os.waitstatus_to_exitcode(status)}")
    return pid


def main(folder: Path, kills: int) -> None:
    (folder / "setting").write_text("found\n")
    chosen = factors(folder)
    found = state(folder)
    began = time.monotonic()
    run_once(chosen)
    round_s = time.monotonic() - began
    differences: list[object] = [] if state(folder) == found else [["undisturbed", state(folder)]]
    left = 0
    for kill in range(kills):
        after_s = random.uniform(0, 1.3 * round_s)
        pid = killed(chosen, after_s)
        undone = recover(folder / "journal")
        left += bool(undone)
        differences += [[kill, after_s, one] for one in undone if one["failure"]]
        deadline = time.monotonic() + PATIENCE_S
        while guards_of(pid) and time.monotonic() < deadline:
            time.sleep(0.005)
        now = state(folder)
        remains = guards_of(pid) + groups_of(pid)
        if now != found or remains or (folder / "journal" / "knobs.jsonl").read_text():
            differences.append([kill, after_s, str(now), remains])
    kinds = sorted({knob.name for knob, _ in chosen})
    said = {"kills": kills, "left": left, "round_s": round_s, "kinds": kinds, "differences": differences}
    print(json.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
