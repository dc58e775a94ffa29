"""Scripts as servers: nothing is left behind after any start or end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from controlling import PATIENCE_S, assert_gone, controller, wait_until
from messages import raises

from hindmost.core.targets import ManagedServer, TargetSpec
from hindmost.core.targets import ports as ports_module
from hindmost.errors import TargetError

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


def test_kill_9_of_hindmost_ends_a_stubborn_server_with_a_forked_child() -> None:
    with controller(python_target(STUBBORN), "leak") as (child, told):
        assert len(told["pids"]) == 4, "guard, server, child, and a process in its own session"
        child.kill()
        assert_gone(told["pids"])


KILLED_AT_EVERY_STEP = """
import os, signal, sys
from hindmost.core.targets import ManagedServer, TargetSpec
from hindmost.core.targets import launch, probe, warden
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

while last != 0:  # until a start completes without a kill
    at += 1
    child = os.fork()
    if child == 0:
        count.seen, count.killed_at = 0, at
        sys.addaudithook(count)
        with ManagedServer(spec):
            os._exit(0)  # the same kill, one step later
    last = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(child, "ready" if last == 0 else "", flush=True)
"""


def leftovers_of(controllers: Iterable[int], folder: Path) -> list[str]:
    """Return files in `folder`, and processes of `controllers` or in `folder`."""
    pids, found = set(map(str, controllers)), []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            arguments = entry.read_bytes().decode(errors="replace").split("\0")
            guards = any(argument.endswith("guard.py") for argument in arguments) and pids & set(arguments)
            if guards or any(str(folder) in argument for argument in arguments):
                found.append(" ".join(arguments))
    return found + [str(path) for path in folder.iterdir()]


def test_kill_9_before_any_step_of_a_start_leaves_nothing(tmp_path: Path) -> None:
    """Kill Hindmost before each file, process and connection."""
    text = python_target(STUBBORN).model_dump_json(exclude_none=True, exclude_defaults=True)
    process = subprocess.run(
        [sys.executable, "-c", KILLED_AT_EVERY_STEP, text],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=True,
        timeout=120,
    )
    steps = [line.split(" ", 1) for line in process.stdout.splitlines()]
    kinds = {step for _, step in steps if step}
    assert {"subprocess.Popen", "socket.connect", "open", "ready"} <= kinds, process.stdout
    controllers = [int(pid) for pid, _ in steps]
    wait_until(
        lambda: not leftovers_of(controllers, tmp_path),
        lambda: (leftovers_of(controllers, tmp_path), process.stdout),
    )


def test_ctrl_c_reaches_hindmost_only_and_leaves_nothing() -> None:
    with controller(python_target(STUBBORN)) as (child, told):
        os.killpg(child.pid, signal.SIGINT)  # as the terminal does
        child.wait(PATIENCE_S)
        assert_gone(told["pids"])
    assert child.returncode == -signal.SIGINT


def test_an_exception_ends_a_stubborn_server_with_its_descendants() -> None:
    server = ManagedServer(python_target(STUBBORN))
    pids: list[int] = []

    def fail() -> None:
        with server:
            wait_until(lambda: len(server.pids()) == 3, "the server did not fork")
            pids.extend(server.pids())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    report = server.exit_report()
    assert report is not None
    assert (report.forced, report.status, report.left) == (True, -signal.SIGKILL, ())
    assert_gone(pids)


def test_helpers_of_an_ended_server_are_ended() -> None:
    script = STUBBORN.replace("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "")
    # They get a signal but no wait, which would exceed the time limit of the test.
    with ManagedServer(python_target(script, stop={"timeout_s": 3600.0})) as server:
        wait_until(lambda: len(server.pids()) == 3, "the server did not fork")
        pids = server.pids()
    assert_gone(pids)


def test_a_server_that_cannot_start_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))

    crashing = python_target(
        "print('no config, no service'); raise SystemExit(3)", ready={"timeout_s": 3600.0}
    )
    server = ManagedServer(crashing)  # its end is noticed before the ready timeout
    with raises(TargetError, "server-failed", status=3) as caught:
        server.start()
    assert "no config, no service" in caught.value.message, "the end of its log"
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
    """Start another process that listens on a port without answering."""
    script = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); "
    script += "print(s.getsockname()[1], flush=True); time.sleep(99)"
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)


def test_a_lost_race_for_a_port_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    interferer = other_listener()
    assert interferer.stdout is not None
    try:
        taken, pick = int(interferer.stdout.readline()), ports_module.pick_free_port
        picks = iter([taken, pick("127.0.0.1")])
        monkeypatch.setattr(ports_module, "pick_free_port", lambda _: next(picks))
        with ManagedServer(python_target(STUBBORN)) as server:
            assert server.port != taken
            assert server.alive()
        monkeypatch.setattr(ports_module, "pick_free_port", lambda _: taken)
        with raises(TargetError, "address-in-use"):
            ManagedServer(python_target(STUBBORN)).start()
    finally:
        interferer.kill()
        interferer.wait()
        interferer.stdout.close()


def test_a_guard_ends_if_hindmost_dies_before_its_first_request() -> None:
    from hindmost.core.targets import guard

    command = [sys.executable, "-I", "-S", guard.__file__, str(os.getpid())]
    assert subprocess.run(command, stdin=subprocess.DEVNULL, timeout=PATIENCE_S, check=False).returncode == 0
