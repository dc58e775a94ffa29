"""A profile names the function that slow requests execute, of a server in which that function is known."""

import contextlib
import ctypes
import json
import shutil
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from measuring import wait_for

from hindmost import _engine
from hindmost.core.targets.ports import pick_free_port
from hindmost.core.tracing import TraceRequest, find_server
from hindmost.core.tracing.tracing import RunningTrace

FAULT = _engine.trace_fault()
pytestmark = pytest.mark.skipif(
    FAULT is not None, reason=f"requests cannot be traced here: {'' if FAULT is None else FAULT[1]}"
)
SOURCE = Path(__file__).with_name("slow_function.c")
SLOW_EVERY = 60
"""One request in this many is slow, so that all of the slowest 1 % are."""
WITHOUT_PERF_EVENTS = "from test_trace_profile import forbid_perf_events, trace_self; forbid_perf_events()"


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed here")
    program = tmp_path_factory.mktemp("server") / "hm-slow"
    subprocess.run([compiler, "-O1", "-fno-omit-frame-pointer", "-o", program, SOURCE], check=True)
    return program


@contextlib.contextmanager
def connection_to(program: Path):
    """Start the server; yield its port and a connection."""
    port = pick_free_port("127.0.0.1")
    with subprocess.Popen([program, str(port)]) as server, contextlib.ExitStack() as sockets:
        try:
            connections: list[socket.socket] = []

            def connects() -> bool:
                with contextlib.suppress(ConnectionRefusedError):
                    connections.append(socket.create_connection(("127.0.0.1", port), timeout=20))
                return bool(connections)

            wait_for(connects, "the server listens")
            client = sockets.enter_context(connections[0])
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield port, client
        finally:
            server.kill()


def ask(client: socket.socket, count: int, slow: bytes = b"slow\n") -> None:
    for number in range(count):
        client.sendall(slow if number % SLOW_EVERY == 0 else b"fast\n")
        assert client.recv(16) == b"done\n"


def profile_of(program: Path, count: int, slow: bytes = b"slow\n") -> dict:
    with connection_to(program) as (port, client):
        running = _engine.Trace(port, json.dumps("exchange"), block_ns=100_000_000, who=True)
        ask(client, count, slow)
        traced = json.loads(running.end())
    assert traced["profile_fault"] is None
    return traced


def test_the_slow_function_has_a_larger_share_of_slow_requests(program):
    traced = profile_of(program, 6000)
    profile, slowest = traced["profile"], traced["who"]["slowest"]
    assert profile["all"]["requests"] == traced["counts"]["done"]
    assert profile["slowest"]["requests"] == slowest["requests"]
    assert profile["all"]["samples"] > profile["slowest"]["samples"] > 20
    functions = {one["function"]: one for one in profile["functions"]}
    slow, fast = functions["work_slow"], functions["work_fast"]
    assert profile["functions"][0] == slow
    assert slow["module"] == fast["module"] == program.name
    assert slow["of_slowest"] > 0.8 > slow["of_slowest"] - slow["of_all"] > 0.05
    assert fast["of_slowest"] < fast["of_all"]
    assert 0.5 < slow["of_variance"] / profile["of_variance"] < 1.5
    # The samples add up to the time that the scheduler saw the threads run.
    running_us = sum(part["mean_us"] for part in slowest["parts"] if part["cause"] == "running")
    assert profile["slowest"]["time_us"] == pytest.approx(running_us, rel=0.25)
    assert any(stack["frames"][-1] == "work_slow" and stack["slowest_us"] > 0 for stack in profile["stacks"])
    assert len(profile["stacks"]) <= 200


def test_the_function_in_which_slow_requests_wait_is_named_with_its_system_call(program):
    traced = profile_of(program, 6000, b"wait\n")
    waits, slowest = traced["waits"], traced["who"]["slowest"]
    assert waits["slowest"]["requests"] == slowest["requests"]
    first = waits["functions"][0]
    assert (first["function"], first["module"], first["call"]) == ("work_wait", program.name, "nanosleep")
    assert first["of_slowest"] > 0.9
    assert first["slowest_us"] > first["all_us"] >= 3000 / SLOW_EVERY
    blocked_us = sum(part["mean_us"] for part in slowest["parts"] if part["cause"] == "blocked")
    assert first["slowest_us"] == pytest.approx(blocked_us, rel=0.1)
    frames = waits["stacks"][0]["frames"]
    assert frames.index("main") < frames.index("work_wait") < frames.index("__x64_sys_nanosleep")


def test_the_cost_of_samples_is_part_of_the_cost_of_the_trace(program):
    cost = profile_of(program, 300)["cost"]
    (sampling,) = [one for one in cost["probes"] if one["probe"] == "sampling"]
    assert sampling["ns"] >= sampling["runs"] >= 0
    assert cost["probes_ns"] == sum(one["ns"] for one in cost["probes"])


def test_windows_sample_only_their_own_requests(program):
    with connection_to(program) as (port, client):
        running = _engine.Trace(port, json.dumps("exchange"), block_ns=50_000_000, one_window_in=2, who=True)
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            ask(client, SLOW_EVERY)
        traced = json.loads(running.end())
    profile = traced["profile"]
    assert profile["all"]["requests"] == traced["counts"]["done"]
    # One CPU can have at most one sample per period of the time that was followed.
    assert 0 < profile["all"]["samples"] <= 1.5 * traced["followed_ns"] / 1e3 / profile["period_us"]


def forbid_perf_events() -> None:
    """Let perf_event_open(2) fail with EPERM in this process, as a container's seccomp filter does."""
    number, allow, refuse = 298, 0x7FFF0000, 0x00050001
    load, jump, leave = 0x20, 0x15, 0x06
    lines = [(load, 0, 0, 0), (jump, 0, 1, number), (leave, 0, 0, refuse), (leave, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS"
    assert libc.prctl(22, 2, head, 0, 0) == 0, "PR_SET_SECCOMP"


def trace_self(program: str) -> None:
    """Trace the server and print its profile and the codes of the notes."""
    with connection_to(Path(program)) as (port, client):
        running = RunningTrace(
            TraceRequest(find_server(f"http://127.0.0.1:{port}", protocol="exchange"), who=True)
        )
        running.start()
        ask(client, 300)
        document = running.end()
    codes = [note.code for note in document.notes]
    print(json.dumps([document.profile, document.who is not None, document.waits is not None, codes]))


def test_a_trace_goes_on_without_perf_events(program):
    done = subprocess.run(
        [sys.executable, "-c", f"{WITHOUT_PERF_EVENTS}; trace_self({str(program)!r})"],
        cwd=Path(__file__).parent,
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    profile, has_culprits, has_waits, codes = json.loads(done.stdout)
    assert (profile, has_culprits, has_waits) == (None, True, True)
    assert "no-profile" in codes
