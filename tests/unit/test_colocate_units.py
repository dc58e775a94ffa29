"""Units of work of a profiled program, and the CPU time of all its processes."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from measuring import wait_for
from messages import assert_refused, raises

from hindmost.cli import main
from hindmost.commands.colocate import profile as profiles
from hindmost.commands.colocate import runs, windows
from hindmost.commands.colocate.runs import Runs
from hindmost.commands.colocate.subject import Subject
from hindmost.commands.colocate.units import Counter
from hindmost.errors import TargetError

CPU = max(os.sched_getaffinity(0))


def test_a_counter_counts_a_number_or_bytes_since_the_start(tmp_path: Path):
    path = tmp_path / "done"
    path.write_text("500\n", encoding="ascii")
    counter = Counter(path)
    counter.attach(None)
    assert (counter.total(), counter.name) == (0, "counts")
    path.write_text("507.5\n", encoding="ascii")
    assert counter.total() == 7.5
    path.write_text("", encoding="ascii")  # emptied before it is rewritten
    assert counter.total() == 7.5
    path.write_text("3\n", encoding="ascii")  # a program that starts at zero
    counter.total()
    path.write_text("5\n", encoding="ascii")
    assert counter.total() == 2

    growing = tmp_path / "out"
    sized = Counter(growing)
    sized.attach(None)
    assert sized.total() == 0
    growing.write_bytes(b"\x00" * 1000)
    assert (sized.total(), sized.name) == (1000, "bytes")
    growing.write_bytes(b"1" * 2000)
    assert sized.total() == 2000
    with raises(TargetError, "unreadable-file", path=str(tmp_path)):
        Counter(tmp_path)


@pytest.mark.skipif(shutil.which("xz") is None, reason="xz is not installed")
def test_child_processes_are_counted_by_the_bytes_of_their_output(tmp_path: Path):
    out = tmp_path / "out.xz"
    loop = f"while :; do head -c 2000 /dev/urandom | xz -0 >> {out}; done"
    with Subject(["sh", "-c", loop], CPU, Counter(out)) as program:
        if not program.counts_children:
            pytest.skip("perf_event_open is refused here: children that are gone cannot be counted")
        units, cpu = program.count("now")
        time.sleep(0.3)
        program.pause()
        time.sleep(0.1)  # a signal takes its time on a busy host
        more_units, more_cpu_ns = program.count("now")
        stat = Path(f"/proc/{program._program.pid}/schedstat").read_text(encoding="ascii")
        time.sleep(0.2)
        assert program.count("now") == (more_units, more_cpu_ns), "a process kept running"
    assert more_units > units + 2000
    assert program.units.name == "bytes"
    assert more_cpu_ns - cpu > 0
    # The shell itself uses almost no CPU time.
    assert more_cpu_ns > 2 * int(stat.split()[0])


@pytest.mark.nightly  # the program needs a CPU for its windows
def test_child_processes_run_on_the_programs_cpu_and_end_with_it(tmp_path: Path):
    pid_file = tmp_path / "told"
    code = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'while True: pass'])\n"
        f"open({str(pid_file)!r}, 'w').write(f'{{child.pid}}')\n"
        "while True: print('.', flush=True)"
    )
    with Subject([sys.executable, "-c", code], CPU) as program:
        pid = int(pid_file.read_text(encoding="ascii"))
        assert os.sched_getaffinity(pid) == {CPU}
        program.pause()
        for _ in range(100):
            state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
            if state == "T":
                break
            time.sleep(0.02)
        assert state == "T", "the child keeps running while its parent is paused"
    state = "gone"
    for _ in range(100):  # the parent that adopts it reaps it
        with contextlib.suppress(OSError):
            state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        if state in "XZ" or not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.02)
    pytest.fail(f"process {pid} is left in state {state}")


@pytest.mark.parametrize(
    ("last", "ending"),
    [("raise SystemExit(3)", {"exit_status": 3}), ("os.abort()", {"signal": "SIGABRT"})],
)
def test_a_program_that_ends_during_a_profile_is_reported_with_the_window(
    last: str, ending: dict[str, object]
):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("only one CPU")
    code = f"import os\nfor n in range(9000):\n print(n, flush=True)\n sum(range(300))\n{last}"
    with raises(TargetError, "program-ended", **ending) as caught:
        profiles.profile(
            [sys.executable, "-c", code], stressors=["int_add"], window_ms=10, budget_s=20, real_time=False
        )
    fields = caught.value.fields
    assert fields["window"] >= 1
    assert fields["beside"] in (None, "alone", "null", "int_add")
    assert fields["after_s"] > 0


@pytest.fixture
def any_share(monkeypatch):
    """Accept all windows on a busy host: in 100 ms, the program gets some CPU time."""
    monkeypatch.setattr(windows, "LEAST_CPU", 0.0)
    monkeypatch.setattr(windows.WindowResult, "is_usable", True)


@pytest.mark.nightly  # the program needs a CPU for its windows
def test_a_program_is_profiled_by_a_counter(tmp_path: Path, any_share):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("only one CPU")
    path = tmp_path / "done"
    code = (
        f"import os, zlib\nfile = os.open({str(path)!r}, os.O_WRONLY | os.O_CREAT)\nn = 0\n"
        "while True:\n zlib.compress(b'x' * 9999)\n n += 1\n os.pwrite(file, b'%d' % n, 0)"
    )
    profile = profiles.profile(
        [sys.executable, "-c", code],
        units=Counter(path),
        stressors=["int_add"],
        window_ms=100,
        budget_s=1,
        real_time=False,
    )
    assert profile.method.unit == "counts"
    assert 100 < profile.rate_per_s < 1e6


def test_a_run_is_a_unit_and_includes_the_time_of_its_children(tmp_path: Path):
    data = tmp_path / "data"
    data.write_bytes(os.urandom(200_000))
    with Runs(["sh", "-c", f"gzip -9 < {data} | gzip -9 > /dev/null; sleep 0.03"], CPU) as program:
        units, cpu = program.count("now")
        assert (units, program.run_ms >= 30) == (1, True)
        program.resume()
        program.run_window(0)
        more_units, more_cpu_ns = program.count("now")
    assert more_units == 2
    assert more_cpu_ns - cpu > 4e6  # the shell alone takes 1 ms


def test_a_run_that_is_too_short_to_be_a_unit_is_refused(monkeypatch):
    monkeypatch.setattr(runs, "LEAST_RUN_MS", 1e9)
    with raises(TargetError, "short-run", command=["true"], least=1e9), Runs(["true"], CPU):
        pass


def test_a_failing_run_is_reported_and_an_unfinished_run_is_killed(tmp_path: Path):
    flag = tmp_path / "flag"
    fails = f"sleep 0.03; test ! -e {flag} || exit 7; touch {flag}"
    with Runs(["sh", "-c", fails], CPU) as program:
        program.resume()
        program.run_window(0)
        with raises(TargetError, "program-ended", exit_status=7, window=4):
            program.count("in window 4", 4)
    flag.unlink()
    with Runs(["sh", "-c", f"if [ -e {flag} ]; then sleep 60; fi; touch {flag}; sleep 0.03"], CPU) as program:
        program.resume()
        pid = program._running.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_two_units_of_work_are_refused(capsys):
    command = ["colocate", "profile", "true", "--work", "cpu", "--counter", "x"]
    assert_refused(command, capsys, 2, "conflicting-options", options=["--work", "--counter"])


@pytest.mark.nightly  # the program needs a CPU for its windows
def test_a_program_is_profiled_by_its_runs(tmp_path: Path, capsys, any_share):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("only one CPU")
    command = f"{sys.executable} -S -c 'sum(range(2000000))'"
    card = tmp_path / "card.json"
    options = [
        "--work",
        "cpu",
        "--stressors",
        "int_add",
        "--budget",
        "1s",
        "--no-real-time",
        "--out",
        str(card),
    ]
    assert main(["colocate", "profile", command, *options, "--json"]) == 0, capsys.readouterr()
    profile = json.loads(card.read_text(encoding="utf-8"))
    assert profile["method"]["unit"] == "runs"
    assert 1 < profile["rate_per_s"] < 200
    assert [axis["stressor"] for axis in profile["axes"]] == ["int_add"]


KILLED = """
import os, sys
from hindmost.commands.colocate.subject import Subject
subject = ["sh", "-c", os.environ["SCRIPT"]]
print("begins", flush=True)
with Subject(subject, min(os.sched_getaffinity(0)), real_time=True):
    print("works", flush=True)
    sys.stdin.readline()
"""
DAEMON = "sleep {0} & setsid sh -c 'sleep {0} & exec sleep {0}' & while true; do echo unit; done"


@pytest.mark.parametrize("moment_s", [0.0, 0.03, 0.06, 0.1, "it works"])
def test_killing_the_profiler_leaves_no_process_of_the_program(moment_s):
    marker = f"600.{secrets.randbelow(10**9):09d}"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    env = {**os.environ, "SCRIPT": DAEMON.format(marker)}
    try:
        with subprocess.Popen([sys.executable, "-c", KILLED], env=env, **pipes) as profiler:
            assert profiler.stdout.readline() == b"begins\n"
            if moment_s == "it works":
                assert profiler.stdout.readline() == b"works\n"
                wait_for(
                    lambda: len(find_processes(marker)) == 4, "the shell, its sleep, a daemon, and its sleep"
                )
            else:
                time.sleep(moment_s)
            profiler.kill()
        # Processes that were being started exist by then.
        time.sleep(0.3)
        wait_for(lambda: not find_processes(marker), "all its processes have ended")
    finally:
        for pid in find_processes(marker):
            os.kill(pid, signal.SIGKILL)


def test_a_daemon_ends_with_the_profile(tmp_path):
    marker = f"600.{secrets.randbelow(10**9):09d}"
    with Subject(["sh", "-c", DAEMON.format(marker)], CPU):
        wait_for(lambda: len(find_processes(marker)) == 4, "the shell, its sleep, a daemon, and its sleep")
    assert not find_processes(marker)


def test_a_program_whose_guard_is_killed_ends_and_is_reported():
    with Subject(["sh", "-c", "while true; do echo unit; done"], CPU) as program:
        assert program._program.ending() is None
        os.kill(program._program._warden.guard_pid, signal.SIGKILL)
        wait_for(lambda: program._program.ending() is not None, "the death of the guard is noticed")
        with raises(TargetError, "program-ended", exit_status=None, signal=None, window=2):
            program.count("in window 2", 2)
        pid = program._program.pid
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the program has ended with its guard")


def find_processes(marker: str) -> list[int]:
    """Return the processes with this text on their command lines."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if marker.encode() in (entry / "cmdline").read_bytes():
                pids.append(int(entry.name))
    return pids
