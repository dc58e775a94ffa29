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
from measuring import REAL, need
from messages import raises

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
from hindmost.targets.spec import Stop

EXAMPLES = Path(__file__).parents[2] / "examples" / "targets"
USUAL = ("memcached", "nginx")
"""One process, and one with workers; the matrix of protocols starts all others."""
PATIENCE_S = 60.0


def servers() -> list[Any]:
    def marks(name: str) -> list[pytest.MarkDecorator]:
        return [getattr(pytest.mark, name), *([] if name in USUAL else [pytest.mark.nightly])]

    return [pytest.param(name, marks=marks(name)) for name in REAL]


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
        found = identify(server.address, spec.protocol, 5.0, path=spec.path, login=spec.login)
        assert found == server.server_version
        assert local_owner(server.address) == server.pid
        assert all(cpu_affinity(pid) == [cpu] for pid in server.pids())
        if os.geteuid() == 0:
            assert all(Path(f"/proc/{pid}").stat().st_uid != 0 for pid in server.pids())
        pids = [server.guard_pid, *server.pids()]
        folder = server.folder
        assert folder.is_dir()
        assert len(pids) >= (3 if name in ("nginx", "apache") else 2)
        with pytest.raises(RuntimeError):
            server.start()
    assert_gone(pids)
    assert not folder.exists()
    assert (tmp_path / "server.log").exists()
    report = server.exit_report()
    assert report is not None
    assert (report.expected, report.forced) == (True, False)
    assert report.status in ((-signal.SIGKILL,) if spec.stop.signal == "KILL" else (0, -spec.stop.number))
    assert server.stop() == report, "stopping twice changes nothing"
    assert not server.alive()


@pytest.mark.nginx
def test_kill_9_of_hindmost_leaves_nothing_of_a_real_server() -> None:
    with controller(need("nginx")) as (child, told):
        child.kill()
    assert_gone(told["pids"])
    until(lambda: not Path(told["folder"]).exists(), "the temporary folder is still there")


def test_kill_9_of_hindmost_ends_a_server_that_resists_although_a_forked_child_holds_the_pipe() -> None:
    with controller(python_target(STUBBORN), "leak") as (child, told):
        assert len(told["pids"]) == 4, "guard, server, child, and the one that left its session"
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


def test_an_exception_ends_a_server_that_resists_with_all_its_descendants() -> None:
    server = ManagedServer(python_target(STUBBORN))
    pids: list[int] = []

    def fail() -> None:
        with server:
            until(lambda: len(server.pids()) == 3, "the server did not fork")
            pids.extend(server.pids())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    report = server.exit_report()
    assert report is not None
    assert (report.forced, report.status, report.left) == (True, -signal.SIGKILL, ())
    assert_gone(pids)


def test_helpers_that_outlive_the_server_are_ended_too() -> None:
    script = STUBBORN.replace("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "")
    # They are asked to end, not waited for: the test's own time would be over first.
    with ManagedServer(python_target(script, stop={"timeout_s": 3600.0})) as server:
        until(lambda: len(server.pids()) == 3, "the server did not fork")
        pids = server.pids()
    assert_gone(pids)


@pytest.mark.memcached
def test_a_frozen_server_is_stopped_and_one_that_dies_is_noticed_with_its_status() -> None:
    spec = need("memcached").model_copy(update={"stop": Stop(timeout_s=3600.0)})
    with ManagedServer(spec) as server:
        os.kill(server.pid, signal.SIGSTOP)
    report = server.exit_report()
    assert report is not None
    assert not report.forced

    with ManagedServer(spec) as server:
        os.kill(server.pid, signal.SIGKILL)
        until(lambda: not server.alive(), "its end was not seen")
        report = server.exit_report()
        assert report is not None
        assert (report.status, report.expected) == (-signal.SIGKILL, False)
    assert server.exit_report() == report


def test_a_server_that_cannot_start_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))

    crashing = python_target(
        "print('no config, no service'); raise SystemExit(3)", ready={"timeout_s": 3600.0}
    )
    server = ManagedServer(crashing)  # its end is seen at once, not at the ready timeout
    with raises(TargetError, "server-failed", status=3) as caught:
        server.start()
    assert "no config, no service" in caught.value.message, "its last words"
    assert_gone([server.guard_pid])

    silent = python_target("import time; print('thinking', flush=True); time.sleep(3600)")
    server = ManagedServer(silent, ready_timeout_s=0.4)
    with raises(TargetError, "ready-timeout", limit=0.4) as caught:
        server.start()
    assert caught.value.fields["probe"]["code"] == "not-listening"
    assert "thinking" in caught.value.message
    assert_gone([server.pid, server.guard_pid])

    with raises(TargetError, "missing-program"):
        ManagedServer(python_target("", command=["{dir}/server.py", "{port}"])).start()
    for impossible in ({"command": ["sleep", "a\0b", "{port}"]}, {"cwd": "no-such-folder"}):
        with pytest.raises(TargetError):
            ManagedServer(python_target("", **impossible)).start()
    with pytest.raises(TargetError):
        ManagedServer(silent, log=tmp_path / "gone" / "server.log").start()

    with socket.create_server(("127.0.0.1", 0)) as holder:
        server = ManagedServer(python_target(STUBBORN, port=holder.getsockname()[1]))
        with raises(TargetError, "address-in-use"):
            server.start()
    with pytest.raises(RuntimeError):
        _ = server.pid
    assert list(folder.iterdir()) == []


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
        with raises(TargetError, "address-in-use"):
            ManagedServer(python_target(STUBBORN)).start()
    finally:
        thief.kill()
        thief.wait()
        thief.stdout.close()


@pytest.mark.redis
def test_a_target_that_speaks_another_protocol_than_it_says_fails_at_once() -> None:
    spec = need("redis").model_copy(update={"protocol": "memcached"})
    with raises(TargetError, "wrong-protocol", protocol="memcached"):
        ManagedServer(spec, ready_timeout_s=3600.0).start()


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


def test_a_guard_whose_hindmost_died_before_asking_ends() -> None:
    from hindmost.targets import guard

    command = [sys.executable, "-I", "-S", guard.__file__, str(os.getpid())]
    assert subprocess.run(command, stdin=subprocess.DEVNULL, timeout=PATIENCE_S, check=False).returncode == 0
