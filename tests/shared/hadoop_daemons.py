"""Daemons of Hadoop as operators run them: one JVM each, from the jars that Maven fetched, with the plug-ins' jar."""

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


def run_setup(*arguments: str, root: Path = ROOT.parent) -> str:
    """Run a step of ``setup/hadoop.sh`` and return its output; skips on a host without Java or Maven."""
    process = subprocess.run(
        [root / "setup/hadoop.sh", *arguments], capture_output=True, text=True, timeout=580, check=False
    )
    if process.returncode == 77:
        pytest.skip(process.stderr.strip().removeprefix("setup: "))
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


class Daemons:
    """Processes of one cluster below one folder; all of them end with the context."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.includes: dict[str, Path] = {}
        """Files that an operator includes into Hadoop's, by site: capacity, core, hdfs, yarn. They take precedence."""
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.prefix: list[str] = []
        """Words before the command of each program, such as `nice`."""

    def start(
        self, name: str, main: str, settings: dict[str, object], *arguments: str, tests: bool = False
    ) -> None:
        """Start a daemon, or a main class of the `tests`. Its log is NAME.log, and it has its own settings."""
        conf = self.folder / f"{name}.conf"
        conf.mkdir(exist_ok=True)
        text = "".join(
            f"<property><name>{key}</name><value>{escape(str(value))}</value></property>\n"
            for key, value in settings.items()
        )
        for site in ("core", "hdfs", "yarn", "capacity"):
            file = "capacity-scheduler.xml" if site == "capacity" else f"{site}-site.xml"
            include = f'<xi:include href="{self.includes[site]}"/>\n' if site in self.includes else ""
            namespace = 'xmlns:xi="http://www.w3.org/2001/XInclude"'
            (conf / file).write_text(f"<configuration {namespace}>\n{text}{include}</configuration>\n")
        (conf / "log4j.properties").write_text(LOG)
        classes = ["classes", "test-classes"] if tests else ["hindmost-hadoop.jar"]
        path = ":".join(
            [
                str(conf),
                *(f"{ROOT}/target/{name}" for name in classes),
                (ROOT / "target/classpath").read_text(),
            ]
        )
        self.run(name, ["java", *JVM, f"-Dhadoop.tmp.dir={self.folder}", "-cp", path, main, *arguments])

    def run(self, name: str, command: list[str]) -> None:
        """Start any program as part of the cluster; it is ended after ten minutes."""
        (self.folder / "tmp").mkdir(exist_ok=True)  # web servers leave their folders there
        home = str(Path(shutil.which("java") or "java").resolve().parents[1])
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                ["timeout", "-k", "5", "600", *self.prefix, *command],
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
        """End a daemon and all that it started by SIGKILL."""
        daemon = self.running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(daemon.pid, signal.SIGKILL)
        daemon.wait()

    def end(self, name: str, limit_s: float = 60) -> None:
        """Wait for a daemon that exits without a signal."""
        assert self.running.pop(name).wait(limit_s) == 0, self.log(name)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")[-3000:]

    def await_(self, claim: str, holds: Callable[[], object], limit_s: float = 90) -> None:
        """Wait for a state of the cluster; an address that does not answer yet is not a failure."""
        end = time.monotonic() + limit_s
        while True:
            last: object
            try:
                if last := holds():
                    return
            except OSError as error:
                last = error
            for name, daemon in self.running.items():
                assert daemon.poll() is None, f"{name} ended: {self.log(name)}"
            assert time.monotonic() < end, (
                f"{claim}: not within {limit_s} s; last: {last!r}; {sorted(self.running)}"
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
        for pid in processes_below(folder):  # containers lead their own sessions, and outlive a node manager
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def processes_below(folder: Path) -> list[int]:
    """Processes whose working directory is below `folder`."""
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink().is_relative_to(folder):
                pids.append(int(process.name))
    return pids


def fetch(url: str, method: str = "GET", body: bytes | None = None) -> bytes:
    """Send a request and return the body of the answer."""
    request = urllib.request.Request(url, data=body, method=method)
    request.add_header("Content-Type", "application/octet-stream")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        error.add_note(error.read()[:1000].decode(errors="replace"))
        raise


def fetch_json(url: str) -> dict:
    return json.loads(fetch(url))


class NotYet(OSError):
    """A daemon answers, but does not have the requested item yet."""


def bean(port: int, name: str) -> dict:
    """The attributes of a daemon's JMX bean."""
    beans = fetch_json(f"http://127.0.0.1:{port}/jmx?qry={name}")["beans"]
    if not beans:
        raise NotYet(f"port {port} has no bean {name} yet")
    return beans[0]


def free_ports(n: int) -> list[int]:
    """TCP ports that are free now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


def replace_file(path: Path, text: str) -> None:
    """Replace a file atomically."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)
