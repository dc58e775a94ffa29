"""Limits of a trace are reported with an alternative, and an ended trace leaves nothing behind."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from bpf_numbers import open_numbers, programs
from certificates import issue
from measuring import hindmost, need, start, wait_for
from messages import assert_refused, raises
from plain_memcached import plain_memcached

from hindmost import _engine
from hindmost.core.exits import Exit
from hindmost.core.targets.ports import pick_free_port
from hindmost.core.tracing import find_server
from hindmost.core.tracing.document import Trace
from hindmost.core.tracing.tracing import RunningTrace, TraceRequest, trace
from hindmost.errors import Inconclusive

FAULT = _engine.trace_fault()
pytestmark = pytest.mark.skipif(
    FAULT is not None, reason=f"requests cannot be traced here: {'' if FAULT is None else FAULT[1]}"
)
NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port} ssl; ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;
    location / {{ return 200 'hello'; }}
  }}
}}
"""
ASK = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def nginx_with_tls(folder: Path) -> Iterator[int]:
    """Run nginx; yields its port."""
    need("nginx")
    port = pick_free_port("127.0.0.1")
    folder.chmod(0o755)
    issue(folder, "server")
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, port=port))
    with subprocess.Popen(["nginx", "-c", str(config)], stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 20
            while True:
                with suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield port
        finally:
            process.terminate()


def trace_requests(folder: Path, port: int, protocol: str, times: int) -> Trace:
    """Trace while a client sends this many requests over one TLS connection; returns the document."""
    running = RunningTrace(TraceRequest(find_server(f"http://127.0.0.1:{port}", protocol=protocol), 10.0))
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    with (
        socket.create_connection(("127.0.0.1", port), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as client,
    ):
        running.start()
        for _ in range(times):
            client.sendall(ASK)
            reply = b""
            while not reply.endswith(b"hello"):
                reply += client.recv(1000)
        return running.end()


def test_over_tls_exchanges_are_traced_and_requests_are_refused_with_a_hint(tmp_path):
    with nginx_with_tls(tmp_path) as port:
        document = trace_requests(tmp_path, port, "exchange", 40)
        assert document.all.requests == document.counts.seen == 40
        assert document.matched == 1
        assert "undivided-requests" in [note.code for note in document.notes]
        with raises(Inconclusive, "no-traced-requests") as error:
            trace_requests(tmp_path, port, "http", 5)
    assert (error.value.fields["seen"], error.value.fields["protocol"]) == (0, "http")
    assert "--protocol exchange" in str(error.value.hint)


@contextmanager
def load_on(url: str, batch: int, pause_s: float) -> Iterator[None]:
    """Send a batch of requests, wait for the replies and pause, again and again."""
    stop = threading.Event()

    def ask() -> None:
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as client:
            while not stop.wait(pause_s):
                client.sendall(b"get nothing\r\n" * batch)
                client.recv(5 * batch, socket.MSG_WAITALL)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(("batch", "pause_s"), [(50, 0.0), (1, 0.01)], ids=["busy", "quiet"])
def test_a_trace_uses_windows_only_if_there_are_enough_requests(batch, pause_s):
    need("memcached")
    with plain_memcached() as (url, _), load_on(url, batch, pause_s):
        document = trace(TraceRequest(find_server(url), 4.0, one_window_in=None))
    assert (document.windows.one_in > 1) == (batch > 1)
    assert (document.followed_s < 0.7 * document.lasted_s) == (batch > 1)
    assert document.all.requests == document.counts.done > 50


FORKING = """
import socketserver, time
class Asked(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            end = time.thread_time() + 0.0005
            while time.thread_time() < end:
                pass
            self.wfile.write(b"END\\r\\n")
class Forking(socketserver.ForkingTCPServer):
    max_children = 1  # waits for the last one before it forks another
with Forking(("127.0.0.1", 0), Asked) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever(poll_interval=0.01)
"""


def test_a_forking_server_is_traced_and_ended_processes_count_in_its_cpu_time():
    with subprocess.Popen([sys.executable, "-c", FORKING], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            target = find_server(f"memcached://127.0.0.1:{port}")
            running = RunningTrace(TraceRequest(target, 10.0, who=True))
            running.start()
            for _ in range(4):
                with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
                    for _ in range(100):
                        client.sendall(b"get a\r\n")
                        assert client.recv(100) == b"END\r\n"
            time.sleep(0.1)  # until the parent has waited for the last child
            document = running.end()
        finally:
            server.kill()
    assert document.counts.done == 400
    # Without ended processes this would be the parent's time, which only accepts.
    assert document.service.mean_us >= 450, document.service
    assert "ended-threads" in [note.code for note in document.notes], document.notes
    readers = {thread.thread for thread in document.who.threads}
    assert len(readers) >= 4, "one process per connection"


def test_missing_type_information_of_the_kernel_is_reported():
    hidden = 'mount --bind /dev/null /sys/kernel/btf/vmlinux && exec "$@"'
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        before = ("unshare", "--mount", "sh", "-c", hidden, "sh")
        answer = hindmost("trace", f"memcached://127.0.0.1:{port}", "--json", before=before)
    answer.assert_error(Exit.UNFIT, "trace-btf")


@pytest.mark.parametrize("times", [3, pytest.param(1000, marks=pytest.mark.nightly)])
def test_an_ended_or_killed_trace_leaves_nothing_in_the_kernel(times):
    need("memcached")
    with plain_memcached() as (url, _):
        tracing = start("trace", url, "--duration", "60s", "--who")
        wait_for(lambda: len(open_numbers(tracing.pid, "link_id")) > 10, "the trace is attached")
        numbers = open_numbers(tracing.pid, "prog_id")
        assert numbers & programs() == numbers
        os.kill(tracing.pid, signal.SIGKILL)
        tracing.communicate()
        for _ in range(times):
            ours = _engine.Trace(9, json.dumps("exchange"), block_ns=100_000_000)
            numbers |= open_numbers(os.getpid(), "prog_id")
            ours.end()
        assert not open_numbers(os.getpid(), "prog_id")
        wait_for(lambda: not numbers & programs(), "the kernel frees them a little later")


def test_a_missing_function_is_reported(capsys):
    need("memcached")
    with plain_memcached() as (url, _):
        command = ["trace", url, "--duration", "1s", "--probe-e4"]
        for text, exit_code, code, fields in (
            ("drive_machines", 5, "trace-function", {}),
            ("/nowhere:drive_machine", 2, "no-such-file", {}),
            ("/etc/hostname:drive_machine", 5, "trace-function", {}),
            (":", 2, "bad-value", {}),
        ):
            assert_refused([*command, text], capsys, exit_code, code, **fields)
        assert_refused([*command, "drive_machine", "--connections", "4"], capsys, 2, "conflicting-options")
