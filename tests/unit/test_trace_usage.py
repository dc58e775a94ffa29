"""Processor time of a server whose threads and processes end during the measurement."""

import os
import subprocess
import sys

import pytest

from hindmost.core.tracing.usage import ENDED, Usage

SPINS = """
import os, sys, threading, time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
print("ready", flush=True)
sys.stdin.readline()
for how in sys.argv[1].split("+"):
    if how == "thread":
        one = threading.Thread(target=spin, args=(0.2,)); one.start(); one.join()
    elif how == "child":
        if (child := os.fork()) == 0:
            spin(0.2)
            os._exit(0)
        os.waitpid(child, 0)
    elif how == "itself":
        spin(0.2)
# One that was joined is there until the kernel has ended it.
while len(os.listdir("/proc/self/task")) > 1:
    time.sleep(0.001)
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("how", ["thread", "child", "itself", "thread+child+itself"])
def test_processor_time_of_ended_threads_and_processes_is_counted(how):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", SPINS, how], **pipes) as program:
        program.stdout.readline()
        before = Usage.read(program.pid)
        program.stdin.write("\n")
        program.stdin.flush()
        program.stdout.readline()
        used = Usage.read(program.pid).since(before)
        program.kill()
    parts = how.split("+")
    ended = [part for part in parts if part != "itself"]
    assert used.get(ENDED, 0) / 1e9 == pytest.approx(0.2 * len(ended), abs=0.03)
    assert sum(used.values()) / 1e9 >= 0.2 * len(parts) - 0.03


def test_an_ended_child_counts_only_from_the_start_of_the_measurement():
    before = Usage({1: 10, 2: 5_000}, {1: 10, 2: 5_000}, {1: 100, 2: 0})
    after = Usage({1: 30}, {1: 30}, {1: 6_100})
    assert after.since(before) == {1: 20, ENDED: 1_000}


def test_an_unknown_process_has_no_usage():
    nobody = Usage.read(None)
    assert Usage.read(os.getpid()).since(nobody) == {}
