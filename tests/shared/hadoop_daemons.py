"""Daemons of Hadoop as operators run them: a JVM each, from the jars that Maven fetched, with the plug-ins' jar."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

ROOT = Path(__file__).parents[2] / "hadoop"
JVM = [
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xmx256m",
    "--add-opens",
    "java.base/java.lang=ALL-UNNAMED",
]
HDFS = "org.apache.hadoop.hdfs.server."
YARN = "org.apache.hadoop.yarn.server."
PLUGINS = "hindmost.hadoop"
LOG = """log4j.rootLogger=WARN, A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.layout=org.apache.log4j.PatternLayout
log4j.appender.A.layout.ConversionPattern=%d %p %c{1}: %m%n
"""


def said(*arguments: str, root: Path = ROOT.parent) -> str:
    """What a step of ``setup/hadoop.sh`` says; a host without Java or Maven skips it loudly."""
    done = subprocess.run(
        [root / "setup/hadoop.sh", *arguments],
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip(done.stderr.strip().removeprefix("setup: "))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Daemons:
    """Processes of one cluster below one folder; all of them end with the context."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.added: dict[str, Path] = {}
        """Files that an operator adds to one of Hadoop's: capacity, core, hdfs, yarn. Theirs is the last word."""
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        self, name: str, main: str, settings: dict[str, object], *arguments: str, tests: bool = False
    ) -> None:
        """Starts a daemon; its log is NAME.log, its settings are its own; or a main class of the `tests`."""
        conf = self.folder / f"{name}.conf"
        conf.mkdir(exist_ok=True)
        text = "".join(
            f"<property><name>{key}</name><value>{escape(str(value))}</value></property>\n"
            for key, value in settings.items()
        )
        for site in ("core", "hdfs", "yarn", "capacity"):
            file = "capacity-scheduler.xml" if site == "capacity" else f"{site}-site.xml"
            added = f'<xi:include href="{self.added[site]}"/>\n' if site in self.added else ""
            include = 'xmlns:xi="http://www.w3.org/2001/XInclude"'
            (conf / file).write_text(f"<configuration {include}>\n{text}{added}</configuration>\n")
        (conf / "log4j.properties").write_text(LOG)
        own = ["classes", "test-classes"] if tests else ["hindmost-hadoop.jar"]
        path = ":".join(
            [str(conf), *(f"{ROOT}/target/{one}" for one in own), (ROOT / "target/classpath").read_text()]
        )
        self.run(name, ["java", *JVM, f"-Dhadoop.tmp.dir={self.folder}", "-cp", path, main, *arguments])

    def run(self, name: str, command: list[str]) -> None:
        """Starts any program as one of the cluster; ten minutes are the end of all of them."""
        (self.folder / "tmp").mkdir(exist_ok=True)  # web servers leave their folders there
        home = str(Path(shutil.which("java") or "java").resolve().parents[1])
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                ["timeout", "-k", "5", "600", *command],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                env={
                    **os.environ,
                    "JAVA_HOME": home,
                    "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={self.folder}/tmp",
                },
            )

    def kill(self, name: str) -> None:
        """Ends a daemon with all that it started, without a word."""
        daemon = self.running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(daemon.pid, signal.SIGKILL)
        daemon.wait()

    def end(self, name: str, limit_s: float = 60) -> None:
        """Waits for one that ends by itself."""
        assert self.running.pop(name).wait(limit_s) == 0, self.log(name)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")[-3000:]

    def await_(self, claim: str, holds: Callable[[], object], limit_s: float = 90) -> None:
        """Waits for what a cluster does in its own time; an address that does not answer yet is no failure."""
        end = time.monotonic() + limit_s
        while True:
            seen: object
            try:
                if seen := holds():
                    return
            except OSError as error:
                seen = error
            for name, daemon in self.running.items():
                assert daemon.poll() is None, f"{name} ended: {self.log(name)}"
            assert time.monotonic() < end, (
                f"{claim}: not within {limit_s} s; last: {seen!r}; {sorted(self.running)}"
            )
            time.sleep(0.2)


@contextmanager
def daemons(folder: Path) -> Iterator[Daemons]:
    cluster = Daemons(folder)
    try:
        yield cluster
    finally:
        for name in list(cluster.running):
            cluster.kill(name)
        for pid in below(folder):  # containers are leaders of their own, and outlive a node manager
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def below(folder: Path) -> list[int]:
    """Processes that work in a folder of the cluster."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (one / "cwd").readlink().is_relative_to(folder):
                found.append(int(one.name))
    return found


def asked(url: str, method: str = "GET", body: bytes | None = None) -> bytes:
    """What an address answers."""
    request = urllib.request.Request(url, data=body, method=method)
    request.add_header("Content-Type", "application/octet-stream")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        error.add_note(error.read()[:1000].decode(errors="replace"))
        raise


def found(url: str) -> dict:
    return json.loads(asked(url))


class NotYet(OSError):
    """A daemon answers, but what was asked for is not there yet."""


def bean(port: int, name: str) -> dict:
    """The attributes of a JMX bean of a daemon."""
    beans = found(f"http://127.0.0.1:{port}/jmx?qry={name}")["beans"]
    if not beans:
        raise NotYet(f"{name} is no bean of port {port} yet")
    return beans[0]


def free_ports(n: int) -> list[int]:
    """Ports of TCP that nobody has now."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def replaced(path: Path, text: str) -> None:
    """Puts a file in the place of another at once."""
    beside = path.with_suffix(".new")
    beside.write_text(text)
    beside.rename(path)
