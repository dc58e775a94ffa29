"""Stages traced in real servers: who answered what is checked with ids in the payload."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from bpf_numbers import open_numbers
from measuring import wait_for

from hindmost import _engine
from hindmost.cli import main
from hindmost.targets.ports import pick_free_port
from hindmost.trace import find_server
from hindmost.trace.begin_probe import Function, begin_notes, describe_begin
from hindmost.trace.groups import by_thread_and_connection

FAULT = _engine.trace_fault()
pytestmark = pytest.mark.skipif(
    FAULT is not None, reason=f"requests cannot be traced here: {'' if FAULT is None else FAULT[1]}"
)
SEQUENCE = 1 << 32
REQUEST_END = re.compile(
    rb"(?:get |id=|\$\r\n)(id-\d+x*)(?: HTTP/1.1\r\nHost: a\r\nUser-Agent: some words\r\n)?\r\n$"
    rb"|set put-\d+x* 0 0 \d+\r\n[^\n]*\r\n$"
)
"""The end of a request: the id that its answer has to hold, or the storing of something."""


@dataclass
class Conversation:
    """A connection's two streams, as its client saw them."""

    sock: socket.socket
    sent: bytearray = field(default_factory=bytearray)
    got: bytearray = field(default_factory=bytearray)

    @property
    def port(self) -> int:
        return self.sock.getsockname()[1]

    def ask(self, requests: bytes, until: int, cuts: Sequence[int] = ()) -> None:
        """Send, in pieces if cuts say so, and read until so many bytes came in all."""
        at = 0
        for cut in [*cuts, len(requests)]:
            if cut > at:
                self.sock.sendall(requests[at:cut])
                time.sleep(0.002 if cut < len(requests) else 0)
                at = cut
        self.sent += requests
        while len(self.got) < until:
            more = self.sock.recv(1 << 16)
            assert more, "the server closed"
            self.got += more


Connect = Callable[[int], Conversation]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Opens a connection to a port; all are closed at the end."""
    with contextlib.ExitStack() as opened:

        def one(port: int) -> Conversation:
            sock = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return Conversation(sock)

        yield one


@contextlib.contextmanager
def serving(command: list[str], port: int) -> Iterator[int]:
    """A server, until it can be connected to; its process id."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 20
            while True:
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield process.pid
        finally:
            process.terminate()


@contextlib.contextmanager
def memcached() -> Iterator[int]:
    if shutil.which("memcached") is None:
        pytest.skip("memcached is not installed here")
    port = pick_free_port("127.0.0.1")
    with serving(["memcached", "-l", "127.0.0.1", "-p", str(port), "-t", "2", "-u", "nobody"], port):
        yield port


@dataclass
class Seen:
    """What a trace gave: its document, and the columns of its records."""

    traced: dict
    columns: dict[str, np.ndarray]

    def of(self, conversation: Conversation) -> dict[str, np.ndarray]:
        """Its records, in the order of the requests."""
        own = self.columns["client_port"] == conversation.port
        order = np.argsort(self.columns["network_ns"][own], kind="stable")
        return {name: column[own][order] for name, column in self.columns.items()}


COLUMNS = ["network_ns", "readable_ns", "read_ns", "started_ns", "responded_ns", "left_ns"]
COLUMNS += ["client_port", "batch", "request_end", "response_end", "reader", "sender"]


@contextlib.contextmanager
def tracing(port: int, framing: object, path: Path, **options: object) -> Iterator[list[Seen]]:
    """A trace with all records; what it saw is in the list afterwards."""
    found: list[Seen] = []
    running = _engine.Trace(
        port, json.dumps(framing), block_ns=100_000_000, every=1, records=path / "records.parquet", **options
    )
    try:
        yield found
    finally:
        traced = json.loads(running.end())
        columns = _engine.read_columns(str(path / "records.parquet"), COLUMNS)
        arrays = {n: np.frombuffer(c, dtype=np.int64) for n, c in zip(COLUMNS, columns, strict=True)}
        found.append(Seen(traced, arrays))


def places(stream: bytearray, ends: np.ndarray) -> np.ndarray:
    """Sequence numbers as places in the stream; the last one is its end."""
    return len(stream) - (int(ends[-1]) - ends) % SEQUENCE


def check_pairs(seen: Seen, conversations: list[Conversation]) -> int:
    """Each record has the last byte of a request, a send with the answer to just it, and stamps in order; how many.

    An answer has the id of its request in it, or says that it was stored.
    """
    pairs = 0
    for conversation in conversations:
        rows = seen.of(conversation)
        stamps = [rows[name] for name in COLUMNS[:6]]
        for early, late in pairwise(stamps):
            assert (early <= late).all(), np.flatnonzero(early > late)
        asked = places(conversation.sent, rows["request_end"])
        answered = places(conversation.got, rows["response_end"])
        # Answers of one send have its end; it begins where the send before it ended.
        sends = np.concatenate([[0], np.unique(answered)])
        begins = sends[np.searchsorted(sends, answered) - 1]
        used: dict[int, int] = {}
        for end, begin, until in zip(asked, begins, answered, strict=True):
            name = REQUEST_END.search(bytes(conversation.sent[max(0, end - 400) : end]))
            assert name is not None, bytes(conversation.sent[max(0, end - 80) : end])
            answer = bytes(conversation.got[used.get(until, begin) : until])
            expected = name[1] or b"STORED\r\n"
            assert expected in answer, (name[1], answer)
            # The next one of the same send is behind it.
            used[until] = used.get(until, int(begin)) + answer.index(expected) + len(expected)
        pairs += len(asked)
    return pairs


def check_account(seen: Seen) -> None:
    """Every request that was read is done, or stands under a cause, or is still open."""
    counts = seen.traced["counts"]
    causes = ("no_arrival", "ring_full", "ambiguous", "closed")
    assert counts["seen"] >= counts["done"] + sum(counts[cause] for cause in causes)
    assert counts["done"] == sum(kind["n"] for block in seen.traced["blocks"] for kind in block["kinds"])
    assert counts["done"] == seen.traced["records"] + counts["records_lost"]


Request = Callable[[str], bytes]


class Ids:
    """Ids that nobody had before."""

    def __init__(self) -> None:
        self._next = 0
        self._lock = threading.Lock()

    def take(self, count: int) -> list[str]:
        with self._lock:
            self._next += count
            # Of different lengths, so that a shifted pair would not go unseen.
            return [f"id-{n}" + "x" * (n % 7) for n in range(self._next - count, self._next)]


def converse(
    conversation: Conversation, ids: Ids, depths: list[int], request, response: int, seed: int
) -> None:
    """Batches of requests, cut at random places; at the end a lone one, which closes the account."""
    generator = random.Random(seed)
    for names in [*map(ids.take, depths), ["id-7"]]:
        stream = b"".join(request(name) for name in names)
        cuts = sorted(generator.sample(range(1, len(stream)), k=generator.choice([0, 0, 0, 1, 2])))
        stored = len(re.findall(rb"set put[^\n]*\n", stream))
        answers = sum(len(name) + response for name in names) + stored * len("STORED\r\n")
        conversation.ask(stream, len(conversation.got) + answers, cuts)


def together(
    conversations: list[Conversation], ids: Ids, depths: list[int], request: Request, response: int
) -> None:
    threads = [
        threading.Thread(target=converse, args=(one, ids, depths, request, response, seed))
        for seed, one in enumerate(conversations)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def memcached_get(name: str) -> bytes:
    """A get; now and then behind a set that gets no answer, whose value looks like a command."""
    quiet = b"set other 0 0 13 noreply\r\nget it-fake\r\n\r\n" if name.endswith("xx") else b""
    return quiet + f"get {name}\r\n".encode()


def memcached_mixed(name: str) -> bytes:
    """A get beside sets, whose answers memcached keeps back for a while."""
    put = f"set put-{name[3:]} 0 0 {len(name)}\r\n{name}\r\n".encode()
    before = put if int(name[3:].rstrip("x")) % 5 in (0, 3) else b""
    after = put * 2 if int(name[3:].rstrip("x")) % 11 == 4 else b""
    return before + memcached_get(name) + after


def puts(names: list[str]) -> int:
    """How many sets with an answer are beside the gets of these names."""
    return sum(memcached_mixed(name).count(b"set put") for name in names)


DEPTHS = [1, 1, 1, 16, 1, 5, 60, 1, 2, 1, 1, 40, 3] * 4
TOTAL = sum(DEPTHS)


def store_all(client: Conversation, count: int) -> None:
    """Values for all ids that will be asked for."""
    for name in Ids().take(count):
        client.sock.sendall(f"set {name} 0 0 2\r\nhi\r\n".encode())
        assert client.sock.recv(100) == b"STORED\r\n"


GOT = len("VALUE  0 2\r\nhi\r\nEND\r\n")


@pytest.mark.parametrize("handover", [True, False], ids=["handover", "none"])
def test_memcached_requests_are_paired_with_their_own_responses_and_none_is_lost(tmp_path, connect, handover):
    with memcached() as port:
        store_all(connect(port), 6 * TOTAL)
        early = [connect(port) for _ in range(3)]
        for one in early:  # whose streams are not known from their beginning
            one.sock.sendall(b"get nothing\r\n")
            assert one.sock.recv(100) == b"END\r\n"
        with tracing(port, "memcached", tmp_path, handover=handover) as found:
            late = [connect(port) for _ in range(3)]
            together([*early, *late], Ids(), DEPTHS, memcached_get, GOT)
        (seen,) = found
        check_account(seen)
        assert seen.traced["handover"] is handover
        counts = seen.traced["counts"]
        assert counts["connections"] == 6
        assert counts["before"] == 0, "nothing waited unread"
        assert counts["seen"] == 6 * (TOTAL + 1)
        assert check_pairs(seen, [*early, *late]) == counts["done"]
        assert counts["done"] >= 0.9995 * counts["seen"], str(counts)
        assert counts["silent"] > 0
        same = seen.columns["responded_ns"] == seen.columns["left_ns"]
        assert same.all() == (not handover)
        threads, connections = by_thread_and_connection(tmp_path / "records.parquet", str)
        assert {one["name"] for one in connections} == {f"from port {one.port}" for one in [*early, *late]}
        for groups in (threads, connections):
            assert sum(one["requests"] for one in groups) == counts["done"]


def stopped(pid: int) -> bool:
    """Whether all threads of a process are (proc(5), state T)."""
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    return all(one.read_text().rpartition(")")[2].split()[0] == "T" for one in threads)


def test_a_connection_on_which_something_waited_unread_is_followed_from_its_next_read_on(tmp_path, connect):
    """Where a request began is not known of bytes that came before: they are none of the figures."""
    with memcached() as port:
        pid = find_server(f"memcached://127.0.0.1:{port}").pid
        assert pid is not None
        client = connect(port)
        client.ask(b"get nothing\r\n", 5)
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: stopped(pid), "no thread of it reads any more")
        client.sock.sendall(b"get not")
        time.sleep(0.05)
        with tracing(port, "memcached", tmp_path) as found:
            client.sock.sendall(b"hing\r\n")
            time.sleep(0.05)
            os.kill(pid, signal.SIGCONT)
            client.ask(b"", 10)
            for _ in range(20):
                client.ask(b"get nothing\r\n", len(client.got) + 5)
        counts = found[0].traced["counts"]
        assert (counts["before"], counts["seen"], counts["done"]) == (1, 20, 20)
        assert counts["unframed"] == 0


def test_where_memcached_keeps_answers_back_no_pair_is_wrong_and_what_is_not_sure_is_counted(
    tmp_path, connect
):
    with memcached() as port:
        store_all(connect(port), 4 * TOTAL)
        with tracing(port, "memcached", tmp_path) as found:
            ours = [connect(port) for _ in range(4)]
            together(ours, Ids(), DEPTHS, memcached_mixed, GOT)
        (seen,) = found
        check_account(seen)
        counts = seen.traced["counts"]
        assert counts["seen"] == 4 * (TOTAL + 1) + puts(Ids().take(4 * TOTAL))
        assert check_pairs(seen, ours) == counts["done"] > 0
        assert counts["done"] + counts["ambiguous"] == counts["seen"]


NGINX = """
daemon off; worker_processes 2; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; keepalive_requests 1000000;
  server {{ listen 127.0.0.1:{port}; location / {{ add_header X-Id $arg_id; return 204; }} }}
}}
"""


def test_nginx_requests_are_paired_with_their_own_responses_and_none_is_lost(tmp_path, connect):
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed here")
    port = pick_free_port("127.0.0.1")
    config = tmp_path / "nginx.conf"
    config.write_text(NGINX.format(folder=tmp_path, port=port))
    tmp_path.chmod(0o755)
    with serving(["nginx", "-c", str(config)], port):
        probe = connect(port)
        probe.sock.sendall(b"GET /?id=id-0 HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = len(probe.sock.recv(1000)) - len("id-0")
        with tracing(port, "http", tmp_path) as found:
            ours = [connect(port) for _ in range(4)]
            request = "GET /?id={} HTTP/1.1\r\nHost: a\r\nUser-Agent: some words\r\n\r\n"
            together(ours, Ids(), DEPTHS, lambda name: request.format(name).encode(), answer)
        (seen,) = found
        check_account(seen)
        counts = seen.traced["counts"]
        assert counts["seen"] == 4 * (TOTAL + 1)
        assert check_pairs(seen, ours) == counts["done"]
        assert counts["done"] >= 0.9995 * counts["seen"], str(counts)


def redis_slow(tmp_path, connect, function):
    """What a trace by this function saw of batches of three, of which the second takes 4 ms."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed here")
    port = pick_free_port("127.0.0.1")
    command = [
        program,
        "--port",
        str(port),
        "--save",
        "",
        "--bind",
        "127.0.0.1",
        "--enable-debug-command",
        "yes",
    ]
    slow = b"*3\r\n$5\r\nDEBUG\r\n$5\r\nSLEEP\r\n$5\r\n0.004\r\n"
    echo = b"*2\r\n$4\r\nECHO\r\n$4\r\nid-0\r\n"
    with serving(command, port):
        client, other = connect(port), connect(port)
        with tracing(port, "redis", tmp_path, begun=(program, function)) as found:
            for _ in range(30):
                other.sock.sendall(echo * 2)  # read between two batches of the first
                client.ask(echo + slow + echo, len(client.got) + 25)
                other.ask(b"", len(other.got) + 20)
            client.ask(echo, len(client.got) + 10)
    (seen,) = found
    check_account(seen)
    return seen, seen.of(client)


def test_a_function_of_the_server_shows_when_each_request_of_a_batch_begins(tmp_path, connect):
    seen, rows = redis_slow(tmp_path, connect, "processCommand")
    counts = seen.traced["counts"]
    assert counts["not_begun"] == counts["astray"] == 0, counts
    assert 151 - 3 <= counts["done"] <= counts["seen"] == 151, "the last batch may be open"
    assert seen.columns["batch"].max() == 3, "one send answers all of it"
    batches = rows["started_ns"][rows["batch"] == 3].reshape(-1, 3)
    assert len(batches) >= 29
    first, second = np.diff(batches, axis=1).T
    assert (first > 0).all(), "by rule all of them would begin when they are read"
    assert (second >= 4e6).all(), "the third begins when the slow one is over"
    assert (rows["started_ns"] >= rows["read_ns"]).all()
    assert (rows["started_ns"] <= rows["responded_ns"]).all()
    # A function that begins no request shows itself: these answer with bulks, which addReply does not make; and each
    # of a request's words is an object.
    for function, count in (("addReply", "not_begun"), ("createStringObject", "astray")):
        seen, _ = redis_slow(tmp_path, connect, function)
        counts = seen.traced["counts"]
        (said,) = begin_notes(describe_begin(Function(Path("/usr/bin/redis-server"), function), counts))
        assert said.code == "wrong-begin-function"
        assert counts[count] > counts["done"] / 2, (counts["not_begun"], counts["astray"], counts["done"])


def test_without_a_protocol_all_that_is_read_until_a_send_is_one_request_and_with_another_there_is_none(
    tmp_path, connect
):
    log = tmp_path / "latency.log"
    with memcached() as port:
        client = connect(port)
        with tracing(port, "exchange", tmp_path, log=log) as found:
            for _ in range(200):
                client.ask(b"get id-1\r\nget id-2\r\n", len(client.got) + 10, [13])
        with tracing(port, "http", tmp_path) as other:
            for _ in range(20):
                client.ask(b"get id-1\r\n", len(client.got) + 5)
    (seen,) = found
    check_account(seen)
    assert 200 <= seen.traced["counts"]["done"] <= 400
    left, us = np.loadtxt(log).T
    assert (left == seen.columns["left_ns"]).all()
    assert us == pytest.approx((seen.columns["left_ns"] - seen.columns["network_ns"]) / 1e3)
    counts = other[0].traced["counts"]
    assert counts["done"] == 0
    assert counts["unframed"] >= 1


def test_in_windows_no_request_is_lost_or_cut_and_the_kernel_is_left_alone_in_between(tmp_path, connect):
    """Some requests are slow: each that came in a window is followed to its end, and none that came outside."""
    with memcached() as port:
        stop = threading.Event()

        def ask(client: Conversation) -> None:
            while not stop.is_set():
                client.ask(b"get nothing\r\n", len(client.got) + 5)

        def attached() -> bool:
            return bool(open_numbers(os.getpid(), "link_id"))

        ours = [connect(port) for _ in range(2)]
        for one in ours:
            one.ask(b"get nothing\r\n", 5)
        threads = [threading.Thread(target=ask, args=(one,)) for one in ours]
        with tracing(port, "memcached", tmp_path, one_window_in=4) as found:
            for thread in threads:
                thread.start()
            time.sleep(1.6)
            try:  # on a busy host some looks may all fall into windows, or between them
                wait_for(attached, "a window")
                wait_for(lambda: not attached(), "a time between windows")
            finally:
                stop.set()
            for thread in threads:
                thread.join()
    (seen,) = found
    traced, counts = seen.traced, seen.traced["counts"]
    assert 2 <= len(traced["blocks"]) <= 1 + traced["lasted_ns"] / 4e8
    assert traced["followed_ns"] == sum(one["to_ns"] - one["from_ns"] for one in traced["blocks"])
    assert traced["followed_ns"] < 0.5 * traced["lasted_ns"]
    # The very first request of each window is known, though its connection is older.
    assert (counts["before"], counts["connections"]) == (0, 2)
    assert counts["seen"] == counts["done"] > 50
    began = seen.columns["network_ns"] - traced["began_ns"]
    inside = [(one["from_ns"] <= began) & (began < one["to_ns"]) for one in traced["blocks"]]
    assert np.any(inside, axis=0).all()
    # The kernel's worker that switches stamping on waits for a processor, as everybody does.
    assert counts["stamp_missing"] <= counts["done"] / 2, str(counts)
    check_account(seen)


HOG = """
import ctypes, os, time
ctypes.CDLL(None).prctl(15, b"hm-hog", 0, 0, 0)
os.sched_setaffinity(0, {%d})
end = time.monotonic() + 100
while time.monotonic() < end:
    burst = time.monotonic() + 0.003
    while time.monotonic() < burst:
        pass
    time.sleep(0.007)
"""


def run_delays(pid: int) -> dict[int, int]:
    """How long each thread waited for a processor so far, as the kernel counts it, in ns."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return {int(task.name): int((task / "schedstat").read_text().split()[1]) for task in tasks}


def test_a_process_on_the_servers_processor_is_named_and_what_threads_waited_is_what_the_kernel_counts(
    tmp_path, connect
):
    with memcached() as port:
        pid = find_server(f"memcached://127.0.0.1:{port}").pid
        assert pid is not None
        cpu = min(os.sched_getaffinity(0))
        for task in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), {cpu})
        client = connect(port)
        before = run_delays(pid)
        with subprocess.Popen([sys.executable, "-c", HOG % cpu]) as hog:
            try:
                wait_for(lambda: Path(f"/proc/{hog.pid}/comm").read_text() == "hm-hog\n", "the hog begins")
                with tracing(port, "memcached", tmp_path, who=True) as found:
                    end = time.monotonic() + 1.5
                    while time.monotonic() < end:
                        client.ask(b"get nothing\r\n", len(client.got) + 5)
                after = run_delays(pid)
            finally:
                hog.kill()
    (seen,) = found
    who = seen.traced["who"]
    assert sum(block["n"] for block in who["blocks"]) == seen.traced["counts"]["done"] > 0
    hogs = [one for one in who["culprits"] if one["name"] == "hm-hog"]
    assert hogs, [one["name"] for one in who["culprits"]]
    assert {(one["relation"], one["process"]) for one in hogs} == {("other", hog.pid)}
    # Every nanosecond of a stage is charged once: parts add up to the stages as the records have them.
    parts = sum(part[0] for block in who["blocks"] for part in block["parts"])
    stages = (seen.columns["left_ns"] - seen.columns["readable_ns"]).sum() / 1e3
    assert parts == pytest.approx(stages, rel=1e-6)
    (reader,) = np.unique(seen.columns["reader"])
    (thread,) = [one for one in who["threads"] if one["thread"] == reader]
    counted = after[int(reader)] - before[int(reader)]
    # What passes before a woken thread is on a queue is told apart: with it, it would be 1.8 times what the kernel counts.
    # The kernel's sum leaves out the way from a wake-up to the switch where the thread comes at once (rq_clock_skip_update
    # in wakeup_preempt: the queue's clock stands still), 8 us on this kind of machine where the processor was idle.
    assert 0.9 * counted - 3e7 <= thread["queued_ns"] <= 1.35 * counted + 3e7
    assert thread["woken_ns"] > 0


def test_a_measured_run_is_traced_from_its_order_to_its_last_reply(tmp_path):
    if shutil.which("memcached") is None:
        pytest.skip("memcached is not installed here")
    words = [
        "measure",
        "memcached",
        "--rate",
        "1k",
        "--duration",
        "600ms",
        "--warmup",
        "200ms",
        "--runs",
        "2",
    ]
    main(
        [
            *words,
            "--clients",
            "1",
            "--trace",
            "--sentinel",
            "off",
            "--quiet",
            "--out",
            str(tmp_path / "study"),
        ]
    )
    folders = sorted((tmp_path / "study" / "runs").glob("[0-9]*"))
    assert folders
    for folder in folders:
        (client,) = folder.glob("client-*.json")
        counts = json.loads(client.read_text())["counts"]
        said = json.loads((folder / "run.json").read_text())["trace"]
        document = json.loads((folder / said["file"]).read_text())
        assert document["schema"] == "hindmost.trace/2"
        # Calibration comes before, and the first read of a connection tells where it stands.
        assert said["requests"] == document["all"]["requests"] >= counts["completed"] - 32
        assert said["matched"] >= 0.9
        assert document["who"]["requests"] == said["requests"]
        assert document["service"]["mean_us"] > 0
