"""Real servers: started, recognised, stopped; nothing is left behind, whatever happens to Hindmost."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from measuring import need

from hindmost.errors import TargetError
from hindmost.targets import (
    ManagedServer,
    TargetSpec,
    cpu_affinity,
    identify,
    load_target_file,
    local_owner,
)
from hindmost.targets import ports as ports_module
from hindmost.targets.probe import WrongProtocol
from hindmost.targets.spec import Stop

EXAMPLES = Path(__file__).parents[2] / "examples" / "targets"
VERSIONS = {
    "memcached": "1.",
    "redis": "",
    "nginx": "nginx/",
    "apache": "Apache/",
    "haproxy": "nginx/",
    "nutcracker": "1.",
    "postgresql": "PostgreSQL 1",
    "unbound": "unbound 1",
}
PATIENCE_S = 60.0


def need_processor_0() -> None:
    if 0 not in os.sched_getaffinity(0):
        pytest.skip("processor 0, which the example names, may not be used here")


def servers() -> list[Any]:
    return [pytest.param(name, marks=getattr(pytest.mark, name)) for name in VERSIONS]


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def until(condition: Callable[[], bool], what: str | Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what if isinstance(what, str) else what()
        time.sleep(0.01)


def assert_gone(pids: Iterable[int]) -> None:
    for pid in pids:
        until(partial(lambda gone: not running(gone), pid), f"process {pid} is still there")


# A server as bad as they come: ignores SIGTERM, forks a child, and one that leaves group and session.
STUBBORN = """
import os, signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
if os.fork() == 0:
    time.sleep(3600)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(3600)
    os._exit(0)
print("ready", flush=True)
time.sleep(3600)
"""


def python_target(script: str, **more: Any) -> TargetSpec:
    settings: dict[str, Any] = {
        "name": "script",
        "protocol": "memcached",
        "command": ["{python}", "{dir}/server.py", "{port}"],
        "files": {"server.py": script},
        "ready": {"kind": "tcp", "timeout_s": 10.0},
        "stop": {"timeout_s": 0.3},
        **more,
    }
    return TargetSpec.model_validate(settings)


CONTROLLER = """
import json, os, sys, time
from hindmost.targets import ManagedServer, TargetSpec
spec = TargetSpec.model_validate_json(sys.argv[1])
with ManagedServer(spec) as server:
    if "leak" in sys.argv and os.fork() == 0:
        time.sleep(60)  # keeps the control pipe open, as a forked helper of a library might
        os._exit(0)
    time.sleep(0.2)
    print(json.dumps({"pids": [server.guard_pid, *server.pids()], "folder": str(server.folder)}), flush=True)
    time.sleep(60)
"""


@contextmanager
def controller(spec: TargetSpec, *flags: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Another Hindmost, which holds a server; started in its own session, as a terminal would."""
    text = spec.model_dump_json(exclude_none=True, exclude_defaults=True)
    child = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, text, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None
    try:
        told = json.loads(child.stdout.readline())
        assert all(running(pid) for pid in told["pids"])
        yield child, told
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()


@pytest.mark.parametrize("name", servers())
def test_a_preset_starts_is_recognised_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    spec = need(name)
    cpu = min(os.sched_getaffinity(0))
    with ManagedServer(spec, cpus=[cpu], log=tmp_path / "server.log") as server:
        assert server.alive()
        assert server.exit_report() is None
        assert server.server_version.startswith(VERSIONS[name])
        assert (
            identify(server.address, spec.protocol, 5.0, path=spec.path, login=spec.login)
            == server.server_version
        )
        assert local_owner(server.address) == server.pid
        assert all(cpu_affinity(pid) == [cpu] for pid in server.pids())
        if os.geteuid() == 0:
            assert all(Path(f"/proc/{pid}").stat().st_uid != 0 for pid in server.pids())
        pids = [server.guard_pid, *server.pids()]
        folder = server.folder
        assert folder.is_dir()
        assert len(pids) >= (3 if name in ("nginx", "apache") else 2)
    assert_gone(pids)
    assert not folder.exists()
    assert (tmp_path / "server.log").exists()
    report = server.exit_report()
    assert report is not None
    assert (report.expected, report.forced) == (True, False)
    assert report.status in ((-signal.SIGKILL,) if spec.stop.signal == "KILL" else (0, -spec.stop.number))
    assert server.stop() == report, "stopping twice changes nothing"
    assert not server.alive()


@pytest.mark.parametrize("name", servers())
def test_an_exception_leaves_nothing(name: str) -> None:
    pids: list[int] = []

    def fail() -> None:
        with ManagedServer(need(name)) as server:
            pids.extend([server.guard_pid, *server.pids()])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(pids) >= 2
    assert_gone(pids)


@pytest.mark.parametrize("name", servers())
def test_kill_9_of_hindmost_leaves_nothing(name: str) -> None:
    with controller(need(name)) as (child, told):
        child.kill()
    assert_gone(told["pids"])
    until(lambda: not Path(told["folder"]).exists(), "the temporary folder is still there")


def test_kill_9_of_hindmost_ends_a_server_that_resists() -> None:
    with controller(python_target(STUBBORN)) as (child, told):
        assert len(told["pids"]) == 4, "guard, server, child, and the one that left its session"
        child.kill()
    assert_gone(told["pids"])


def test_kill_9_is_seen_although_a_forked_child_holds_the_pipe() -> None:
    with controller(python_target(STUBBORN), "leak") as (child, told):
        child.kill()
        assert_gone(told["pids"])


KILLED_AT_EVERY_STEP = """
import os, signal, sys
from hindmost.targets import ManagedServer, TargetSpec
from hindmost.targets import launch, probe, warden
spec = TargetSpec.model_validate_json(sys.argv[1])
STEPS = ("os.remove", "os.mkdir", "os.chmod", "os.chown", "os.rename", "subprocess.Popen", "socket.connect")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
at, last = 0, None

def count(event, arguments):
    if event in STEPS or event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES:
        count.seen += 1
        if count.seen == count.killed_at:
            os.write(1, f"{os.getpid()} {event}\\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)

while last != 0:  # a start that comes to its end without being killed
    at += 1
    child = os.fork()
    if child == 0:
        count.seen, count.killed_at = 0, at
        sys.addaudithook(count)
        with ManagedServer(spec):
            os._exit(0)  # as sudden, a step later
    last = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(child, "ready" if last == 0 else "", flush=True)
"""


def left_of(controllers: Iterable[int], folder: Path) -> list[str]:
    """Files in `folder`, and processes that were started for one of `controllers`, or in `folder`."""
    pids, found = set(map(str, controllers)), []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            arguments = entry.read_bytes().decode(errors="replace").split("\0")
            guards = any(one.endswith("guard.py") for one in arguments) and pids & set(arguments)
            if guards or any(str(folder) in argument for argument in arguments):
                found.append(" ".join(arguments))
    return found + [str(path) for path in folder.iterdir()]


def test_kill_9_before_any_step_of_a_start_leaves_nothing(tmp_path: Path) -> None:
    """Files written, processes started, connections made: each is a moment to die."""
    text = python_target(STUBBORN).model_dump_json(exclude_none=True, exclude_defaults=True)
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT_EVERY_STEP, text],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=True,
        timeout=120,
    )
    steps = [line.split(" ", 1) for line in done.stdout.splitlines()]
    kinds = {step for _, step in steps if step}
    assert {"subprocess.Popen", "socket.connect", "open", "ready"} <= kinds, done.stdout
    controllers = [int(pid) for pid, _ in steps]
    until(lambda: not left_of(controllers, tmp_path), lambda: (left_of(controllers, tmp_path), done.stdout))


@pytest.mark.parametrize("moment_s", [0.0, 0.02, 0.04, 0.06, 0.08, 0.12])
def test_kill_9_in_the_middle_of_a_start_leaves_nothing(moment_s: float, tmp_path: Path) -> None:
    text = python_target(STUBBORN).model_dump_json(exclude_none=True, exclude_defaults=True)
    script = CONTROLLER.replace("with ManagedServer", "print(flush=True)\nwith ManagedServer")
    child = subprocess.Popen(
        [sys.executable, "-c", script, text],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert child.stdout is not None
    with child.stdout:
        child.stdout.readline()
        time.sleep(moment_s)
        child.kill()
        child.wait()
    until(lambda: not left_of([child.pid], tmp_path), lambda: left_of([child.pid], tmp_path))


def test_ctrl_c_reaches_hindmost_only_and_leaves_nothing() -> None:
    with controller(python_target(STUBBORN)) as (child, told):
        os.killpg(child.pid, signal.SIGINT)  # what the terminal does
        child.wait(PATIENCE_S)
        assert_gone(told["pids"])
    assert child.returncode == -signal.SIGINT


@pytest.mark.nginx
def test_kill_9_of_the_guard_ends_server_and_workers() -> None:
    with ManagedServer(need("nginx")) as server:
        pids = server.pids()
        os.kill(server.guard_pid, signal.SIGKILL)
        until(lambda: not server.alive(), "the end of the guard was not seen")
    assert_gone(pids)


def test_a_server_that_resists_is_killed_with_all_its_descendants() -> None:
    with ManagedServer(python_target(STUBBORN)) as server:
        until(lambda: len(server.pids()) == 3, "the server did not fork")
        pids = server.pids()
    report = server.exit_report()
    assert report is not None
    assert (report.forced, report.status, report.left) == (True, -signal.SIGKILL, ())
    assert_gone(pids)


def test_helpers_that_outlive_the_server_are_ended_too() -> None:
    script = STUBBORN.replace("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "")
    with ManagedServer(python_target(script, stop={"timeout_s": 10.0})) as server:
        until(lambda: len(server.pids()) == 3, "the server did not fork")
        pids = server.pids()
        began = time.monotonic()
    assert time.monotonic() - began < 9, "the helpers were asked, not waited for"
    assert_gone(pids)


@pytest.mark.memcached
def test_a_frozen_server_is_stopped_without_waiting_for_the_timeout() -> None:
    spec = need("memcached").model_copy(update={"stop": Stop(timeout_s=60.0)})
    with ManagedServer(spec) as server:
        os.kill(server.pid, signal.SIGSTOP)
        began = time.monotonic()
    assert time.monotonic() - began < 30
    report = server.exit_report()
    assert report is not None
    assert not report.forced


@pytest.mark.memcached
def test_a_server_that_dies_is_noticed_with_its_status() -> None:
    with ManagedServer(need("memcached")) as server:
        os.kill(server.pid, signal.SIGKILL)
        until(lambda: not server.alive(), "its end was not seen")
        report = server.exit_report()
        assert report is not None
        assert (report.describe(), report.expected) == ("was killed by SIGKILL", False)
    assert server.exit_report() == report


def test_a_server_that_crashes_at_its_start_is_shown_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    spec = python_target("import sys; print('no config, no service'); sys.exit(3)")
    server = ManagedServer(spec)
    began = time.monotonic()
    with pytest.raises(TargetError) as caught:
        server.start()
    assert time.monotonic() - began < 8, "its end is seen at once, not at the ready timeout"
    for word in ["exited with status 3", "server.py", str(server.port), "no config, no service"]:
        assert word in caught.value.message
    assert caught.value.hint
    assert_gone([server.guard_pid])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.memcached
def test_a_real_servers_complaint_is_shown() -> None:
    spec = need("memcached")
    spec = spec.model_copy(update={"command": [*spec.command, "--no-such-option"]})
    with pytest.raises(TargetError, match="no-such-option"):
        ManagedServer(spec).start()


def test_a_server_that_never_listens_is_given_up_and_ended() -> None:
    spec = python_target("import time; print('thinking', flush=True); time.sleep(3600)")
    server = ManagedServer(spec, ready_timeout_s=0.4)
    with pytest.raises(TargetError, match=r"not ready within 0\.4 s.*nothing listens") as caught:
        server.start()
    assert "thinking" in caught.value.message
    assert_gone([server.pid, server.guard_pid])


def test_a_program_that_cannot_be_executed_is_told() -> None:
    spec = python_target("", command=["{dir}/server.py", "{port}"])
    with pytest.raises(TargetError, match="not executable"):
        ManagedServer(spec).start()
    with pytest.raises(TargetError, match="null byte"):
        ManagedServer(python_target("", command=["sleep", "a\0b", "{port}"])).start()
    spec = python_target("", cwd="no-such-folder")
    with pytest.raises(TargetError, match="no-such-folder"):
        ManagedServer(spec).start()


def test_a_log_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"gone/server\.log"):
        ManagedServer(python_target(STUBBORN), log=tmp_path / "gone" / "server.log").start()


def test_a_fixed_port_that_is_taken_is_refused_before_the_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        spec = python_target(STUBBORN, port=holder.getsockname()[1])
        server = ManagedServer(spec)
        with pytest.raises(TargetError, match=rf"already taken by .*process {os.getpid()}\)"):
            server.start()
        with pytest.raises(RuntimeError, match="not started"):
            _ = server.pid


def other_listener() -> subprocess.Popen[bytes]:
    """Somebody else, who holds a port and answers nothing."""
    script = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); "
    script += "print(s.getsockname()[1], flush=True); time.sleep(99)"
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)


def test_a_lost_race_for_a_free_port_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    thief = other_listener()
    assert thief.stdout is not None
    try:
        taken, pick = int(thief.stdout.readline()), ports_module.pick_free_port
        picks = iter([taken, pick("127.0.0.1")])
        monkeypatch.setattr(ports_module, "pick_free_port", lambda _: next(picks))
        with ManagedServer(python_target(STUBBORN)) as server:
            assert server.port != taken
            assert server.alive()
        monkeypatch.setattr(ports_module, "pick_free_port", lambda _: taken)
        with pytest.raises(TargetError, match=rf"port {taken} .* taken by .*process {thief.pid}\)"):
            ManagedServer(python_target(STUBBORN)).start()
    finally:
        thief.kill()
        thief.wait()
        thief.stdout.close()


@pytest.mark.memcached
@pytest.mark.redis
@pytest.mark.nginx
def test_each_wrong_protocol_is_told_by_what_answers() -> None:
    names = ["memcached", "redis", "nginx"]
    started = [ManagedServer(need(name)).start() for name in names]
    try:
        for server in started:
            for other in started:
                if other is server:
                    continue
                with pytest.raises(WrongProtocol) as caught:
                    identify(server.address, other.protocol, 5.0)
                assert f"{server.protocol}://{server.address}" in (caught.value.hint or "")
    finally:
        for server in started:
            server.stop()


@pytest.mark.redis
def test_a_target_that_speaks_another_protocol_than_it_says_fails_at_once() -> None:
    spec = need("redis").model_copy(update={"protocol": "memcached"})
    began = time.monotonic()
    with pytest.raises(TargetError, match="looks like redis"):
        ManagedServer(spec).start()
    assert time.monotonic() - began < 8


@pytest.mark.memcached
def test_the_guard_sleeps_while_the_server_runs() -> None:
    def wakes(pid: int) -> int:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))

    with ManagedServer(need("memcached")) as server:
        time.sleep(0.1)
        before = wakes(server.guard_pid)
        time.sleep(0.5)
        assert wakes(server.guard_pid) == before


@pytest.mark.redis
def test_a_daemon_stopped_by_a_command_is_followed_and_ended() -> None:
    need("redis")
    if shutil.which("redis-cli") is None:
        pytest.skip("redis-cli is not installed (apt-get install redis-tools)")
    with ManagedServer(load_target_file(EXAMPLES / "redis-daemon.toml")) as server:
        until(lambda: server.pid not in server.pids(), "it did not turn into a daemon")
        assert server.alive()
        assert identify(server.address, "redis", 5.0)
        pids = server.pids()
        assert local_owner(server.address) in pids
    assert_gone(pids)
    report = server.exit_report()
    assert report is not None
    assert not report.forced


@pytest.mark.memcached
def test_the_pinned_example_runs_where_it_says() -> None:
    need("memcached")
    need_processor_0()
    with ManagedServer(load_target_file(EXAMPLES / "memcached-pinned.toml")) as server:
        assert cpu_affinity(server.pid) == [0]
        assert server.command[-3:] == ("2", "-m", "1024")


def test_any_program_that_listens_can_be_a_target() -> None:
    need_processor_0()
    with ManagedServer(load_target_file(EXAMPLES / "python-http.toml")) as server:
        assert "Python" in server.server_version


def test_a_managed_server_starts_once() -> None:
    with ManagedServer(python_target(STUBBORN)) as server, pytest.raises(RuntimeError, match="starts once"):
        server.start()


def test_a_guard_whose_hindmost_died_before_asking_ends() -> None:
    from hindmost.targets import guard

    command = [sys.executable, "-I", "-S", guard.__file__, str(os.getpid())]
    assert subprocess.run(command, stdin=subprocess.DEVNULL, timeout=PATIENCE_S, check=False).returncode == 0
