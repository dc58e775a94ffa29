"""Pauses a neighbour, moves it and limits its quota in sessions that are killed at random moments.

``python sessions_until_killed.py FOLDER KILLS`` prints the results as one JSON object.
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

from hindmost.core.interventions.changes import File, Intervention, Pause, Places, places, start_ticks
from hindmost.core.interventions.session import WATCHDOG, start_session

PATIENCE_S = 30.0
LONGEST_S = 0.8
"""Latest moment of a kill after the fork, s. The watchdog needs a fraction of it to start."""


def interventions(pid: int, setting: Path) -> list[Intervention]:
    everywhere = os.sched_getaffinity(pid)
    return [
        Pause(pid, "sleep", start_ticks(pid)),
        Places("placement", "move it", places([pid]), frozenset({min(everywhere)})),
        File("setting", "change a file", setting, "before", "after"),
    ]


def change_until_killed(pid: int, folder: Path) -> None:
    """Remove random suspects for a moment each, without end."""
    draw = random.Random(os.urandom(8))
    with start_session(folder / "journal") as session, ExitStack() as stack:
        suspects = interventions(pid, folder / "setting")
        for suspect in suspects:
            stack.enter_context(session.journal(suspect))
        while True:
            with session.remove(draw.choice(suspects)):
                time.sleep(draw.uniform(0.0, 0.02))


def kill_session(pid: int, folder: Path, after_s: float) -> int:
    """Fork a session, kill it after a delay, and return its process id."""
    child = os.fork()
    if child == 0:
        try:
            change_until_killed(pid, folder)
        finally:  # an exception is not a kill: the parent sees its exit status
            traceback.print_exc()
            os._exit(3)
    try:
        time.sleep(after_s)
    finally:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit(f"the session exited with {os.waitstatus_to_exitcode(status)}")
    return child


def watchdogs_of(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if str(WATCHDOG).encode() in words and str(pid).encode() in words:
                found.append(int(entry.name))
    return found


def state(pid: int, folder: Path) -> dict[str, object]:
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    journal = folder / "journal" / "knobs.jsonl"
    return {
        "stopped": stat == "T",
        "cpus": sorted(os.sched_getaffinity(pid)),
        "setting": (folder / "setting").read_text().strip(),
        "journal": journal.read_text() if journal.exists() else "",
    }


def main(folder: Path, kills: int) -> None:
    (folder / "setting").write_text("before\n")
    neighbour = subprocess.Popen(["sleep", "1000000"])
    try:
        original = state(neighbour.pid, folder)
        draw = random.Random(1)
        differences: list[object] = []
        in_force = journalled = 0
        for kill in range(kills):
            after_s = LONGEST_S * draw.random()
            owner = kill_session(neighbour.pid, folder, after_s)
            left = state(neighbour.pid, folder)
            journalled += left["journal"] != ""
            in_force += {**left, "journal": ""} != original
            deadline = time.monotonic() + PATIENCE_S
            while watchdogs_of(owner) and time.monotonic() < deadline:
                time.sleep(0.005)
            now = state(neighbour.pid, folder)
            if now != original or watchdogs_of(owner):
                differences.append([kill, after_s, now, watchdogs_of(owner)])
        print(
            json.dumps(
                {"kills": kills, "journalled": journalled, "in_force": in_force, "differences": differences}
            )
        )
    finally:
        neighbour.kill()
        neighbour.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
