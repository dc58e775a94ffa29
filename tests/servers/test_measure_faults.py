"""Every fault gives one error with its code and exit code, keeps finished runs, and leaves no process behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from impostor import black_hole
from measuring import (
    HindmostProcess,
    ProcessTracker,
    Study,
    assert_counts_add_up,
    descendants,
    finish,
    hindmost,
    measure,
    need,
    start,
    wait_for,
)

GETS_ONLY = '{"get_ratio": 1.0, "keys": 10}'
StartStudy = Callable[[str, Path], HindmostProcess]
TARGET = """
name = "fault"
protocol = "memcached"
command = ["{python}", "-P", "-m", "hindmost.agent", "synth", '{"address": "{address}"}']
"""


@pytest.fixture
def target_file(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "target.toml"
        path.write_text(text)
        return path

    return write


def processes_of(process: HindmostProcess, text: str) -> list[int]:
    """Child processes with this text on their command lines, except the guard."""
    return [pid for pid, line in descendants(process.pid).items() if text in line and "guard.py" not in line]


def is_under_load(process: HindmostProcess) -> bool:
    return any("hindmost.agent client" in line for line in descendants(process.pid).values())


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A study of one finished run, made once per server."""

    @cache
    def make(name: str) -> Path:
        out = tmp_path_factory.mktemp(name) / "study"
        load = ["--runs", "1", "--duration", "1s", "--rate", "500", "--quantiles", "50"]
        assert measure(name, out, *load).code in (0, 4, 6)
        return out

    return make


@pytest.fixture
def start_study(one_run: Callable[[str], Path]) -> StartStudy:
    """Starts a study of two runs: the first is stored, the second is under load."""

    def begin(name: str, out: Path) -> HindmostProcess:
        shutil.copytree(one_run(name), out)
        process = start("measure", "--resume", out, "--runs", 2, "--json")
        try:
            wait_for(lambda: is_under_load(process) or process.poll() is not None, "load of the second run")
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.4)  # connected, and under load
        except BaseException:
            process.kill()
            process.communicate()
            raise
        return process

    return begin


def assert_resumes(out: Path, runs: int) -> None:
    answer = hindmost("measure", "--resume", out, "--json", study=out)
    assert answer.code in (0, 4, 6), answer.err
    assert answer.result["stopping"]["runs"] == len(answer.study.runs()) == runs
    assert answer.study.hidden_files() == []
    assert_counts_add_up(answer.result)


# --- the server does not run, cannot start, or is another ---------------------------------------------------


def test_a_missing_server_is_an_error_in_bounded_time(
    process_tracker: ProcessTracker, tmp_path: Path, exclusive: Callable[[str], None]
) -> None:
    exclusive("accept-queues")
    out = tmp_path / "study"
    with black_hole() as address:
        measure(f"memcached://{address}", out).assert_error(1, "no-answer", limit=2.0)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    measure(f"redis://127.0.0.1:{port}", out).assert_error(1, "not-listening")
    measure("http://no-such-host.invalid/", out).assert_error(1, "unresolvable")
    assert not out.exists()


def test_a_server_that_cannot_start_is_an_error_and_the_same_command_can_be_repeated(
    process_tracker: ProcessTracker, target_file: Callable[[str], Path], tmp_path: Path
) -> None:
    options = (tmp_path / "study", "--runs", "1", "--rate", "500")
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        conflict = measure(str(target_file(f"{TARGET}\nport = {port}\n")), *options)
    conflict.assert_error(1, "address-in-use", port=port)
    absent = TARGET.replace('"{python}"', '"no-such-server"').replace('\'{"address"', '\'{port}{"address"')
    measure(str(target_file(absent)), *options).assert_error(1, "missing-program")
    path = target_file(TARGET.replace('"synth", ', '"synth", "--no-such-flag", '))
    failure = measure(str(path), *options)
    failure.assert_error(1, "server-failed")
    assert failure.study.runs() == []
    path.write_text(TARGET)
    success = measure(str(path), *options)
    assert success.code in (0, 4, 6), success.err
    assert len(success.study.runs()) == 1


@pytest.mark.memcached
def test_a_server_that_dies_in_mid_run_is_an_error_and_finished_runs_are_kept(
    process_tracker: ProcessTracker, tmp_path: Path, start_study: StartStudy
) -> None:
    need("memcached")
    out = tmp_path / "study"
    process = start_study("memcached", out)
    for pid in processes_of(process, "memcached -l"):
        os.kill(pid, signal.SIGKILL)
    answer = finish(process, out)
    answer.assert_error(1, "server-died", run=2)
    assert len(answer.study.runs()) == 1
    assert answer.study.hidden_files() == []
    assert_resumes(out, 2)


def test_a_load_client_that_dies_is_an_error_and_the_server_ends_with_it(
    process_tracker: ProcessTracker, tmp_path: Path, start_study: StartStudy
) -> None:
    out = tmp_path / "study"
    process = start_study("synth", out)
    for pid in processes_of(process, "hindmost.agent client"):
        os.kill(pid, signal.SIGKILL)
    answer = finish(process, out)
    answer.assert_error(1, "client-ended")
    assert len(answer.study.runs()) == 1


# --- the study is ended ---------------------------------------------------------------------------------


def to_process(number: signal.Signals) -> Callable[[int], None]:
    return lambda pid: os.kill(pid, number)


def to_group(number: signal.Signals, times: int = 1) -> Callable[[int], None]:
    def send(pid: int) -> None:
        for _ in range(times):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)
            time.sleep(0.03)

    return send


@pytest.mark.parametrize(
    "end",
    [to_group(signal.SIGINT, 4), to_process(signal.SIGTERM)],
    ids=["INT to the group, impatiently", "TERM"],
)
def test_an_interrupted_study_keeps_its_runs(
    end: Callable[[int], None], process_tracker: ProcessTracker, tmp_path: Path, start_study: StartStudy
) -> None:
    out = tmp_path / "study"
    process = start_study("synth", out)
    end(process.pid)
    answer = finish(process, out)
    answer.assert_error(130, "interrupted")
    assert f"hindmost measure --resume {out}" in answer.result["hint"]
    assert len(answer.study.runs()) == 1
    process_tracker.assert_none_left()


@pytest.mark.nginx
def test_kill_9_leaves_no_process_and_the_study_can_be_resumed(
    process_tracker: ProcessTracker, tmp_path: Path, start_study: StartStudy
) -> None:
    need("nginx")
    out = tmp_path / "study"
    process = start_study("nginx", out)
    process.kill()
    assert finish(process, out).code == -signal.SIGKILL
    process_tracker.assert_none_left()
    assert len(Study(out).runs()) == 1
    assert Study(out).hidden_files() != [], "the second run was under way"
    assert_resumes(out, 2)


@pytest.mark.nightly
@pytest.mark.parametrize("after_s", [0.1, 0.4, 0.7, 1.0])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_at_any_moment_of_the_start_leaves_nothing(
    number: signal.Signals, after_s: float, process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    process = start("measure", "synth", "--out", tmp_path / "study", fresh=True)
    time.sleep(after_s)
    os.killpg(process.pid, number)
    answer = finish(process, tmp_path / "study")
    if answer.code == -number:  # SIGINT before the interpreter had started
        assert ", in main" not in answer.err, answer.err
    else:
        answer.assert_error(130, "interrupted")
    assert answer.study.runs() == []


def test_two_processes_cannot_use_one_study(
    process_tracker: ProcessTracker, tmp_path: Path, start_study: StartStudy
) -> None:
    out = tmp_path / "study"
    process = start_study("synth", out)
    process.send_signal(signal.SIGSTOP)  # however long the second takes, the first still runs
    hindmost("measure", "--resume", out, study=out).assert_error(1, "study-in-use")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    assert finish(process, out).code == 130, "the first was not disturbed"


# --- the disk is full -----------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A tmpfs whose size can be changed."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "hindmost-test", place], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("no small disk can be mounted here: that needs root (CAP_SYS_ADMIN)")

    def resize(size: str) -> Path:
        subprocess.run(["mount", "-o", f"remount,size={size}", place], check=True)
        return place

    yield resize
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_keeps_finished_runs_and_the_study_can_be_resumed(
    process_tracker: ProcessTracker, tmp_path: Path, small_disk: Callable[[str], Path]
) -> None:
    disk = small_disk("4k")
    out = disk / "study"
    none = measure("synth", disk / "none")
    none.assert_error(1, "disk-full")
    assert "--resume" not in none.err
    small_disk("200k")
    answer = measure("synth", out, "--rate", "5k", "--runs", "3", "--duration", "0.3s")
    assert answer.error_codes in (["disk-full"], ["write"]), "for a file of the study or of a client"
    assert answer.code == 1
    assert 1 <= len(answer.study.runs()) < 3
    assert answer.study.hidden_files() == []
    small_disk("50m")
    assert_resumes(out, 3)
