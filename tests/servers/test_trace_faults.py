"""What a trace cannot do, and what is left when it is ended: said with what still can be had."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from bpf_numbers import held_by, programs
from certificates import issue
from measuring import hindmost, need, start

from hindmost import _engine
from hindmost.errors import Inconclusive
from hindmost.exits import Exit
from hindmost.targets.ports import pick_free_port
from hindmost.trace import find_server
from hindmost.trace.tracing import Running, TraceRequest

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
    """Its port."""
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


def traced_while_asked(folder: Path, port: int, protocol: str, times: int) -> dict:
    """The document of a trace, during which a client asked so many times over one TLS connection."""
    running = Running(TraceRequest(find_server(f"http://127.0.0.1:{port}", protocol=protocol), 10.0))
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    with (
        socket.create_connection(("127.0.0.1", port), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as client,
    ):
        running.start()
        for _ in range(times):
            client.sendall(ASK)
            got = b""
            while not got.endswith(b"hello"):
                got += client.recv(1000)
        return running.end()


def test_over_tls_exchanges_are_followed_and_requests_are_refused_with_what_to_do(tmp_path):
    with nginx_with_tls(tmp_path) as port:
        document = traced_while_asked(tmp_path, port, "exchange", 40)
        assert document["all"]["requests"] == document["counts"]["seen"] == 40
        assert document["matched"] == 1
        assert any("requests are not told apart" in note for note in document["notes"])
        with pytest.raises(Inconclusive) as told:
            traced_while_asked(tmp_path, port, "http", 5)
    assert "the bytes were no http request" in str(told.value)
    assert "--protocol exchange" in str(told.value.hint)


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


def test_a_server_that_forks_is_followed_and_what_ended_is_in_its_processor_time():
    with subprocess.Popen([sys.executable, "-c", FORKING], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            target = find_server(f"memcached://127.0.0.1:{port}")
            running = Running(TraceRequest(target, 10.0, who=True))
            running.start()
            for _ in range(4):
                with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
                    for _ in range(100):
                        client.sendall(b"get a\r\n")
                        assert client.recv(100) == b"END\r\n"
            time.sleep(0.1)  # for the last to be waited for
            document = running.end()
        finally:
            server.kill()
    assert document["counts"]["done"] == 400
    # Without what ended it would be the parent's, which only accepts.
    assert document["service"]["mean_us"] >= 450, document["service"]
    assert any("ended meanwhile" in note for note in document["notes"]), document["notes"]
    readers = {thread["thread"] for thread in document["who"]["threads"]}
    assert len(readers) >= 4, "one process a connection"


def test_without_type_information_of_the_kernel_it_is_said_what_is_missing():
    hidden = 'mount --bind /dev/null /sys/kernel/btf/vmlinux && exec "$@"'
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        before = ("unshare", "--mount", "sh", "-c", hidden, "sh")
        answer = hindmost("trace", f"memcached://127.0.0.1:{port}", before=before)
    assert answer.code == Exit.UNFIT, answer.err
    assert "CONFIG_DEBUG_INFO_BTF=y" in answer.err


def test_a_trace_that_is_killed_leaves_nothing_in_the_kernel():
    need("memcached")
    port = pick_free_port("127.0.0.1")
    command = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-u", "nobody"]
    with subprocess.Popen(command) as server:
        try:
            tracing = start("trace", f"memcached://127.0.0.1:{port}", "--duration", "60s", "--who")
            wait(lambda: len(held_by(tracing.pid, "link_id")) > 10)
            held = held_by(tracing.pid, "prog_id")
            assert held & programs() == held
            os.kill(tracing.pid, signal.SIGKILL)
            tracing.communicate()
            wait(lambda: not held & programs())
        finally:
            server.terminate()


def wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.05)
