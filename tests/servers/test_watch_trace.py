"""The process that delayed requests most in a trace comes first in `watch show` of the same server's ring."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from measuring import finish, need, start
from messages import assert_refused

from hindmost import _engine
from hindmost.cli import main
from hindmost.commands.watch.application import find_application
from hindmost.commands.watch.daemon import WatchRequest, watch
from hindmost.commands.watch.latency import latency_from
from hindmost.commands.watch.ring import read_ring
from hindmost.core.targets.ports import pick_free_port

FAULT = _engine.trace_fault()
pytestmark = pytest.mark.skipif(
    FAULT is not None, reason=f"requests cannot be traced here: {'' if FAULT is None else FAULT[1]}"
)
HOG = """
import ctypes, os, time
ctypes.CDLL(None).prctl(15, b"hm-hog", 0, 0, 0)
os.sched_setaffinity(0, {%d})
while True:
    burst = time.monotonic() + 0.003
    while time.monotonic() < burst:
        pass
    time.sleep(0.007)
"""


def ask(port: int, stop: threading.Event) -> None:
    """Send one request after the other until `stop` is set."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        while not stop.is_set():
            client.sendall(b"get nothing\r\n")
            assert client.recv(100) == b"END\r\n"


def test_the_process_that_delayed_traced_requests_comes_first_next_to_the_ring(tmp_path, capsys):
    need("memcached")
    port = pick_free_port("127.0.0.1")
    url, cpu = f"memcached://127.0.0.1:{port}", min(os.sched_getaffinity(0))
    command = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-t", "1", "-u", "nobody"]
    stop, ring, trace = threading.Event(), tmp_path / "a.ring", tmp_path / "trace.json"
    with subprocess.Popen(command) as server, subprocess.Popen([sys.executable, "-c", HOG % cpu]) as hog:
        try:
            deadline = time.monotonic() + 20
            while not is_listening(port):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            for task in Path(f"/proc/{server.pid}/task").iterdir():
                os.sched_setaffinity(int(task.name), {cpu})
            client = threading.Thread(target=ask, args=(port, stop))
            client.start()
            # Long enough even if a busy host leaves the hog only a twentieth of the CPU.
            tracing = start("trace", url, "--duration", "3s", "--who", "--json")
            source = latency_from(find_application(url), probe="50/s", address=url)
            watch(
                WatchRequest(find_application(url), ring, 1 << 20, period_s=0.1, latency=source, samples=12)
            )
            answer = finish(tracing, tmp_path)
            trace.write_text(answer.out)
        finally:
            stop.set()
            hog.kill()
            client.join(30)
            server.terminate()
    assert read_ring(ring).histograms
    assert main(["watch", "show", str(ring), "--trace", str(trace), "--json"]) == 0
    culprits = json.loads(capsys.readouterr().out)["culprits"]
    charged = {
        part["who"]["name"]: part["share_of_variance"]["value"] or 0.0
        for part in sorted(
            answer.result["who"]["culprits"], key=lambda part: part["share_of_variance"]["value"] or 0.0
        )
        if part["who"] is not None and part["share_of_variance"] is not None
    }
    assert "hm-hog" in charged, charged
    shares = [culprit["share"] for culprit in culprits]
    assert shares == sorted(shares, reverse=True)
    # On a busy host, other processes may have delayed requests more.
    assert shares[0] == max(charged.values())
    assert "hm-hog" in {culprit["name"] for culprit in culprits} or charged["hm-hog"] <= shares[-1], culprits
    assert main(["watch", "show", str(ring), "--trace", str(trace)]) == 0
    text = capsys.readouterr().out
    assert all(culprit["name"] in text for culprit in culprits)
    # Without --who no process is charged; a ring is not a trace.
    trace.write_text(json.dumps({**json.loads(answer.out), "who": None}))
    assert main(["watch", "show", str(ring), "--trace", str(trace), "--json"]) == 0
    assert not json.loads(capsys.readouterr().out)["culprits"]
    assert_refused(["watch", "show", str(ring), "--trace", str(ring)], capsys, 2, "bad-file")


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
