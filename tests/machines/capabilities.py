"""What works on this machine: one line of JSON for each capability. ``setup/machines.sh`` runs this in virtual machines.

Nothing here is timed: an emulated CPU is ten to thirty times slower.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from hindmost.core.fleet.cpus import read_cores
from hindmost.core.interventions.freezer import Freeze, freezer_of
from hindmost.core.interventions.groups import idle_group, limit_group
from hindmost.core.interventions.session import start_session

HINDMOST = [sys.executable, "-m", "hindmost"]
SHORT = ("--rate", "200", "--runs", "1", "--duration", "2s", "--warmup", "1s", "--quantiles", "50", "--quiet")
ENDED = (0, 3, 4, 6)
"""Exit codes of a measurement that was made, whatever its verdict."""
PATIENCE_S = 120.0


class Refused(Exception):
    """Hindmost refused, with the code of its message."""


def run(*words: str) -> dict[str, object]:
    """Run a command with ``--json``, and return its document."""
    ended = subprocess.run(
        [*HINDMOST, *words, "--json"], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    document = json.loads(ended.stdout) if ended.stdout.strip() else {}
    if "code" in document or ended.returncode not in (*ENDED, 5 if document else 0):
        print(ended.stderr, file=sys.stderr)
        if "Traceback" in ended.stderr:
            raise AssertionError(ended.stderr.strip().splitlines()[-1])
        raise Refused(
            document.get("code") or (ended.stderr.strip().splitlines() or [f"exit {ended.returncode}"])[-1]
        )
    return document


class Memcached:
    """A memcached on a port of its own, for one capability."""

    def __enter__(self) -> str:
        """Start it, and return its URL."""
        self.folder = tempfile.mkdtemp()
        self.process = subprocess.Popen(
            ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", "21212", "-m", "64"],
            stderr=subprocess.DEVNULL,
        )
        time.sleep(2.0)
        return "memcached://127.0.0.1:21212"

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)


def measure(folder: Path) -> str:
    """Measure the built-in server."""
    document = run("measure", "synth", *SHORT, "--out", str(folder / "study"))
    return f"{document['counts']['completed']} requests"


def place(folder: Path) -> str:
    """Check that server, clients and helpers share no core while there are enough."""
    from hindmost.core.run.request import MeasureRequest

    plan = MeasureRequest(target="memcached", rate="20k").plan()
    cores = read_cores()
    server, clients = set(plan.server_cpus), {cpu for cpus in plan.client_cpus for cpu in cpus}
    shared = [core for core in cores if set(core) & server and set(core) & clients]
    if len(cores) > 1 and shared:
        raise AssertionError(f"server and clients share {shared}")
    return f"{len(cores)} cores: server {sorted(server)}, clients {sorted(clients)}"


def trace(folder: Path) -> str:
    """Trace the requests of a memcached under load."""
    with Memcached() as url:
        ended = threading.Event()
        load = threading.Thread(target=request_keys, args=(ended,))
        load.start()
        try:
            document = run("trace", url, "--duration", "5s")
        finally:
            ended.set()
            load.join()
    return f"{document['counts']['done']} requests"


def request_keys(ended: threading.Event) -> None:
    """Request a key, one after the other, until `ended` is set."""
    with socket.create_connection(("127.0.0.1", 21212)) as connection:
        while not ended.is_set():
            connection.sendall(b"get a\r\n")
            connection.recv(100)
            time.sleep(0.01)


def set_and_restore(folder: Path) -> str:
    """Change a setting of the host, and restore it."""
    place = Path("/proc/sys/vm/swappiness")
    before = place.read_text()
    journal = ("--journal", str(folder / "journal"))
    run("host", "knobs", "set", "swappiness", "50" if before.strip() != "50" else "40", *journal)
    changed = place.read_text() != before
    run("host", "knobs", "restore", *journal)
    if not changed or place.read_text() != before:
        raise AssertionError("the setting was not changed and restored")
    return "changed and restored"


def watch(folder: Path) -> str:
    """Watch a memcached for some seconds, and read what was seen."""
    ring = folder / "ring"
    with Memcached() as url:
        daemon = subprocess.Popen(
            [*HINDMOST, "watch", "start", url, "--ring", str(ring)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            time.sleep(8.0)
            if daemon.poll() is not None:
                raise Refused((daemon.stderr.read() or "ended").strip().splitlines()[0])
            document = run("watch", "show", str(ring))
        finally:
            daemon.send_signal(signal.SIGINT)
            daemon.wait()
    if not document:
        raise AssertionError("the ring cannot be read")
    return "writes and reads its ring"


def supervise(folder: Path) -> str:
    """Run a job next to a memcached within a limit that holds."""
    with Memcached() as url:
        document = run("colocate", "supervise", url, "sleep 4", "--promise", "p50<10s", "--probe", "20")
    return f"{len(document['windows'])} windows"


def intervene(folder: Path) -> str:
    """Freeze, limit and demote a neighbour in a cgroup of its own, and restore it."""
    if os.geteuid():
        raise Refused("not root")
    group = Path("/sys/fs/cgroup/capability")
    group.mkdir()
    neighbour = subprocess.Popen(["sleep", "1000"])
    try:
        (group / "cgroup.procs").write_text(str(neighbour.pid))
        name, freezer = freezer_of(neighbour.pid) or ("", Path())
        suspects = [
            Freeze(name, freezer),
            limit_group("limit", neighbour.pid, {os.getpid()}),
            idle_group("idle", neighbour.pid, {os.getpid()}),
        ]
        files = [group / one for one in ("cgroup.freeze", "cpu.max", "cpu.idle", "cpu.weight")]
        with start_session(folder / "journal") as session:
            for suspect in suspects:
                before = [file.read_text() for file in files]
                with session.journal(suspect), session.remove(suspect):
                    during = [file.read_text() for file in files]
                if during == before or [file.read_text() for file in files] != before:
                    raise AssertionError(f"{suspect.name} was not changed and restored")
    finally:
        neighbour.kill()
        neighbour.wait()
        group.rmdir()
    return "freezes, limits and demotes a cgroup"


def delayed_link(folder: Path) -> str:
    """Measure a server behind a link that delays each packet by 200 ms."""
    if os.geteuid():
        raise Refused("not root")
    for words in LINK:
        subprocess.run(["ip", *words.split()], check=True)
    subprocess.run(
        [
            "ip",
            "netns",
            "exec",
            "far",
            "tc",
            "qdisc",
            "add",
            "dev",
            "veth1",
            "root",
            "netem",
            "delay",
            "200ms",
        ],
        check=True,
    )
    server = subprocess.Popen(["ip", "netns", "exec", "far", "memcached", "-u", "nobody", "-p", "21213"])
    try:
        time.sleep(2.0)
        document = run("measure", "memcached://10.99.0.2:21213", *SHORT, "--out", str(folder / "study"))
    finally:
        server.kill()
        server.wait()
        subprocess.run(["ip", "netns", "delete", "far"], check=True)
    p50_ms = document["latency_us"]["p50"]["value"] / 1000
    if p50_ms < 200:
        raise AssertionError(f"p50 is {p50_ms:g} ms, below the delay of the link")
    return f"{document['counts']['completed']} requests"


LINK = (
    "netns add far",
    "link add veth0 type veth peer name veth1 netns far",
    "address add 10.99.0.1/24 dev veth0",
    "link set veth0 up",
    "-n far address add 10.99.0.2/24 dev veth1",
    "-n far link set veth1 up",
    "-n far link set lo up",
)


def diagnose(folder: Path) -> str:
    """List what a diagnosis would try."""
    with Memcached() as url:
        run("diagnose", url, "--dry-run", "--probe", "20")
    return "lists its experiments"


def doctor(folder: Path) -> str:
    """Check the host."""
    document = run("host", "doctor")
    return f"{len(document['findings'])} findings"


CAPABILITIES: tuple[Callable[[Path], str], ...] = (
    doctor,
    place,
    measure,
    trace,
    set_and_restore,
    watch,
    supervise,
    intervene,
    delayed_link,
    diagnose,
)


def delegate() -> None:
    """Delegate the controllers of cgroup version 2, as systemd does on most hosts."""
    control = Path("/sys/fs/cgroup/cgroup.subtree_control")
    if os.geteuid() == 0 and control.exists():
        control.write_text("+cpu +cpuset +memory +io +pids")


def report() -> int:
    """Print a line for each capability: ok, refused with a code, or failed."""
    delegate()
    for capability in CAPABILITIES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                state, text = "ok", capability(Path(folder))
            except Refused as refusal:
                state, text = "refused", str(refusal)
            except Exception as error:
                state, text = "failed", f"{type(error).__name__}: {error}"[:200]
        print(
            "CAPABILITY " + json.dumps({"name": capability.__name__, "state": state, "text": text}),
            flush=True,
        )
    print(f"CAPABILITY_END {os.uname().release}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(report())
