"""Puts one of six things wrong with a memcached, in a network of its own. Knows nothing of Hindmost.

    unshare --net --mount python3 inject.py CLASS [LOAD]       CLASS, or sealed:NUMBER

On standard output: `ready ADDRESS`; on a line `go` it does what CLASS says and answers `done`; at the end of
input everything ends. With sealed:NUMBER the class is drawn, and said only at the end (`was CLASS`).
"""

import contextlib
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

CLASSES = ("interference", "cores", "quota", "receive", "network", "load")
PORT = 21900
KEYS, BYTES = 40, 4096
"""A request of the load: so many keys of so many bytes, about 100 us of the server."""


def load(rate: float, seed: int) -> None:
    """Ask for ever, at moments drawn beforehand: a client of the server, not part of what is tried."""
    asked = b"get " + b" ".join(b"k%d" % i for i in range(KEYS)) + b"\r\n"
    draw, place, buffer = random.Random(seed), ("127.0.0.1", PORT), bytearray(1 << 20)
    link = socket.create_connection(place)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read() -> None:
        while link.recv_into(buffer):
            pass

    threading.Thread(target=read, daemon=True).start()
    due = time.monotonic()
    while True:
        due += draw.expovariate(rate)
        time.sleep(max(0.0, due - time.monotonic()))
        link.sendall(asked)


def telemetry() -> None:
    """Send small datagrams as fast as it goes to a socket that nobody reads."""
    Path("/proc/self/comm").write_text("telemetry")
    with socket.socket(type=socket.SOCK_DGRAM) as unread, socket.socket(type=socket.SOCK_DGRAM) as link:
        unread.bind(("127.0.0.1", 0))
        link.connect(unread.getsockname())
        while True:
            link.send(b"x" * 32)


def fill() -> None:
    """Put the keys there."""
    with socket.create_connection(("127.0.0.1", PORT)) as link:
        for i in range(KEYS):
            link.sendall(b"set k%d 0 0 %d\r\n" % (i, BYTES) + b"x" * BYTES + b"\r\n")
            assert link.recv(100) == b"STORED\r\n"


class Injector:
    """A server with its load, and what is done to it."""

    def __init__(self, rate: float) -> None:
        self.children: list[subprocess.Popen[bytes]] = []
        self.rate = rate
        self.group: Path | None = None
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        self.last = max(os.sched_getaffinity(0))
        words = ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", f"{PORT}", "-U", "0", "-t", "2"]
        self.server = self.start(words)
        for _ in range(100):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", PORT)).close()
                break
            time.sleep(0.05)
        fill()
        self.client(rate)

    def start(self, words: list[str]) -> "subprocess.Popen[bytes]":
        """Start a child, to be ended with us."""
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0)
        self.children.append(child)
        return child

    def client(self, rate: float) -> None:
        """Start one more client."""
        self.start([sys.executable, __file__, "client", f"{rate}", f"{len(self.children)}"])

    def inject(self, what: str) -> None:
        """Do it, so that it stays until the end or until somebody mends it."""
        if what == "interference":
            # A busy loop a processor, of one program, and more urgent than the server: nowhere to flee to.
            loops = "(while :; do :; done) & while :; do :; done"
            copy = Path(f"/tmp/batch-{os.getpid()}")
            copy.write_bytes(Path("/bin/dash").read_bytes())
            copy.chmod(0o755)
            self.start(["nice", "-n", "-4", str(copy), "-c", loops])
            time.sleep(0.2)
            copy.unlink()
        elif what == "cores":
            subprocess.run(["taskset", "-apc", "0", f"{self.server.pid}"], check=True, capture_output=True)
            for child in self.children[1:]:
                subprocess.run(["taskset", "-apc", "0", f"{child.pid}"], check=True, capture_output=True)
        elif what == "quota":
            self.group = Path(f"/sys/fs/cgroup/cpu/sealed-{os.getpid()}")
            self.group.mkdir()
            # Of each 100 ms a little more than it needs: enough on average, and too little in every burst.
            (self.group / "cpu.cfs_quota_us").write_text(f"{max(2000, int(115_000 * self.needed()))}")
            for task in Path(f"/proc/{self.server.pid}/task").iterdir():
                (self.group / "tasks").write_text(task.name)
        elif what == "receive":
            subprocess.run(
                ["taskset", "-apc", f"{self.last}", f"{self.server.pid}"], check=True, capture_output=True
            )
            # Many small packets, whose processing then falls to the server's processor.
            self.start(["taskset", "-c", "0", sys.executable, __file__, "telemetry"])
            Path("/sys/class/net/lo/queues/rx-0/rps_cpus").write_text(f"{1 << self.last:x}")
        elif what == "network":
            wanted = max(1.0, 1.05 * self.rate * KEYS * BYTES * 8 / 1e6)
            words = f"tc qdisc replace dev lo root tbf rate {wanted:.0f}mbit burst 128kb limit 8mb"
            subprocess.run(words.split(), check=True)
        elif what == "load":
            self.client(1.5 * self.rate)

    def needed(self) -> float:
        """Processors that the server uses."""

        def used() -> int:
            fields = Path(f"/proc/{self.server.pid}/stat").read_text().rpartition(")")[2].split()
            return int(fields[11]) + int(fields[12])

        before = used()
        time.sleep(2.0)
        return (used() - before) / os.sysconf("SC_CLK_TCK") / 2.0

    def end(self) -> None:
        """End all that was started."""
        for child in self.children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        if self.group is not None:
            with contextlib.suppress(OSError):
                self.group.rmdir()


def main(what: str, rate: float) -> None:
    """Get ready, wait for the word, do it, wait for the end."""
    if what.startswith("sealed"):
        what = (
            secrets.choice(CLASSES)
            if what == "sealed"
            else CLASSES[int(what.partition(":")[2]) % len(CLASSES)]
        )
    injector = Injector(rate)
    try:
        print(f"ready memcached://127.0.0.1:{PORT}", flush=True)
        for line in sys.stdin:
            if line.strip() == "go":
                injector.inject(what)
                print("done", flush=True)
    finally:
        injector.end()
        print(f"was {what}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "client":
        load(float(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1] == "telemetry":
        telemetry()
    else:
        main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 800.0)
