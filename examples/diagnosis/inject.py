"""Injects one of six faults into a memcached, in its own network. It does not depend on Hindmost.

    inject.py CLASS|sealed [--rate 800] [--strike] [--may limit,idle] [--grouped] -- COMMAND...

COMMAND runs in the same network with ADDRESS and POLICY in its environment. It writes `go` to the descriptor
GO when it knows the normal latency, and reads a line from it when the fault is active. CLASS is one of these,
or `sealed`: drawn at random and hidden until the command has ended; then the last line of output is `was
CLASS`. With --strike the policy forbids the intervention that would show the cause; with --may it allows the
named ones. With --grouped the neighbour of `interference` has its own cpu cgroup (version 1), as in a
container.
"""

import argparse
import contextlib
import ctypes
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

CLASSES = ("interference", "cores", "quota", "receive", "network", "load")
TOUCHES = ("pause", "idle", "confine", "limit", "spread", "quota", "receive", "link", "clients")
SHOWN_BY = dict(zip(CLASSES, ("pause", "spread", "quota", "receive", "link", "clients"), strict=True))
PORT = 21900
KEYS, BYTES = 40, 4096
"""Number of keys in a request of the load, and bytes per value: about 100 us of the server."""


def end_with_parent() -> None:
    """Make the kernel end this child when its parent ends, even by SIGKILL (``PR_SET_PDEATHSIG`` is 1)."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)


def load(rate: float, seed: int) -> None:
    """Send requests without end at times drawn beforehand, as a client of the server."""
    Path("/proc/self/comm").write_text(f"load-{seed}")
    asked = b"get " + b" ".join(b"k%d" % i for i in range(KEYS)) + b"\r\n"
    draw, place, buffer = random.Random(seed), ("127.0.0.1", PORT), bytearray(1 << 20)
    link = socket.create_connection(place)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read() -> None:
        while link.recv_into(buffer):
            pass

    threading.Thread(target=read, daemon=True).start()
    scheduled = time.monotonic()
    while True:
        scheduled += draw.expovariate(rate)
        time.sleep(max(0.0, scheduled - time.monotonic()))
        link.sendall(asked)


def telemetry() -> None:
    """Send small datagrams as fast as possible to a socket that no process reads."""
    Path("/proc/self/comm").write_text("telemetry")
    with socket.socket(type=socket.SOCK_DGRAM) as unread, socket.socket(type=socket.SOCK_DGRAM) as link:
        unread.bind(("127.0.0.1", 0))
        link.connect(unread.getsockname())
        while True:
            link.send(b"x" * 32)


def fill() -> None:
    """Store the keys."""
    with socket.create_connection(("127.0.0.1", PORT)) as link:
        for i in range(KEYS):
            link.sendall(b"set k%d 0 0 %d\r\n" % (i, BYTES) + b"x" * BYTES + b"\r\n")
            assert link.recv(100) == b"STORED\r\n"


class Injector:
    """A server with its load, and the faults that can be injected."""

    def __init__(self, rate: float, *, grouped: bool) -> None:
        self.children: list[subprocess.Popen[bytes]] = []
        self.rate, self.grouped = rate, grouped
        self.group: Path | None = None
        self.last = max(os.sched_getaffinity(0))
        nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--pdeathsig=TERM"]
        words = [*nobody, "memcached", "-l", "127.0.0.1", "-p", f"{PORT}", "-U", "0", "-t", "2"]
        self.server = self.start(words)
        for _ in range(100):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", PORT)).close()
                break
            time.sleep(0.05)
        fill()
        self.client(rate)

    def start(self, words: list[str]) -> "subprocess.Popen[bytes]":
        """Start a child that ends with this process."""
        ends = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        child = subprocess.Popen(words, **ends, process_group=0, preexec_fn=end_with_parent)
        self.children.append(child)
        return child

    def client(self, rate: float) -> None:
        """Start one more client."""
        self.start([sys.executable, __file__, "client", f"{rate}", f"{len(self.children)}"])

    def inject(self, what: str) -> None:
        """Inject a fault that lasts until the end or until it is corrected."""
        if what == "interference":
            # One busy loop per CPU, of one program and with more weight than the server, so
            # that no CPU is free.
            loops = "(while :; do :; done) & while :; do :; done"
            copy = Path(f"/tmp/batch-{os.getpid()}")
            copy.write_bytes(Path("/bin/dash").read_bytes())
            copy.chmod(0o755)
            words = ["nice", "-n", "-4", str(copy), "-c", loops]
            if self.grouped:
                self.group = Path(f"/sys/fs/cgroup/cpu/batch-{os.getpid()}")
                self.group.mkdir()
                # Niceness counts only within a cgroup: its shares give it more weight.
                (self.group / "cpu.shares").write_text("8192")
                words = ["sh", "-c", f'echo $$ > {self.group}/cgroup.procs && exec "$@"', "sh", *words]
            self.start(words)
            time.sleep(0.2)
            copy.unlink()
        elif what == "cores":
            subprocess.run(["taskset", "-apc", "0", f"{self.server.pid}"], check=True, capture_output=True)
            for child in self.children[1:]:
                subprocess.run(["taskset", "-apc", "0", f"{child.pid}"], check=True, capture_output=True)
        elif what == "quota":
            self.group = Path(f"/sys/fs/cgroup/cpu/sealed-{os.getpid()}")
            self.group.mkdir()
            # The quota per 100 ms is slightly more than the server needs: enough on average,
            # but too little in every burst.
            (self.group / "cpu.cfs_quota_us").write_text(f"{max(2000, int(104_000 * self.used_cpus()))}")
            for task in Path(f"/proc/{self.server.pid}/task").iterdir():
                (self.group / "tasks").write_text(task.name)
        elif what == "receive":
            subprocess.run(
                ["taskset", "-apc", f"{self.last}", f"{self.server.pid}"], check=True, capture_output=True
            )
            # Many small packets, which the server's CPU must then process.
            self.start(["taskset", "-c", "0", sys.executable, __file__, "telemetry"])
            Path("/sys/class/net/lo/queues/rx-0/rps_cpus").write_text(f"{1 << self.last:x}")
        elif what == "network":
            wanted = max(1.0, 1.05 * self.rate * KEYS * BYTES * 8 / 1e6)
            words = f"tc qdisc replace dev lo root tbf rate {wanted:.0f}mbit burst 128kb limit 8mb"
            subprocess.run(words.split(), check=True)
        elif what == "load":
            self.client(1.5 * self.rate)

    def used_cpus(self) -> float:
        """Return the number of CPUs that the server uses."""

        def used() -> int:
            fields = Path(f"/proc/{self.server.pid}/stat").read_text().rpartition(")")[2].split()
            return int(fields[11]) + int(fields[12])

        before = used()
        time.sleep(2.0)
        return (used() - before) / os.sysconf("SC_CLK_TCK") / 2.0

    def end(self) -> None:
        """End all child processes."""
        for child in self.children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        if self.group is not None:
            for _ in range(100):  # the last killed process may still be exiting
                with contextlib.suppress(OSError):
                    self.group.rmdir()
                    break
                time.sleep(0.02)


def run_in_namespaces(words: list[str]) -> None:
    """Run this program again with its own network, /sys and journal; cgroups stay shared."""
    enter = (
        "d=$(mktemp -d); mount --rbind /sys/fs/cgroup $d && mount -t sysfs sysfs /sys"
        " && mount --rbind $d /sys/fs/cgroup && ip link set lo up"
        # Kept changes of this network end with it: the host's journal must not contain them.
        ' && mkdir -p /var/lib/hindmost && mount -t tmpfs -o mode=700 journal /var/lib/hindmost && exec "$@"'
    )
    own = [sys.executable, sys.argv[0], *words]
    os.environ["INJECT_INSIDE"] = "1"
    os.execvp("unshare", ["unshare", "--net", "--mount", "sh", "-c", enter, "sh", *own])


def main(asked: argparse.Namespace, command: list[str]) -> int:
    """Get ready, run the command, inject when it says so, end everything, say what it was."""
    what = secrets.choice(CLASSES) if asked.what == "sealed" else asked.what
    may = [touch for touch in asked.may.split(",") if not (asked.strike and touch == SHOWN_BY[what])]
    ours, theirs = socket.socketpair()
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as policy:
        # Only telemetry may be touched; other programs of this machine may not.
        policy.write(f'may = {json.dumps(may)}\nneighbours = ["batch-*", "load*"]\n')
        policy.flush()
        injector = Injector(asked.rate, grouped=asked.grouped)
        try:
            known = {
                "ADDRESS": f"memcached://127.0.0.1:{PORT}",
                "POLICY": policy.name,
                "GO": str(theirs.fileno()),
            }
            child = subprocess.Popen(
                command, env={**os.environ, **known}, pass_fds=[theirs.fileno()], preexec_fn=end_with_parent
            )
            theirs.close()
            if ours.recv(100):
                injector.inject(what)
                ours.sendall(b"done\n")
            return child.wait()
        except KeyboardInterrupt:  # the command received it, too, and reports its result
            return child.wait()
        finally:
            injector.end()
            print(f"was {what}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "client":
        load(float(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1] == "telemetry":
        telemetry()
    elif "INJECT_INSIDE" not in os.environ:
        run_in_namespaces(sys.argv[1:])
    else:
        parser = argparse.ArgumentParser()
        parser.add_argument("what", choices=[*CLASSES, "sealed"])
        parser.add_argument("--rate", type=float, default=800.0)
        parser.add_argument("--strike", action="store_true")
        parser.add_argument("--may", default=",".join(TOUCHES))
        parser.add_argument("--grouped", action="store_true")
        own, _, words = " ".join(sys.argv[1:]).partition(" -- ")
        asked = parser.parse_args(own.split())
        sys.exit(main(asked, sys.argv[sys.argv.index("--") + 1 :]))
