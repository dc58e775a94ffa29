"""Changes every kind of setting around a real server, is killed at random moments, and checks what remains.

One study in four starts a server. The others only change what is set before a server starts, repeatedly, which takes a
hundredth of the time.

``python knobs_until_killed.py FOLDER KILLS`` prints the results as one JSON object.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import asdict

from hindmost.core.knobs import Knob, kind_of, knob_of, recover
from hindmost.core.knobs.journal import knobs
from hindmost.core.knobs.tasks import tasks
from hindmost.core.targets import ManagedServer, parse_target
from hindmost.errors import HindmostError

TARGET = parse_target("memcached")
PATIENCE_S = 30.0
HOST = {"tcp_notsent_lowat": "131072", "tcp_autocorking": "off", "rps@lo": "1", "gro@lo": "off"}
"""Settings of a network namespace: this program runs in its own, and changes no other."""


def factors(folder: Path) -> list[tuple[Knob, str]]:
    """Every kind of knob with a level, except those that this host does not support."""
    file = folder / "setting"
    tables: list[tuple[dict, str]] = [
        *(({"knob": name}, level) for name, level in HOST.items()),
        ({"command": f"sh -c 'echo $1 > {file}' sh {{level}}", "read": f"cat {file}"}, "set"),
        ({"option": "threads"}, "2"),
        ({"argument": "-o no_lru_maintainer"}, "on"),
        ({"cpus": True}, "0"),
        ({"cpu_dma_latency": True}, "500"),
        ({"cgroup": "cpu.max"}, "90000 100000"),
        ({"cgroup": "memory.max"}, "1G"),
        ({"schedule": True}, "batch"),
        ({"pinning": True}, "each:0"),
        ({"socket": "busy_poll"}, "10"),
        ({"interference": "spin", "share": 0.05}, "on"),
    ]
    supported = []
    for table, level in tables:
        try:
            knob = knob_of(kind_of(table), table, TARGET, folder / "journal")
            knob.check(level)
            knob.attempt(level)
        except HindmostError:
            continue
        supported.append((knob, level))
    return supported


def run_once(chosen: list[tuple[Knob, str]], with_server: bool) -> None:
    """One run of a cell: change everything, start a server, restore everything."""
    spec = TARGET.spec
    with ExitStack() as stack:
        for knob, level in chosen:
            spec = knob.spec(spec, level)
            stack.enter_context(knob.before(level))
        if not with_server:
            return
        server = stack.enter_context(ManagedServer(spec))
        for knob, level in chosen:
            stack.enter_context(knob.on_server(level, server))
        assert tasks(server)


def state(folder: Path) -> dict[str, object]:
    """Everything that the knobs could have changed."""
    every = knobs(folder / "journal")
    return {
        **{name: every[name].value for name in HOST if name in every},
        "setting": (folder / "setting").read_text(),
        "cpu_dma_latency": dma_latency(),
    }


def dma_latency() -> bytes | None:
    try:
        return Path("/dev/cpu_dma_latency").open("rb", buffering=0).read(4)
    except OSError:
        return None


def guards_of(pid: int) -> list[int]:
    """Guards of a process, whether or not it is alive."""
    guards = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                arguments = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"guard.py" in b" ".join(arguments) and str(pid).encode() in arguments:
                guards.append(int(entry.name))
    return guards


def groups_of(pid: int) -> list[str]:
    every = (Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup"))
    return [str(path) for path in every if path.name.startswith(f"hindmost-{pid}-")]


def stop_while_set(pid: int, journal: Path) -> None:
    """Stop the study while the journal has an entry, so that the change is in force until the kill."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if journal.exists() and journal.stat().st_size:
            os.kill(pid, signal.SIGSTOP)
            os.waitpid(pid, os.WUNTRACED)
            if journal.stat().st_size:
                return
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.0005)
    raise SystemExit("the study changes nothing")


def kill_study(chosen: list[tuple[Knob, str]], with_server: bool, after_s: float, set_in: Path | None) -> int:
    """Fork a study and kill it after a delay, or later, once the journal `set_in` has an entry."""
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            while True:
                run_once(chosen, with_server)
        finally:  # an exception is not a kill: the parent sees its exit status
            traceback.print_exc()
            os._exit(3)
    try:
        time.sleep(after_s)
        if set_in is not None:
            stop_while_set(pid, set_in)
    finally:
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit(f"the study exited with {os.waitstatus_to_exitcode(status)}")
    return pid


def main(folder: Path, kills: int) -> None:
    (folder / "setting").write_text("found\n")
    chosen = factors(folder)
    original = state(folder)
    round_s = {}
    for with_server in (True, False):
        began = time.monotonic()
        run_once(chosen, with_server)
        round_s[with_server] = time.monotonic() - began
    differences: list[object] = [] if state(folder) == original else [["undisturbed", state(folder)]]
    recovered = 0
    for kill in range(kills):
        with_server = kill % 4 == 0
        after_s = random.uniform(0, 1.3 * round_s[with_server])
        # Half of the kills of each sort come while a change is in force, whatever the host does to the timing.
        journal = folder / "journal" / "knobs.jsonl" if kill % 8 in (0, 1, 3, 6) else None
        pid = kill_study(chosen, with_server, after_s, journal)
        undone = recover(folder / "journal")
        recovered += bool(undone)
        differences += [[kill, after_s, asdict(change)] for change in undone if change.failure]
        deadline = time.monotonic() + PATIENCE_S
        while guards_of(pid) and time.monotonic() < deadline:
            time.sleep(0.005)
        now = state(folder)
        remains = guards_of(pid) + groups_of(pid)
        if now != original or remains or (folder / "journal" / "knobs.jsonl").read_text():
            differences.append([kill, after_s, str(now), remains])
    kinds = sorted({knob.name for knob, _ in chosen})
    result = {
        "kills": kills,
        "left": recovered,
        "round_s": list(round_s.values()),
        "kinds": kinds,
        "differences": differences,
    }
    print(json.dumps(result, default=str))  # commands that still run are bytes


def enter_namespace(folder: Path) -> None:
    """Use a new network namespace, which vanishes with this process, however it ends."""
    if os.environ.get("HINDMOST_KNOBS_NAMESPACE") is None:
        os.environ["HINDMOST_KNOBS_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--net", "--mount", sys.executable, *sys.argv])
    groups = folder / "groups"  # a copy of the cgroup mount, which the new /sys would hide
    groups.mkdir()
    for command in (
        ["mount", "--rbind", "/sys/fs/cgroup", str(groups)],
        ["mount", "-t", "sysfs", "none", "/sys"],
        ["mount", "--rbind", str(groups), "/sys/fs/cgroup"],
        ["umount", "--lazy", str(groups)],
        ["ip", "link", "set", "lo", "up"],
    ):
        subprocess.run(command, check=True)


def exit_on_signal(number: int, frame: object) -> None:
    raise SystemExit(f"ended by {signal.Signals(number).name}")


if __name__ == "__main__":
    enter_namespace(Path(sys.argv[1]))
    signal.signal(signal.SIGTERM, exit_on_signal)
    main(Path(sys.argv[1]), int(sys.argv[2]))
