"""Many services in one daemon: files in a folder, one page, and metrics for Prometheus."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest
from listening import end, listener_pid
from measuring import wait_for
from messages import raises

from hindmost import _engine
from hindmost.cli import main
from hindmost.commands.watch.ring import read_ring
from hindmost.commands.watch.services import (
    ServiceFile,
    add_service,
    list_services,
    read_service,
    remove_service,
)
from hindmost.errors import UsageError

DASHBOARD = Path(__file__).parents[2] / "examples/grafana/watch.json"
CODE = "import sys; from hindmost.cli import main; sys.exit(main(sys.argv[1:]))"


class Daemon:
    """A running `hindmost watch serve`."""

    def __init__(self, folder: Path, rings: Path) -> None:
        command = [
            sys.executable,
            "-c",
            CODE,
            "watch",
            "serve",
            "--folder",
            str(folder),
            "--rings",
            str(rings),
        ]
        self.process = subprocess.Popen(
            [*command, "--port", "0", "--period", "100ms", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self.address = None
        while self.address is None:
            line = self.process.stderr.readline()
            assert line, "the daemon has ended"
            self.lines.append(line)
            found = re.search(r"http://[\d.:]+/", line)
            self.address = found and found[0]
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        self.lines.extend(self.process.stderr)

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"{self.address}{path}", timeout=20) as reply:
            return reply.read().decode()

    def services(self) -> dict[str, dict]:
        return {one["name"]: one for one in json.loads(self.get("services.json"))}

    def stop(self) -> dict:
        self.process.send_signal(signal.SIGTERM)
        out = self.process.stdout.read()
        self.process.wait(20)
        self._reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return json.loads(out)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "services"
    folder.mkdir()
    return folder


@pytest.fixture
def daemon(folder, tmp_path):
    daemon = Daemon(folder, tmp_path / "rings")
    try:
        yield daemon
    finally:
        if daemon.process.poll() is None:
            daemon.stop()


def url(port):
    return f"memcached://127.0.0.1:{port}"


def test_services_are_added_and_removed_while_the_daemon_runs(folder, daemon, tmp_path):
    with listener_pid(0) as (_, one), listener_pid(0) as (_, other):
        for name, port in (("cache", one), ("sessions", other)):
            assert (
                main(
                    ["watch", "add", name, url(port), "--probe", "50", "--size", "1", "--folder", str(folder)]
                )
                == 0
            )
        wait_for(lambda: {"cache", "sessions"} == {*daemon.services()}, "two services")
        wait_for(
            lambda: all(one["runs"] and one["requests"] for one in daemon.services().values()), "replies"
        )
        assert main(["watch", "remove", "cache", "--folder", str(folder)]) == 0
        wait_for(lambda: {"sessions"} == {*daemon.services()}, "one service")
        done = daemon.stop()
    assert done["ended"] == "stopped"
    for name in ("cache", "sessions"):
        ring = read_ring(tmp_path / f"rings/{name}.ring")
        assert ring.about["application"] == name
        assert ring.values[-1, ring.names.index("latency.requests")] > 0


def test_the_cost_of_all_services_is_the_cost_of_the_daemon(folder, tmp_path):
    with listener_pid(0) as (_, one), listener_pid(0) as (_, other):
        for name, port in (("cache", one), ("sessions", other)):
            add_service(folder, name, ServiceFile(application=url(port), size=1))
        daemon = Daemon(folder, tmp_path / "rings")
        wait_for(lambda: len(daemon.services()) == 2, "two services")
        wait_for(lambda: all((one["requests"] or 0) > 9 for one in daemon.services().values()), "replies")
        done = daemon.stop()
    rings = [read_ring(tmp_path / f"rings/{name}.ring") for name in ("cache", "sessions")]
    costs = [ring.values[-1, ring.names.index("own.cpu_us")] for ring in rings]
    assert 0 < sum(costs) <= done["cpu_us"]
    # The rest is the time since the last sample.
    assert sum(costs) > done["cpu_us"] / 2
    assert {one["service"] for one in done["collectors"]} == {None, "cache", "sessions"}


def test_a_restarted_server_is_followed_and_counted(folder, daemon, tmp_path):
    with contextlib.ExitStack() as stack:
        first, port = stack.enter_context(listener_pid(0))
        add_service(folder, "cache", ServiceFile(application=url(port), probe="0", size=1))
        wait_for(lambda: daemon.services().get("cache", {}).get("runs"), "the service")
        end(first)
        wait_for(lambda: not daemon.services()["cache"]["runs"], "its end")
        assert 'hindmost_up{service="cache"} 0' in daemon.get("metrics")
        second, _ = stack.enter_context(listener_pid(port))
        wait_for(lambda: daemon.services()["cache"]["runs"], "its restart")
        assert 'hindmost_restarts_total{service="cache"} 1' in daemon.get("metrics")
        daemon.stop()
    events = [what for _, what in read_ring(tmp_path / "rings/cache.ring").events]
    followed = [
        (key, one.get("pid")) for one in events for key in ("started", "ended", "restarted") if key in one
    ]
    assert followed == [("started", first.pid), ("ended", None), ("restarted", second.pid)]


def test_a_wrong_file_hinders_no_other_service(folder, daemon):
    with listener_pid(0) as (_, port):
        (folder / "wrong.toml").write_text("application = 'memcached'\n")
        (folder / "torn.toml").write_text("application = \n")
        add_service(folder, "cache", ServiceFile(application=url(port), size=1))
        wait_for(lambda: {"cache"} == {*daemon.services()}, "the service")
        for warning in (": wrong: bad-value", ": torn: bad-file"):
            wait_for(lambda text=warning: any(text in line for line in daemon.lines), warning)
        # A file that is corrected in place is read again.
        (folder / "wrong.toml").write_text(f"application = '{url(port)}'\nprobe = '0'\n")
        wait_for(lambda: {"cache", "wrong"} == {*daemon.services()}, "the corrected service")


def test_files_of_services_are_read_as_written(folder):
    service = ServiceFile(
        application='command:größe "1"', log=Path("/var/log/a b.log"), log_latency="key:rt/ms"
    )
    path = add_service(folder, "web-1", service)
    assert read_service(folder, "web-1") == service
    assert list_services(folder) == ["web-1"]
    assert [path] == list(folder.iterdir())
    with raises(UsageError, "service-exists", name="web-1"):
        add_service(folder, "web-1", ServiceFile(application="nginx.service"))
    assert read_service(folder, "web-1") == service
    remove_service(folder, "web-1")
    with raises(UsageError, "no-such-service", name="web-1"):
        remove_service(folder, "web-1")
    for name in ("../web", "", ".web", "a/b"):
        with raises(UsageError, "bad-value", value=name):
            add_service(folder, name, service)


def test_wrong_files_are_refused_with_their_key(folder):
    for text, code, key in [
        ("application = 'nginx.service'\nprobes = '1'\n", "unknown-key", "probes"),
        ("probe = '1'\n", "bad-value", "application"),
        ("application = 'nginx.service'\nsize = 0\n", "bad-value", "size"),
        ("application = 'nginx.service'\non_change = 'reboot'\n", "bad-value", "on_change"),
    ]:
        (folder / "web.toml").write_text(text)
        with raises(UsageError, code, key=key):
            read_service(folder, "web")


def test_services_that_cannot_be_found_again_or_probed_are_refused(folder, tmp_path):
    with raises(UsageError, "bad-value", value="4711"):
        ServiceFile(application="4711").service("web", tmp_path)
    with raises(UsageError, "missing-argument", option="--policy"):
        ServiceFile(application="memcached://127.0.0.1:1", on_change="diagnose").service("web", tmp_path)
    policy = tmp_path / "may.toml"
    policy.write_text("")
    with raises(UsageError, "needs-probe", option="--probe-address"):
        ServiceFile(application="web.service", on_change="diagnose", policy=policy).service("web", tmp_path)
    policy.write_text("every = 3\n")
    with raises(UsageError, "unknown-key", key="every"):
        ServiceFile(application="memcached://127.0.0.1:1", on_change="diagnose", policy=policy).service(
            "web", tmp_path
        )
    assert main(["watch", "add", "web", "4711", "--folder", str(folder)]) == 2
    assert list_services(folder) == []


def test_the_list_says_what_runs(folder, tmp_path, capsys):
    with listener_pid(0) as (_, port):
        add_service(folder, "cache", ServiceFile(application=url(port)))
        add_service(folder, "later", ServiceFile(application=f"later-{os.getpid()}.service"))
        (folder / "wrong.toml").write_text("application = 'memcached'\n")
        arguments = ["watch", "list", "--folder", str(folder), "--rings", str(tmp_path)]
        assert main([*arguments, "--json"]) == 0
        rows = {one["name"]: one for one in json.loads(capsys.readouterr().out)["services"]}
        assert main(arguments) == 0
    table = capsys.readouterr().out
    assert all(name in table for name in ("cache", "later", "wrong"))
    assert {name: (one["runs"], one["watched"]) for name, one in rows.items()} == {
        "cache": (True, False),
        "later": (False, False),
        "wrong": (False, False),
    }
    assert rows["wrong"]["fault"].startswith("bad-value")


@pytest.fixture
def exposition(folder, tmp_path):
    """The metrics of a daemon with two services, line by line."""
    with listener_pid(0) as (_, one), listener_pid(0) as (_, other):
        for name, port in (("cache", one), ("sessions", other)):
            add_service(folder, name, ServiceFile(application=url(port), probe="50", size=1))
        daemon = Daemon(folder, tmp_path / "rings")
        wait_for(lambda: len(daemon.services()) == 2, "two services")
        wait_for(lambda: all(one["requests"] for one in daemon.services().values()), "replies")
        text = daemon.get("metrics")
        daemon.stop()
    assert text.endswith("\n")
    return text.splitlines()


SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


def exported(lines):
    """Return the names of all samples that the page can export, from the types that it declares."""
    types = [line.split()[2:] for line in lines if line.startswith("# TYPE ")]
    return {f"{family}{suffix}" for family, kind in types for suffix in SUFFIXES[kind]}


def test_metrics_are_openmetrics(exposition):
    assert exposition[-1] == "# EOF"
    names, family, seen = exported(exposition), None, set()
    for line in exposition[:-1]:
        if line.startswith("# TYPE "):
            family = line.split()[2]
            assert family not in seen, f"{family} is in two places"
            seen.add(family)
            continue
        if line.startswith("# HELP "):
            assert line.split()[2] == family
            continue
        found = re.fullmatch(r'([a-z_0-9]+)(\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? (-?[\d.e+-]+)', line)
        assert found, line
        assert found[1].startswith(family), line
        assert found[1] in names, line
        # Values of the host have no label, and so stand once.
        host = any(
            found[1].startswith(f"hindmost_{group}_")
            for group in ("host", "psi", "irq", "softirq", "vm", "speed")
        )
        assert (found[2] is None) == host, line
    assert len(exposition) == len(set(exposition))
    counters = {f"hindmost_{name.replace('.', '_')}" for name, _, _ in _engine.watch_counters()}
    assert counters <= seen


def test_buckets_of_latency_grow_and_end_with_the_count(exposition):
    for service in ("cache", "sessions"):
        pattern = re.compile(rf'hindmost_latency_seconds_bucket\{{service="{service}",le="([^"]+)"\}} (\d+)')
        buckets = [
            (float(found[1]), int(found[2])) for line in exposition if (found := pattern.fullmatch(line))
        ]
        assert buckets == sorted(buckets)
        counts = [count for _, count in buckets]
        assert counts == sorted(counts)
        assert f'hindmost_latency_seconds_count{{service="{service}"}} {counts[-1]}' in exposition
        assert counts[-1] > 0


def test_the_dashboard_uses_only_exported_names(exposition):
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    expressions += [one["expr"] for one in dashboard["annotations"]["list"]]
    expressions += [str(one["query"]) for one in dashboard["templating"]["list"]]
    used = {name for text in expressions for name in re.findall(r"\bhindmost_\w+", text)}
    assert len(used) > 20
    assert used <= exported(exposition), used - exported(exposition)
    assert all(panel["targets"] for panel in dashboard["panels"])
