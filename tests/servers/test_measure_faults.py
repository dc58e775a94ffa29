"""Whatever goes wrong: one clear message, the right exit code, finished runs kept, nothing left behind."""

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
from impostor import Misbehave, black_hole, impostor, memcached, saying
from measuring import (
    PATIENCE_S,
    Answer,
    Household,
    Started,
    Study,
    assert_counts_close,
    finish,
    hindmost,
    measure,
    need,
    offspring,
    running,
    servers,
    start,
    wait_for,
)

GETS_ONLY = '{"get_ratio": 1.0, "keys": 10}'
Begun = Callable[[str, Path], Started]
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


def servers_of(process: Started, words: str) -> list[int]:
    """Its server processes; not the guard, not the load."""
    return [pid for pid, line in offspring(process.pid).items() if words in line and "guard.py" not in line]


def load_is_on(process: Started) -> bool:
    return any("hindmost.agent instance" in line for line in offspring(process.pid).values())


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A study of one finished run, made once for each server."""

    @cache
    def make(name: str) -> Path:
        out = tmp_path_factory.mktemp(name) / "study"
        words = ["--runs", "1", "--duration", "1s", "--rate", "500", "--quantiles", "50"]
        assert measure(name, out, *words).code in (0, 4, 6)
        return out

    return make


@pytest.fixture
def begun(one_run: Callable[[str], Path]) -> Begun:
    """A study of two runs: the first is stored, the second is under load."""

    def begin(name: str, out: Path) -> Started:
        shutil.copytree(one_run(name), out)
        process = start("measure", "--resume", out, "--runs", 2, "--json")
        try:
            wait_for(lambda: load_is_on(process) or process.poll() is not None, "load of the second run")
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
    assert answer.study.half_done() == []
    assert_counts_close(answer.result)


# --- the server is not there, or is another ------------------------------------------------------------


def test_an_unreachable_host_is_told_in_bounded_time(household: Household, tmp_path: Path) -> None:
    began = time.monotonic()
    with black_hole() as address:
        answer = measure(f"memcached://{address}", tmp_path / "study")
    answer.assert_one_clear_error(1, address, "did not answer a connection attempt within 2 s")
    assert time.monotonic() - began < PATIENCE_S
    assert not (tmp_path / "study").exists()


def test_a_refused_connection_is_told(household: Household, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    answer = measure(f"redis://127.0.0.1:{port}", tmp_path / "study")
    answer.assert_one_clear_error(1, "connection refused", "ss -ltn")
    assert not (tmp_path / "study").exists()


def test_a_name_that_means_no_host_is_told(household: Household, tmp_path: Path) -> None:
    answer = measure("http://no-such-host.invalid/", tmp_path / "study")
    answer.assert_one_clear_error(1, "cannot resolve host", "getent hosts no-such-host.invalid")


@pytest.mark.redis
@pytest.mark.memcached
def test_the_wrong_protocol_is_told_by_what_answers(household: Household, tmp_path: Path) -> None:
    out = tmp_path / "study"
    with running(need("redis")) as redis, running(need("memcached")) as cache:
        found = [
            (measure(f"memcached://{redis.address}", out), f"redis://{redis.address}"),
            (measure(f"http://{cache.address}/", out), f"memcached://{cache.address}"),
            (measure(f"redis://{cache.address}", out), f"memcached://{cache.address}"),
        ]
    for answer, right in found:
        answer.assert_one_clear_error(1, "does not speak", f"hint: write {right}")
    assert not out.exists()


def test_after_a_first_run_that_failed_the_same_command_begins_anew(
    household: Household, target_file: Callable[[str], Path], tmp_path: Path
) -> None:
    broken = TARGET.replace('"synth", ', '"synth", "--no-such-flag", ')
    path, out = target_file(broken), tmp_path / "study"
    failed = measure(str(path), out, "--runs", "1", "--rate", "500")
    assert failed.code == 1, failed.err
    assert failed.study.runs() == []
    assert "--resume" not in failed.err
    path.write_text(TARGET)
    again = measure(str(path), out, "--runs", "1", "--rate", "500")
    assert again.code in (0, 4, 6), again.err
    assert len(again.study.runs()) == 1


# --- the server misbehaves ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on_get", "words"),
    [
        (saying(b"\x00\xff\x7fgarbage\r\n"), "reply to `get` cannot start with"),
        (saying(b"x" * 100_000, each=False), "has no end of its head within 1024 bytes"),
        (saying(b"END\r\nEND\r\n"), "no request was outstanding"),
    ],
    ids=["noise", "endless noise", "two replies for one"],
)
def test_garbage_replies_end_the_run(
    on_get: Misbehave, words: str, household: Household, tmp_path: Path
) -> None:
    answer = against_impostor(memcached(on_get), tmp_path)
    answer.assert_one_clear_error(1, "run 1: ", words, "is this port the protocol that TARGET names?")
    assert answer.study.runs() == []
    assert answer.study.half_done() == []


def test_garbage_while_the_keys_are_stored_is_told(household: Household, tmp_path: Path) -> None:
    def reply(connection: socket.socket, heard: bytes) -> None:
        connection.sendall(b"VERSION 1\r\n" if heard.startswith(b"version") else b"NONSENSE\r\n")

    answer = against_impostor(reply, tmp_path)
    answer.assert_one_clear_error(1, "reply to `set` cannot start with", "NONSENSE")


def test_a_server_that_answers_nothing_makes_requests_infinitely_late(
    household: Household, tmp_path: Path
) -> None:
    answer = against_impostor(memcached(lambda connection, heard: None), tmp_path, "--runs", "1")
    assert answer.code in (4, 6), answer.err  # 6 where this host made the client late, too
    assert_counts_close(answer.result)
    assert answer.result["counts"]["timeouts"] == answer.result["counts"]["due"] > 0
    assert answer.result["latency_us"]["p50"]["value"] is None
    assert "infinitely_late" in {reason["code"] for reason in answer.result["reasons"]}


def test_a_server_that_fails_every_request_makes_the_measurement_inconclusive(
    household: Household, tmp_path: Path
) -> None:
    failing = memcached(saying(b"SERVER_ERROR out of beer\r\n"))
    answer = against_impostor(failing, tmp_path, "--runs", "1")
    assert answer.code in (4, 6), answer.err  # 6 where this host made the client late, too
    assert_counts_close(answer.result)
    assert answer.result["counts"]["errors"] == answer.result["counts"]["due"] > 0
    assert "errors" in {reason["code"] for reason in answer.result["reasons"]}


def test_a_server_that_closes_instead_of_answering_cannot_be_measured(
    household: Household, tmp_path: Path
) -> None:
    closing = memcached(lambda connection, heard: connection.close())
    answer = against_impostor(closing, tmp_path, "--runs", "1")
    answer.assert_one_clear_error(1, "the server closed", "does the server take connections at all?")


def against_impostor(reply: Misbehave, folder: Path, *more: str) -> Answer:
    (folder / "gets.json").write_text(GETS_ONLY)
    flags = ["--rate", "200", "--timeout", "0.5s", "--workload", folder / "gets.json", *more]
    with impostor(reply) as address:
        return measure(f"memcached://{address}", folder / "study", *flags)


@pytest.mark.parametrize("name", servers("memcached", "synth"))
def test_a_server_that_dies_in_mid_run_is_told_and_finished_runs_are_kept(
    name: str, household: Household, tmp_path: Path, begun: Begun
) -> None:
    if name == "memcached":
        need(name)
    out = tmp_path / "study"
    process = begun(name, out)
    for pid in servers_of(process, "hindmost.agent synth" if name == "synth" else "memcached -l"):
        os.kill(pid, signal.SIGKILL)
    answer = finish(process, out)
    answer.assert_one_clear_error(
        1, f"run 2: {name} was killed by SIGKILL in mid-run", "1 finished run(s) are kept"
    )
    assert len(answer.study.runs()) == 1
    assert answer.study.half_done() == []
    if name == "memcached":
        assert_resumes(out, 2)


def test_a_load_instance_that_dies_is_told_and_the_server_ends_with_it(
    household: Household, tmp_path: Path, begun: Begun
) -> None:
    out = tmp_path / "study"
    process = begun("synth", out)
    for pid in servers_of(process, "hindmost.agent instance"):
        os.kill(pid, signal.SIGKILL)
    answer = finish(process, out)
    answer.assert_one_clear_error(
        1, "load instance 0", "was killed by signal 9", "1 finished run(s) are kept"
    )


# --- the server cannot start ----------------------------------------------------------------------------


def test_a_port_already_taken_is_told_with_its_holder(
    household: Household, tmp_path: Path, target_file: Callable[[str], Path]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        answer = measure(str(target_file(f"{TARGET}\nport = {port}\n")), tmp_path / "study")
    answer.assert_one_clear_error(
        1, f"port {port} on 127.0.0.1 is already taken", str(os.getpid()), "port = 0"
    )


def test_a_program_that_is_not_there_is_told(
    household: Household, tmp_path: Path, target_file: Callable[[str], Path]
) -> None:
    text = TARGET.replace('"{python}"', '"no-such-server"').replace('\'{"address"', '\'{port}{"address"')
    answer = measure(str(target_file(text)), tmp_path / "study")
    answer.assert_one_clear_error(1, "no-such-server is not installed")


def test_a_server_that_does_not_come_up_is_shown_with_its_last_words(
    household: Household, tmp_path: Path
) -> None:
    service = 'synth?service={"kind": "deterministic", "mean_us": -3}'
    answer = measure(service, tmp_path / "study")
    answer.assert_one_clear_error(1, "synth exited with status 1 before it was ready", "mean_us = -3")


# --- somebody ends it -----------------------------------------------------------------------------------


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
    ("end", "word"),
    [
        (to_process(signal.SIGINT), "interrupted"),
        (to_group(signal.SIGINT), "interrupted"),
        (to_group(signal.SIGINT, 4), "interrupted"),
        (to_process(signal.SIGTERM), "ended by SIGTERM"),
        (to_group(signal.SIGTERM, 4), "ended by SIGTERM"),
        (to_process(signal.SIGHUP), "ended by SIGHUP"),
    ],
    ids=["INT", "INT to the group", "INT, impatiently", "TERM", "TERM, impatiently", "HUP"],
)
def test_an_interrupted_study_keeps_its_runs_and_goes_on(
    end: Callable[[int], None], word: str, household: Household, tmp_path: Path, begun: Begun
) -> None:
    out = tmp_path / "study"
    process = begun("synth", out)
    end(process.pid)
    answer = finish(process, out)
    answer.assert_one_clear_error(130, f"error: {word}; 1 finished run(s) are kept in {out}")
    assert f"hint: hindmost measure --resume {out}" in answer.err
    assert len(answer.study.runs()) == 1
    household.assert_empty()


@pytest.mark.parametrize("name", servers("synth", "nginx"))
def test_kill_9_leaves_no_process_and_the_study_goes_on(
    name: str, household: Household, tmp_path: Path, begun: Begun
) -> None:
    if name != "synth":
        need(name)
    out = tmp_path / "study"
    process = begun(name, out)
    process.kill()
    assert finish(process, out).code == -signal.SIGKILL
    household.assert_empty()
    assert len(Study(out).runs()) == 1
    assert Study(out).half_done() != [], "the second run was under way"
    assert_resumes(out, 2)


@pytest.mark.parametrize("after_s", [0.1, 0.4, 0.7, 1.0])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_end_at_any_moment_of_the_start_leaves_nothing(
    number: signal.Signals, after_s: float, household: Household, tmp_path: Path
) -> None:
    process = start("measure", "synth", "--out", tmp_path / "study", fresh=True)
    time.sleep(after_s)
    os.killpg(process.pid, number)
    answer = finish(process, tmp_path / "study")
    if number == signal.SIGKILL:
        assert answer.code == -number
    elif (
        answer.code == -number
    ):  # the interpreter itself had not started yet: on a busy host it takes seconds
        assert ", in main" not in answer.err, answer.err
    else:
        answer.assert_one_clear_error(130, "interrupted")
    assert answer.study.runs() == []


def test_two_at_a_time_in_one_study_are_kept_apart(
    household: Household, tmp_path: Path, begun: Begun
) -> None:
    out = tmp_path / "study"
    process = begun("synth", out)
    process.send_signal(signal.SIGSTOP)  # however long the second takes, the first is at work
    second = hindmost("measure", "--resume", out, study=out)
    second.assert_one_clear_error(1, "another hindmost is at work")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    assert finish(process, out).code == 130, "the first was not disturbed"


# --- the disk is full -----------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A tmpfs of a size that can be changed."""
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


def test_a_full_disk_keeps_finished_runs_and_the_study_goes_on(
    household: Household, tmp_path: Path, small_disk: Callable[[str], Path]
) -> None:
    out = small_disk("200k") / "study"
    answer = measure("synth", out, "--rate", "5k", "--runs", "3", "--duration", "0.3s")
    answer.assert_one_clear_error(1, "No space left on device", "finished run(s) are kept", "df -h")
    kept = len(answer.study.runs())
    assert 1 <= kept < 3
    assert answer.study.half_done() == []
    small_disk("50m")
    assert_resumes(out, 3)


def test_a_disk_without_any_room_is_told_before_anything_starts(
    household: Household, small_disk: Callable[[str], Path]
) -> None:
    answer = measure("synth", small_disk("4k") / "study")
    answer.assert_one_clear_error(1, "No space left on device", "df -h", "choose another --out")
    assert "--resume" not in answer.err


def test_a_folder_that_cannot_be_made_is_told(household: Household, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = measure("synth", tmp_path / "file" / "study")
    answer.assert_one_clear_error(1, "cannot be written", "choose another --out")
