"""Anomalies with a known cause: which cause `hindmost diagnose` names, and what users notice.

    python benches/anomalies.py [--seconds 1080] [--only REGEX] [--out FOLDER] [options of diagnose]

Needs root, memcached, redis, nginx and haproxy, and about 40 s per anomaly. Each anomaly has its own
processes and network, which end with the bench; clients may be in a second network, or behind a proxy. A
named cause is right or wrong. If the server's own code, or a backend that it depends on, became slow,
"unknown factor" is right. `unknown` means that no cause was named. The users are a client that the policy
does not allow the diagnosis to touch: the table shows their p99, and the p99 of the worst second, before the
anomaly, during it, and during the diagnosis. An anomaly counts only if the probe's p95 rose by half. An
anomaly that is already in --out is not repeated.
"""

import argparse
import contextlib
import itertools
import json
import math
import os
import random
import re
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from blind_diagnosis import EXAMPLES
from blind_diagnosis import NAMES as LEADERS

sys.path.insert(0, str(EXAMPLES))
from case import HURTS, probe_server
from inject import BYTES, KEYS, PORT, Injector, end_with_parent, run_in_namespaces

FRONT, BACKEND = PORT + 1, PORT + 2
HERE, THERE = "10.77.0.1", "10.77.0.2"
"""Addresses of the two ends of the link between the servers' network and the second one."""
SLOWER = 2.2
"""Factor of the work per request when a server's own code becomes slow."""
USERS = 100.0
"""Rate in requests/s."""
CLIENT_SHARE = 0.06
"""Fraction of a CPU that a client uses in addition to sending, so that it is a suspect."""
LOOPS = 5000
"""Loops of a Lua script that redis runs for each request, about 0.2 ms."""
NICENESS = -5
"""Niceness of all participants, which reduces the effect of other programs on a shared host."""
LONGEST_S = 60.0
"""Time limit of one diagnosis, in seconds."""
ANSWER = struct.Struct("dd")
HTTP = b"GET /f HTTP/1.1\r\nHost: here\r\n\r\n"
SCRIPT = b"local s = 0 for i = 1, tonumber(redis.call('get', 'loops')) do s = s + i end return 'x'"
TAG = os.environ.setdefault("ANOMALY_TAG", f"{os.getpid()}")
"""Part of all names, so that two benches on a host do not touch each other's processes."""
OURS = f"an{TAG}"
KINDS = {
    **LEADERS,
    **dict.fromkeys(
        ("interference", "grouped", "burst", "intermittent", "flood", "disk"), ("neighbour", f"{OURS}-hog")
    ),
    "disk limit": "disk limit of sealed",
    **dict.fromkeys(("load", "code", "backend", "sleep", "lock", "bystander"), None),
}
"""Prefix of the right leader, or two parts of its name; None: no named cause is right. Without a replica,
load and slower code cannot be distinguished."""
GROUPS, DISK_GROUPS = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup/blkio")
DISK_BYTES_PER_S = 300_000
"""Limit of the server's writes, far below what it needs."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A server, an optional proxy, and the position of its clients."""

    server: str
    proxy: str = ""
    away: bool = False
    """Whether clients are in another network namespace."""
    short: bool = False
    """Whether the server opens a connection to its backend for each request."""
    brief: bool = False
    """Whether the clients open a connection for each request."""

    def __str__(self) -> str:
        words = [self.server + (" (short connections)" if self.short else "")]
        words += [f"behind {self.proxy}"] * bool(self.proxy) + ["clients elsewhere"] * self.away
        words += ["a connection a request"] * self.brief
        return ", ".join(words)


def anomalies() -> Iterator[tuple[Scene, str]]:
    """Yield all anomalies in a fixed random order."""
    every = [
        (Scene(server, proxy, away), kind)
        for kind, servers in (
            ("code", ("slow", "redis-script")),
            ("sleep", ("slow",)),
            ("lock", ("slow",)),
            ("bystander", ("slow", "redis-script")),
            ("interference", ("memcached", "redis", "nginx", "slow")),
            ("grouped", ("redis", "slow")),
            ("burst", ("slow", "nginx", "redis")),
            ("intermittent", ("slow", "memcached")),
            ("flood", ("memcached", "redis", "nginx")),
            ("disk", ("disk",)),
            ("disk limit", ("disk",)),
            ("quota", ("memcached", "slow", "nginx+backend")),
            ("cores", ("memcached",)),
            ("network", ("redis", "nginx")),
            ("receive", ("memcached",)),
            ("load", ("slow", "redis-script")),
        )
        for server in servers
        for proxy, away in (("", True), ("haproxy", True), ("", False))
    ]
    every += [
        (Scene("slow", brief=True, away=away), kind) for kind in ("code", "quota") for away in (True, False)
    ]
    every += [
        (Scene("nginx+backend", away=away, short=short), "backend")
        for short in (False, True)
        for away in (False, True)
    ]
    random.Random(39).shuffle(every)
    yield from every


def send_briefly(rate: float, name: str, place: tuple[str, int], request: bytes, out: Path | None) -> None:
    """Open a connection for each request, at times drawn beforehand, a few at a time."""
    Path("/proc/self/comm").write_text(name)
    sink = None if out is None else os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def ask_once(scheduled: float) -> None:
        with contextlib.suppress(OSError), socket.create_connection(place, timeout=10.0) as link:
            link.sendall(request)
            link.recv(1 << 16)
            if sink is not None:
                os.write(sink, ANSWER.pack(scheduled, time.monotonic() - scheduled))

    draw, scheduled = random.Random(name), time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        while True:
            scheduled += draw.expovariate(rate)
            time.sleep(max(0.0, scheduled - time.monotonic()))
            pool.submit(ask_once, scheduled)


def spin(of_each_s: float, every_s: float) -> None:
    """Use a CPU for a part of each period; a whole part keeps two CPUs busy."""
    Path("/proc/self/comm").write_text(f"{OURS}-hog" if of_each_s >= 0.2 else f"{OURS}-batch")
    if of_each_s == every_s:
        os.fork()
    while True:
        end = time.monotonic() + of_each_s
        while time.monotonic() < end:
            pass
        time.sleep(every_s - of_each_s)


def fill_disk(place: Path) -> None:
    """Write and sync without end."""
    Path("/proc/self/comm").write_text(f"{OURS}-hog")
    with place.open("wb", buffering=0) as file:
        while True:
            file.seek(0)
            for _ in range(16):
                file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())


def flood() -> None:
    """Send datagrams without end to a port at which nothing listens."""
    Path("/proc/self/comm").write_text(f"{OURS}-hog")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        while True:
            with contextlib.suppress(OSError):  # the port's refusals
                sender.sendto(bytes(1000), ("127.0.0.1", 9))


def send(rate: float, name: str, place: tuple[str, int], request: bytes, out: Path | None) -> None:
    """Send requests at times drawn beforehand, without end; record when each was scheduled and how long it
    took."""
    Path("/proc/self/comm").write_text(name)
    link = socket.create_connection(place)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.sendall(request)
    link.settimeout(0.3)
    size = 0
    try:
        while got := len(link.recv(1 << 20)):
            size += got
    except TimeoutError:
        link.settimeout(None)
    scheduled_times: list[float] = []
    work_s = 0.0 if out else CLIENT_SHARE / rate
    sink = None if out is None else os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def read() -> None:
        got, buffer = 0, bytearray(1 << 20)
        for number in range(1 << 62):
            while got < size:
                if not (more := link.recv_into(buffer)):
                    os._exit(1)
                got += more
            got -= size
            if sink is not None:
                os.write(
                    sink, ANSWER.pack(scheduled_times[number], time.monotonic() - scheduled_times[number])
                )

    draw = random.Random(name)
    threading.Thread(target=read, daemon=True).start()
    scheduled = time.monotonic()
    while True:
        scheduled += draw.expovariate(rate)
        time.sleep(max(0.0, scheduled - time.monotonic()))
        scheduled_times.append(scheduled)
        link.sendall(request)
        end = time.thread_time() + work_s
        while time.thread_time() < end:
            pass


def serve(port: int, work_us: float, kept: Path | None) -> None:
    """Answer each HTTP request after some work, and after writing it to disk if there is a file `kept`.

    SIGUSR1 increases the work, SIGUSR2 makes each request sleep, SIGHUP makes one in 40 block all others.
    """
    Path("/proc/self/comm").write_text(f"{OURS}-server")
    work_s, sleep_s, hold_s, number = [work_us / 1e6], 0.0, 0.0, 0
    file = None if kept is None else kept.open("wb", buffering=0)

    def sleep(*_: object) -> None:
        nonlocal sleep_s
        sleep_s = 0.001

    def hold(*_: object) -> None:
        nonlocal hold_s
        hold_s = 0.04

    signal.signal(signal.SIGUSR1, lambda *_: work_s.insert(0, SLOWER * work_s[0]))
    signal.signal(signal.SIGUSR2, sleep)
    signal.signal(signal.SIGHUP, hold)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 100
    selector = selectors.DefaultSelector()
    listening = socket.create_server(("0.0.0.0", port), backlog=512)
    selector.register(listening, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listening:
                link, _ = listening.accept()
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(link, selectors.EVENT_READ)
                continue
            link = key.fileobj
            try:
                asked = link.recv(1 << 16)
                for _ in range(asked.count(b"\r\n\r\n")):
                    end = time.thread_time() + work_s[0]
                    while time.thread_time() < end:
                        pass
                    number += 1
                    time.sleep(hold_s if hold_s and number % 40 == 0 else sleep_s)
                    if file is not None and number % 4 == 0:
                        file.write(answer)
                        os.fdatasync(file.fileno())
                    link.sendall(answer)
            except ConnectionError:
                asked = b""
            if not asked:
                selector.unregister(link)
                link.close()


def redis(*words: bytes) -> bytes:
    """Return a command in redis's protocol."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def ask(request: bytes, port: int = PORT) -> None:
    """Send one request and wait for its answer."""
    with socket.create_connection(("127.0.0.1", port)) as link:
        link.sendall(request)
        link.recv(100)


class Stage(Injector):
    """A running scene; `Injector` acts on its server."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self.children: list[subprocess.Popen[bytes]] = []
        self.scene, self.folder, self.grouped, self.group = scene, folder, False, None
        self.last = max(os.sched_getaffinity(0))
        self.rate = 250.0 if scene.server in ("slow", "disk", "nginx+backend", "redis-script") else 800.0
        self.inside: list[str] = []
        folder.chmod(0o755)
        if scene.away:
            self.second_network()
        for inside in [[], self.inside][
            : 1 + scene.away
        ]:  # one connection per request uses them up in a minute
            words = [*inside, "sysctl", "-qw", "net.ipv4.ip_local_port_range=22000 65535"]
            subprocess.run(words, check=True)
        self.server = {
            "memcached": self.memcached,
            "redis": self.redis,
            "redis-script": self.redis,
            "slow": lambda: self.slow(PORT),
            "disk": lambda: self.slow(PORT, self.folder / "kept"),
            "nginx": self.nginx,
            "nginx+backend": self.nginx,
        }[scene.server]()
        if scene.proxy:
            self.proxy()
        time.sleep(0.3)
        self.client(self.rate)
        self.client(USERS, users=True)
        time.sleep(1.0)

    @property
    def address(self) -> str:
        """Return the address for the diagnosis."""
        scheme = {"memcached": "memcached", "redis": "redis", "redis-script": "redis"}
        return f"{scheme.get(self.scene.server, 'http')}://127.0.0.1:{PORT}"

    def link_program(self, program: str) -> str:
        """Return the program under a name that no other process of this host has."""
        link = self.folder / f"{OURS}-{program}"
        if not link.is_symlink():
            found = subprocess.run(["which", program], capture_output=True, text=True, check=True)
            link.symlink_to(found.stdout.strip())
        return str(link)

    def start_server(self, words: list[str], port: int) -> "subprocess.Popen[bytes]":
        """Start a server and wait until it listens."""
        child = self.start(words)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        return child

    def memcached(self) -> "subprocess.Popen[bytes]":
        words = [
            self.link_program("memcached"),
            "-u",
            "nobody",
            "-l",
            "0.0.0.0",
            "-p",
            f"{PORT}",
            "-U",
            "0",
            "-t",
            "2",
        ]
        child = self.start_server(words, PORT)
        for key in range(KEYS):
            ask(b"set k%d 0 0 %d\r\n%s\r\n" % (key, BYTES, b"x" * BYTES))
        self.request = b"get " + b" ".join(b"k%d" % key for key in range(KEYS)) + b"\r\n"
        return child

    def redis(self) -> "subprocess.Popen[bytes]":
        words = [
            self.link_program("redis-server"),
            "--port",
            f"{PORT}",
            "--save",
            "",
            "--protected-mode",
            "no",
        ]
        child = self.start_server([*words, "--dir", str(self.folder)], PORT)
        for key in range(KEYS):
            ask(redis(b"SET", b"k%d" % key, b"x" * BYTES))
        self.request = redis(b"MGET", *[b"k%d" % key for key in range(KEYS)])
        if self.scene.server == "redis-script":
            ask(redis(b"SET", b"loops", b"%d" % (LOOPS * 8)))
            self.request = redis(b"EVAL", SCRIPT, b"0")
        return child

    def slow(self, port: int, kept: Path | None = None) -> "subprocess.Popen[bytes]":
        self.request = HTTP
        return self.start_server(
            [sys.executable, __file__, "server", f"{port}", "500", str(kept or "")], port
        )

    def nginx(self) -> "subprocess.Popen[bytes]":
        """Start nginx alone, or in front of a backend that it depends on; one process."""
        self.request = HTTP
        (self.folder / "f").write_bytes(b"x" * KEYS * BYTES)
        place = f"root {self.folder};"
        if self.scene.server == "nginx+backend":
            self.backend = self.slow(BACKEND)
            place = f"proxy_pass http://127.0.0.1:{BACKEND};" if self.scene.short else self.passing(BACKEND)
        return self.start_server(self.nginx_words("server", PORT, place), PORT)

    def passing(self, port: int) -> str:
        """Return the directives that pass requests on over persistent connections."""
        return f'proxy_pass http://to{port}; proxy_http_version 1.1; proxy_set_header Connection "";'

    def nginx_words(self, name: str, port: int, place: str) -> list[str]:
        """Write a configuration; return the command."""
        config = self.folder / f"{name}.conf"
        to = "".join(
            f"upstream to{one} {{ server 127.0.0.1:{one}; keepalive 16; }} " for one in (PORT, BACKEND)
        )
        log = self.folder / f"{name}.log"
        kept = f"pid {log.with_suffix('.pid')}; error_log {log}; daemon off; master_process off;"
        server = f"server {{ listen 0.0.0.0:{port}; location / {{ {place} }} }}"
        http = f"access_log off; keepalive_requests 9999999; {to} {server}"
        config.write_text(f"{kept} events {{ }} http {{ {http} }}")
        return [self.link_program("nginx"), "-c", str(config)]

    def proxy(self) -> None:
        """Start the proxy in front of the server; it passes bytes unchanged."""
        if self.scene.proxy == "haproxy":
            config = self.folder / "haproxy.cfg"
            config.write_text(
                "global\n nbthread 1\ndefaults\n mode tcp\n timeout connect 5s\n timeout client 1h\n"
                f" timeout server 1h\nlisten front\n bind 0.0.0.0:{FRONT}\n server one 127.0.0.1:{PORT}\n"
            )
            self.start_server([self.link_program("haproxy"), "-f", str(config)], FRONT)
        else:
            self.start_server(self.nginx_words("proxy", FRONT, self.passing(PORT)), FRONT)

    def second_network(self) -> None:
        """Create a network for the clients, with a link to ours; both end with the process that holds the
        network."""
        holder = self.start(["unshare", "--net", "sleep", "infinity"])
        time.sleep(0.3)
        self.inside = ["nsenter", "-t", f"{holder.pid}", "-n"]
        for words in (
            f"ip link add va type veth peer name vb netns {holder.pid}",
            f"ip addr add {HERE}/24 dev va",
            "ip link set va up",
            f"{' '.join(self.inside)} ip addr add {THERE}/24 dev vb",
            f"{' '.join(self.inside)} ip link set vb up",
        ):
            subprocess.run(words.split(), check=True)

    def client(self, rate: float, *, users: bool = False) -> None:
        """Start one more client."""
        host = HERE if self.scene.away else "127.0.0.1"
        name = "users" if users else f"{OURS}-load{len(self.children)}"
        port = FRONT if self.scene.proxy else PORT
        out = str(self.folder / "answers") if users else ""
        words = [
            sys.executable,
            __file__,
            "brief" if self.scene.brief else "client",
            f"{rate}",
            name,
            host,
            f"{port}",
            self.request.hex(),
            out,
        ]
        self.start([*self.inside, *words])

    def inject(self, what: str) -> None:
        """Inject an anomaly that persists."""
        if what == "code" and self.scene.server == "redis-script":
            ask(redis(b"SET", b"loops", b"%d" % (LOOPS * 8 * SLOWER)))
        elif what == "bystander":
            self.inject("code")
            self.start([sys.executable, __file__, "spin", "0.012", "0.04"])
        elif what in ("code", "backend"):
            (self.server if what == "code" else self.backend).send_signal(signal.SIGUSR1)
        elif what in ("sleep", "lock"):
            self.server.send_signal(signal.SIGUSR2 if what == "sleep" else signal.SIGHUP)
        elif what in ("interference", "burst", "intermittent"):
            words = {"interference": ["1", "1"], "burst": ["0.6", "1.2"], "intermittent": ["0.6", "3"]}[what]
            for _ in range(1 if what == "interference" else 2):
                self.start(["nice", "-n", "-4", sys.executable, __file__, "spin", *words])
        elif what == "grouped":
            group = self.grouping("batch")
            (group / "cpu.shares").write_text("8192")
            words = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
            self.start([*words, sys.executable, __file__, "spin", "1", "1"])
        elif what == "flood":
            for _ in range(2):
                self.start([sys.executable, __file__, "flood"])
        elif what == "disk limit":
            device = self.folder.stat().st_dev
            group = self.grouping("sealed", DISK_GROUPS)
            limit = f"{os.major(device)}:{os.minor(device)} {DISK_BYTES_PER_S}"
            (group / "blkio.throttle.write_bps_device").write_text(limit)
            (group / "cgroup.procs").write_text(f"{self.server.pid}")
        elif what == "disk":
            for number in range(2):
                self.start([sys.executable, __file__, "fill", str(self.folder / f"filled-{number}")])
        elif what == "quota":
            # The quota per 100 ms is slightly more than the server needs: enough on average,
            # but too little in every burst.
            quota_us = max(2000, int(104_000 * self.used_cpus()))
            group = self.grouping("sealed")
            (group / "cpu.cfs_quota_us").write_text(f"{quota_us}")
            for task in Path(f"/proc/{self.server.pid}/task").iterdir():
                (group / "tasks").write_text(task.name)
        elif what == "load":
            self.client(0.8 * self.rate)
        elif what == "network":
            sizes = {"slow": 200, "redis-script": 100, "nginx+backend": 300}
            size = sizes.get(self.scene.server, KEYS * BYTES)
            wanted = max(0.1, 1.1 * self.rate * size * 8 / 1e6)
            words = f"tc qdisc replace dev lo root tbf rate {1000 * wanted:.0f}kbit burst 128kb limit 8mb"
            subprocess.run(words.split(), check=True)
        else:
            super().inject(what)

    def grouping(self, name: str, hierarchy: Path = GROUPS) -> Path:
        """Create a cgroup that ends with this process."""
        self.group = hierarchy / f"{name}-{OURS}"
        self.group.mkdir()
        return self.group

    def users(self, begin: float, end: float) -> tuple[float, float]:
        """Return the p99 of users whose requests were scheduled in a period, and the p99 of the worst second,
        in ms."""
        every = np.frombuffer((self.folder / "answers").read_bytes(), dtype=float).reshape(-1, 2)
        scheduled_times, took_ms = every[:, 0], 1e3 * every[:, 1]
        seconds = [
            (scheduled_times >= at) & (scheduled_times < min(at + 1.0, end))
            for at in np.arange(begin, end, 1.0)
        ]
        worst = max(
            (float(np.quantile(took_ms[one], 0.99)) for one in seconds if one.any()), default=math.nan
        )
        every_one = took_ms[(scheduled_times >= begin) & (scheduled_times < end)]
        self.by_second = [round(float(took_ms[one].max()), 1) if one.any() else None for one in seconds]
        return (float(np.quantile(every_one, 0.99)) if len(every_one) else math.nan, worst)


def run_anomaly(number: int, out: Path, more: list[str]) -> None:
    """Create one anomaly and diagnose it, inside a network namespace of its own."""
    scene, kind = list(anomalies())[number]
    os.setsid()
    with contextlib.suppress(OSError):  # with autogrouping, only the niceness of the session counts
        Path("/proc/self/autogroup").write_text(f"{NICENESS}")
    os.nice(NICENESS)
    with tempfile.TemporaryDirectory(prefix="anomaly-") as name:
        stage = Stage(scene, Path(name))
        try:
            row = diagnose(stage, kind, out, more)
        finally:
            stage.end()
    out.write_text(json.dumps({"scene": str(scene), "kind": kind, **row}))


def diagnose(stage: Stage, kind: str, out: Path, more: list[str]) -> dict[str, object]:
    """Run the diagnosis and return its result."""
    policy = stage.folder / "policy.toml"
    policy.write_text(f'neighbours = ["{OURS}*"]\n')
    moments = [time.monotonic()]
    normal_us, work = probe_server(stage.address)
    moments.append(time.monotonic())
    stage.inject(kind)
    time.sleep(1.0)
    now_us, _ = probe_server(stage.address)
    moments.append(time.monotonic())
    row: dict[str, object] = {"normal_us": normal_us, "now_us": now_us, "outcome": "did not hurt"}
    if now_us > HURTS * normal_us:
        words = [str(Path(sys.executable).with_name("hindmost")), "diagnose", stage.address]
        words += ["--normal", f"{normal_us:.0f}us", "--normal-work", f"{work:.4f}", "--policy", str(policy)]
        words += ["--json", *more]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=end_with_parent) as child:
            try:
                said, _ = child.communicate(timeout=LONGEST_S)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGINT)
                said, _ = child.communicate()
        moments.append(time.monotonic())
        (out.with_suffix(".document")).write_text(said)
        found = json.loads(said) if said.startswith("{") else {}
        row |= {
            "seconds": moments[3] - moments[2],
            "outcome": judge(kind, found),
            "said": found.get("why", said),
        }
        row |= {
            "ruling": found.get("ruling", "error"),
            "leader": found.get("leader"),
            "also": found.get("also", []),
        }
        row["left_out"] = found.get("not_tried", found.get("left_out"))
        time.sleep(1.5)
    row["users"] = [stage.users(begin, end) for begin, end in itertools.pairwise(moments)]
    row["longest_by_second"] = stage.by_second
    return row


def judge(kind: str, found: dict[str, object]) -> str:
    """Return right, wrong or unknown; if only the server is to blame, an unknown factor is right."""
    if found.get("ruling") != "cause":
        code = found.get("why_note", {}).get("code")
        right = KINDS[kind] is None and code in ("no-cause-shown", "load-or-code")
        return "right" if right else "unknown"
    names = [str(found["leader"]), *map(str, found.get("also", []))]
    wanted = KINDS[kind]
    parts = (wanted,) if isinstance(wanted, str) else wanted or ()
    right = parts and any(name.startswith(parts[0]) and parts[-1] in name for name in names)
    return "right" if right or (kind == "grouped" and "batch-" in names[0]) else "wrong"


def table_row(row: dict[str, object]) -> str:
    """Return a line of the table."""
    waits = " | ".join(f"{p99:.1f} / {worst:.0f}" for p99, worst in row["users"])
    leader = ", ".join(
        [str(row.get("leader") if row.get("ruling") == "cause" else "-"), *row.get("also", [])]
    )
    ruling = f"{row.get('ruling', '')}"
    return (
        f"| {row['kind']} | {row['scene']} | {ruling} | {leader} | {row['outcome']} |"
        f" {row.get('seconds', 0.0):.0f} | {waits} |"
    )


def main() -> None:
    """Create the anomalies one after another, and print a line for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path)
    asked, more = parser.parse_known_args()
    folder = asked.out or Path(tempfile.mkdtemp(prefix="anomalies-"))
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + asked.seconds
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(
        "| kind | scene | ruling | cause named | outcome | s |"
        " users' p99 / worst second, ms: before | anomaly | diagnosis |"
    )
    print("|" + " --- |" * 9)
    for number, (scene, kind) in enumerate(anomalies()):
        out = folder / f"{number}.json"
        if not re.search(asked.only, f"{kind} {scene}"):
            continue
        if not out.exists():
            if time.monotonic() > end:
                break
            # All processes end with the first process of their namespace, which ends with this
            # one.
            words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, __file__]
            try:
                with tempfile.TemporaryDirectory(prefix="anomaly-") as place:
                    Path(place).chmod(0o755)
                    subprocess.run(
                        [*words, "one", f"{number}", str(out), *more],
                        check=False,
                        env={**os.environ, "TMPDIR": place},
                        preexec_fn=end_with_parent,
                    )
            finally:
                for group in (*GROUPS.glob(f"*-{OURS}"), *DISK_GROUPS.glob(f"*-{OURS}")):
                    with contextlib.suppress(OSError):
                        group.rmdir()
        if out.exists():
            print(table_row(json.loads(out.read_text())), flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["client", rate, name, host, port, request, out]:
            send(float(rate), name, (host, int(port)), bytes.fromhex(request), Path(out) if out else None)
        case ["brief", rate, name, host, port, request, out]:
            send_briefly(
                float(rate), name, (host, int(port)), bytes.fromhex(request), Path(out) if out else None
            )
        case ["server", port, work_us, kept]:
            serve(int(port), float(work_us), Path(kept) if kept else None)
        case ["spin", of_each_s, every_s]:
            spin(float(of_each_s), float(every_s))
        case ["fill", place]:
            fill_disk(Path(place))
        case ["flood"]:
            flood()
        case ["one", *_] if "INJECT_INSIDE" not in os.environ:
            run_in_namespaces(sys.argv[1:])
        case ["one", number, out, *more]:
            run_anomaly(int(number), Path(out), more)
        case _:
            main()
