"""Units of work of a program under profile, and the CPU time of all that it starts."""

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
from hindmost.errors import TargetError
from hindmost.studies.colocation import profile as profiles
from hindmost.studies.colocation import runs, windows
from hindmost.studies.colocation.runs import Runs
from hindmost.studies.colocation.subject import Subject
from hindmost.studies.colocation.units import Counter

CPU = max(os.sched_getaffinity(0))


def test_a_counter_is_a_number_or_bytes_from_where_it_stood(tmp_path: Path):
    path = tmp_path / "done"
    path.write_text("500\n", encoding="ascii")
    one = Counter(path)
    one.attach(None)
    assert (one.total(), one.name) == (0, "counts")
    path.write_text("507.5\n", encoding="ascii")
    assert one.total() == 7.5
    path.write_text("", encoding="ascii")  # emptied to be written anew
    assert one.total() == 7.5
    path.write_text("3\n", encoding="ascii")  # a program that begins at nought
    one.total()
    path.write_text("5\n", encoding="ascii")
    assert one.total() == 2

    grows = tmp_path / "out"
    other = Counter(grows)
    other.attach(None)
    assert other.total() == 0
    grows.write_bytes(b"\x00" * 1000)
    assert (other.total(), other.name) == (1000, "bytes")
    grows.write_bytes(b"1" * 2000)
    assert other.total() == 2000
    with raises(TargetError, "unreadable-file", path=str(tmp_path)):
        Counter(tmp_path)


@pytest.mark.skipif(shutil.which("xz") is None, reason="xz is not installed: setup/system.sh want")
def test_xz_in_children_is_counted_by_the_bytes_of_its_output(tmp_path: Path):
    out = tmp_path / "out.xz"
    loop = f"while :; do head -c 2000 /dev/urandom | xz -0 >> {out}; done"
    with Subject(["sh", "-c", loop], CPU, Counter(out)) as one:
        if not one.counts_children:
            pytest.skip("perf_event_open is refused here: children that are gone cannot be counted")
        units, cpu = one.count("now")
        time.sleep(0.3)
        one.pause()
        time.sleep(0.1)  # a signal takes its time on a busy host
        more, more_cpu = one.count("now")
        stat = Path(f"/proc/{one._program.pid}/schedstat").read_text(encoding="ascii")
        time.sleep(0.2)
        assert one.count("now") == (more, more_cpu), "something of it went on"
    assert more > units + 2000
    assert one.units.name == "bytes"
    assert more_cpu - cpu > 0
    # The shell itself does next to nothing of it.
    assert more_cpu > 2 * int(stat.split()[0])


@pytest.mark.nightly  # a program must get a processor for its windows
def test_what_a_program_starts_runs_on_its_processor_and_ends_with_it(tmp_path: Path):
    told = tmp_path / "told"
    code = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'while True: pass'])\n"
        f"open({str(told)!r}, 'w').write(f'{{child.pid}}')\n"
        "while True: print('.', flush=True)"
    )
    with Subject([sys.executable, "-c", code], CPU) as one:
        pid = int(told.read_text(encoding="ascii"))
        assert os.sched_getaffinity(pid) == {CPU}
        one.pause()
        for _ in range(100):
            state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
            if state == "T":
                break
            time.sleep(0.02)
        assert state == "T", "the child goes on while its parent is paused"
    state = "gone"
    for _ in range(100):  # whoever adopts it takes its exit code
        with contextlib.suppress(OSError):
            state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        if state in "XZ" or not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.02)
    pytest.fail(f"process {pid} is left in state {state}")


@pytest.mark.parametrize(
    ("last", "how"),
    [("raise SystemExit(3)", {"exit_status": 3}), ("os.abort()", {"signal": "SIGABRT"})],
)
def test_a_program_that_ends_in_mid_profile_is_told_with_the_window(last: str, how: dict[str, object]):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor only")
    code = f"import os\nfor n in range(9000):\n print(n, flush=True)\n sum(range(300))\n{last}"
    with raises(TargetError, "program-ended", **how) as refused:
        profiles.profile(
            [sys.executable, "-c", code], stressors=["int_add"], window_ms=10, budget_s=20, real_time=False
        )
    fields = refused.value.fields
    assert fields["window"] >= 1
    assert fields["beside"] in (None, "alone", "null", "int_add")
    assert fields["after_s"] > 0


@pytest.fixture
def any_share(monkeypatch):
    """Windows count whatever a busy host does to them: in 100 ms, it leaves some of a processor."""
    monkeypatch.setattr(windows, "LEAST_CPU", 0.0)
    monkeypatch.setattr(windows.WindowResult, "is_usable", True)


@pytest.mark.nightly  # a program must get a processor for its windows
def test_a_card_tells_of_a_counter(tmp_path: Path, any_share):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor only")
    path = tmp_path / "done"
    code = (
        f"import os, zlib\nfile = os.open({str(path)!r}, os.O_WRONLY | os.O_CREAT)\nn = 0\n"
        "while True:\n zlib.compress(b'x' * 9999)\n n += 1\n os.pwrite(file, b'%d' % n, 0)"
    )
    found = profiles.profile(
        [sys.executable, "-c", code],
        units=Counter(path),
        stressors=["int_add"],
        window_ms=100,
        budget_s=1,
        real_time=False,
    )
    assert found["method"]["unit"] == "counts"
    assert 100 < found["rate_per_s"] < 1e6


def test_a_run_is_a_unit_and_costs_the_time_of_its_children(tmp_path: Path):
    data = tmp_path / "data"
    data.write_bytes(os.urandom(200_000))
    with Runs(["sh", "-c", f"gzip -9 < {data} | gzip -9 > /dev/null; sleep 0.03"], CPU) as one:
        units, cpu = one.count("now")
        assert (units, one.run_ms >= 30) == (1, True)
        one.resume()
        one.run_window(0)
        more, more_cpu = one.count("now")
    assert more == 2
    assert more_cpu - cpu > 4e6  # the shell alone takes 1 ms


def test_a_run_that_is_too_short_to_be_a_unit_is_refused(monkeypatch):
    monkeypatch.setattr(runs, "LEAST_RUN_MS", 1e9)
    with raises(TargetError, "short-run", command=["true"], least=1e9), Runs(["true"], CPU):
        pass


def test_a_run_that_fails_is_told_and_one_that_is_left_is_ended(tmp_path: Path):
    flag = tmp_path / "flag"
    fails = f"sleep 0.03; test ! -e {flag} || exit 7; touch {flag}"
    with Runs(["sh", "-c", fails], CPU) as one:
        one.resume()
        one.run_window(0)
        with raises(TargetError, "program-ended", exit_status=7, window=4):
            one.count("in window 4", 4)
    flag.unlink()
    with Runs(["sh", "-c", f"if [ -e {flag} ]; then sleep 60; fi; touch {flag}; sleep 0.03"], CPU) as one:
        one.resume()
        left = one._running.pid
    with pytest.raises(ProcessLookupError):
        os.kill(left, 0)


def test_two_units_of_work_are_refused(capsys):
    words = ["colocate", "profile", "true", "--work", "cpu", "--counter", "x"]
    assert_refused(words, capsys, 2, "conflicting-options", options=["--work", "--counter"])


@pytest.mark.nightly  # a program must get a processor for its windows
def test_a_card_of_runs(tmp_path: Path, capsys, any_share):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor only")
    command = f"{sys.executable} -S -c 'sum(range(2000000))'"
    card = tmp_path / "card.json"
    asked = [
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
    assert main(["colocate", "profile", command, *asked, "--json"]) == 0, capsys.readouterr()
    found = json.loads(card.read_text(encoding="utf-8"))
    assert found["method"]["unit"] == "runs"
    assert 1 < found["rate_per_s"] < 200
    assert [axis["stressor"] for axis in found["axes"]] == ["int_add"]


KILLED = """
import os, sys
from hindmost.studies.colocation.subject import Subject
subject = ["sh", "-c", os.environ["SCRIPT"]]
print("begins", flush=True)
with Subject(subject, min(os.sched_getaffinity(0)), real_time=True):
    print("works", flush=True)
    sys.stdin.readline()
"""
DAEMON = "sleep {0} & setsid sh -c 'sleep {0} & exec sleep {0}' & while true; do echo unit; done"


@pytest.mark.parametrize("moment_s", [0.0, 0.03, 0.06, 0.1, "it works"])
def test_whenever_the_profiler_is_killed_nothing_of_the_program_is_left_nor_of_its_daemons(moment_s):
    marker = f"600.{secrets.randbelow(10**9):09d}"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    env = {**os.environ, "SCRIPT": DAEMON.format(marker)}
    try:
        with subprocess.Popen([sys.executable, "-c", KILLED], env=env, **pipes) as profiler:
            assert profiler.stdout.readline() == b"begins\n"
            if moment_s == "it works":
                assert profiler.stdout.readline() == b"works\n"
                wait_for(lambda: len(named(marker)) == 4, "the shell, its sleep, a daemon, and its sleep")
            else:
                time.sleep(moment_s)
            profiler.kill()
        # What is not there yet would be there by then.
        time.sleep(0.3)
        wait_for(lambda: not named(marker), "all of it has ended")
    finally:
        for pid in named(marker):
            os.kill(pid, signal.SIGKILL)


def test_a_daemon_ends_with_the_profile(tmp_path):
    marker = f"600.{secrets.randbelow(10**9):09d}"
    with Subject(["sh", "-c", DAEMON.format(marker)], CPU):
        wait_for(lambda: len(named(marker)) == 4, "the shell, its sleep, a daemon, and its sleep")
    assert not named(marker)


def test_a_program_whose_guard_is_killed_has_ended_and_that_is_told():
    with Subject(["sh", "-c", "while true; do echo unit; done"], CPU) as one:
        assert one._program.ending() is None
        os.kill(one._program._warden.guard_pid, signal.SIGKILL)
        wait_for(lambda: one._program.ending() is not None, "it is noticed")
        with raises(TargetError, "program-ended", exit_status=None, signal=None, window=2):
            one.count("in window 2", 2)
        left = one._program.pid
    wait_for(lambda: not Path(f"/proc/{left}").exists(), "it has ended with its guard")


def named(marker: str) -> list[int]:
    """Processes with that on their command lines."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if marker.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found
