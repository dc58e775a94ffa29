"""Each command works with exactly the rights in the table, and names a missing right."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from measuring import need, wait_for

from hindmost.commands.watch.ring import read_ring
from hindmost.commands.watch.services import ServiceFile, add_service
from hindmost.commands.watch.unit import capabilities as unit_capabilities
from hindmost.core.privileges import NEEDS, capabilities
from hindmost.core.targets import ManagedServer, preset

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop capabilities"),
    pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv (util-linux) is not installed"),
]
CODE = "import sys; from hindmost.cli import main; sys.exit(main(sys.argv[1:]))"
QUICK = ("--duration", "200ms", "--warmup", "100ms", "--runs", "1", "--clients", "1", "--rate", "500")


def rights_of(command: str) -> tuple[str, ...]:
    return next(one.capabilities for one in NEEDS if one.command == command)


def limit_command(rights: tuple[str, ...]) -> list[str]:
    """Return the start of a command that has these capabilities only."""
    bounds = ",".join(["-all", *(f"+{one.removeprefix('CAP_').lower()}" for one in rights)])
    return ["setpriv", f"--bounding-set={bounds}", "--inh-caps=-all", sys.executable, "-P", "-c", CODE]


def run_with_rights(rights: tuple[str, ...], *arguments: object, for_s: float | None = None):
    """Run a command as root with these capabilities only."""
    with subprocess.Popen(
        [*limit_command(rights), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        if for_s is not None:
            time.sleep(for_s)
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert "Traceback" not in err, err
    return process.returncode, out, err


@pytest.fixture(scope="module")
def server():
    need("memcached")
    with ManagedServer(preset("memcached")) as server:
        yield server


def count_gets(server) -> int:
    """Return the server's own count of GET requests."""
    with socket.create_connection((server.address.partition(":")[0], server.port), timeout=10) as link:
        link.sendall(b"stats\r\n")
        reply = b""
        while not reply.endswith(b"END\r\n"):
            reply += link.recv(1 << 16)
    return next(int(line.split()[2]) for line in reply.splitlines() if line.startswith(b"STAT cmd_get "))


@pytest.fixture
def loaded_server(server, tmp_path):
    arguments = [sys.executable, "-P", "-c", CODE, "measure", f"memcached://{server.address}", "--rate", "1k"]
    arguments += ["--runs", "1", "--duration", "60s", "--clients", "1", "-q", "--out", str(tmp_path / "load")]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as load:
        before = count_gets(server)
        wait_for(lambda: count_gets(server) > before + 1000, "load")
        yield server
        with contextlib.suppress(ProcessLookupError):
            load.send_signal(signal.SIGINT)


def test_measuring_a_url_needs_no_rights_and_says_so_to_root(server, tmp_path):
    url = f"memcached://{server.address}"
    code, out, err = run_with_rights(
        rights_of("measure URL"), "measure", url, *QUICK, "--json", "--out", tmp_path / "a"
    )
    assert code in (0, 4), err
    assert json.loads(out)["counts"]["completed"] > 0
    assert "note[root-not-needed]" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["host", "doctor", "--spin", "20ms"],
        ["host", "knobs", "list"],
        ["study", "list", "."],
        ["clone", "simulate", "masstree"],
    ],
)
def test_these_commands_need_no_rights(arguments):
    code, _, err = run_with_rights((), *arguments)
    assert code in (0, 5), err
    assert "ermission" not in err


def test_the_doctor_lists_which_rights_are_missing(tmp_path):
    code, out, err = run_with_rights((), "host", "doctor", "--spin", "20ms", "--json")
    assert code in (0, 5), err
    rows = {one["command"]: one["met"] for one in json.loads(out)["privileges"]}
    assert rows["measure URL"]
    assert rows["knobs set, attribute and trial with settings"]
    assert not rows["trace PID"]


@pytest.mark.nightly
def test_tracing_requests_needs_exactly_the_rights_in_the_table(loaded_server):
    arguments = ("trace", loaded_server.pid, "--duration", "500ms", "--json")
    rights = rights_of("trace PID")
    code, out, err = run_with_rights(rights, *arguments)
    if "not-traceable" in out or "lockdown" in err:
        pytest.skip("requests cannot be traced here")
    assert code == 0, err
    for missing in rights:
        code, out, _ = run_with_rights(tuple(one for one in rights if one != missing), *arguments)
        assert code != 0, missing
        assert json.loads(out)["code"]


@pytest.mark.nightly
def test_capturing_packets_needs_one_right(server, tmp_path):
    if shutil.which("tcpdump") is None:
        pytest.skip("tcpdump is not installed")
    arguments = ("measure", f"memcached://{server.address}", *QUICK, "--verify-wire", "--json", "--out")
    for rights, missing in ((rights_of("measure --verify-wire"), False), ((), True)):
        code, out, err = run_with_rights(rights, *arguments, tmp_path / f"{missing}")
        assert code in (0, 4), err
        assert ("no-capture" in {one["code"] for one in json.loads(out)["reasons"]}) is missing


@pytest.fixture
def burner(tmp_path):
    """A process of another user that uses a CPU without pause."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        program = Path(shutil.copy("/bin/sh", f"{folder}/burner"))
        program.chmod(0o755)
        arguments = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(program)]
        with subprocess.Popen([*arguments, "-c", "while :; do :; done"]) as process:
            yield process.pid
            process.kill()


SHORT = ("--normal", "1us", "--pairs", "6", "--window", "100ms", "--settle", "50ms", "--json")
BURN = f"{sys.executable} -c 'while True: pass'"
PROMISE = ("--promise", "p90<10s", "--window", "200ms", "--duration", "1s", "--json")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("row", "arguments"),
    [
        ("colocate supervise", ["colocate", "supervise", "{url}", BURN, *PROMISE]),
        ("diagnose PID", ["diagnose", "{url}", *SHORT]),
        (
            "diagnose --replica",
            ["diagnose", "{url}", *SHORT, "--replica", "memcached", "--replica-rate", "500"],
        ),
        ("measure PRESET, as root", ["measure", "memcached", *QUICK, "--json", "--out", "{folder}"]),
    ],
)
def test_a_command_needs_exactly_the_rights_in_its_row(row, arguments, server, tmp_path):
    def run(rights: tuple[str, ...]) -> tuple[int, str, str]:
        values = {"url": f"memcached://{server.address}", "folder": tmp_path / f"{len(rights)}-{rights[:1]}"}
        return run_with_rights(rights, *(word.format(**values) for word in arguments))

    rights = rights_of(row)
    code, out, err = run(rights)
    assert code in (0, 3, 4), err
    assert "code" not in json.loads(out)
    for missing in rights:
        code, out, err = run(tuple(one for one in rights if one != missing))
        assert code in (1, 5), (missing, err)
        assert json.loads(out)["code"] in ("needs-root", "not-listening"), missing


@pytest.mark.nightly
def test_pausing_a_process_of_another_user_needs_one_right(server, burner):
    rights = rights_of("the same, with neighbours of other users")
    for missing, left_out in (((), False), (("CAP_KILL",), True)):
        granted = tuple(one for one in rights if one not in missing)
        code, out, err = run_with_rights(granted, "diagnose", f"memcached://{server.address}", *SHORT)
        assert code in (0, 4), err
        assert (f"neighbour burner ({burner})" in json.loads(out)["not_tried_notes"]) is left_out, out


@pytest.mark.nightly
def test_changing_an_interface_setting_needs_one_right(tmp_path):
    """The command runs in its own network namespace, with its own /sys."""
    rights = rights_of("the same, of a network interface")
    arguments = ["host", "knobs", "set", "gro@lo", "off", "--json", "--journal", str(tmp_path / "journal")]
    namespaces = ["unshare", "--net", "--mount", "sh", "-c", 'mount -t sysfs none /sys; exec "$@"', "sh"]
    for granted, fits in ((rights, True), ((), False)):
        process = subprocess.run(
            [*namespaces, *limit_command(granted), *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in process.stderr, process.stderr
        assert (process.returncode == 0) is fits, process


def as_user(rights: tuple[str, ...]) -> list[str]:
    """Return the start of a command that runs as an unprivileged user with these capabilities only."""
    names = ",".join(["-all", *(f"+{one.removeprefix('CAP_').lower()}" for one in rights)])
    user = ["--reuid=65534", "--regid=65534", "--clear-groups"]
    limits = [f"--bounding-set={names}", f"--inh-caps={names}", f"--ambient-caps={names}"]
    return ["setpriv", *user, *limits, sys.executable, "-P", "-c", CODE]


def test_the_daemon_watches_services_of_other_users_with_the_rights_of_its_unit(server, tmp_path):
    rights = unit_capabilities(diagnose=False)
    for granted, sees in ((rights, True), (tuple(one for one in rights if one != "CAP_SYS_PTRACE"), False)):
        services, rings = tmp_path / f"services-{sees}", tmp_path / f"rings-{sees}"
        add_service(services, "cache", ServiceFile(application=f"memcached://{server.address}", size=1))
        rings.mkdir()
        os.chown(rings, 65534, 65534)
        arguments = [
            "watch",
            "serve",
            "--folder",
            services,
            "--rings",
            rings,
            "--port",
            "0",
            "--period",
            "100ms",
        ]
        command = [*as_user(granted), *map(str, arguments), "--duration", "3s"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        ring = read_ring(rings / "cache.ring")
        assert any("started" in what for _, what in ring.events) is sees, ring.events
        # Requests need no rights.
        assert ring.values[-1, ring.names.index("latency.requests")] > 0
        assert bool(ring.values[-1, ring.names.index("app.read_calls")] > 0) is sees


def test_a_client_drops_unneeded_capabilities(server, tmp_path):
    """Reads the client's capabilities from /proc while it sends."""
    arguments = [
        sys.executable,
        "-P",
        "-c",
        CODE,
        "measure",
        f"memcached://{server.address}",
        "--rate",
        "500",
    ]
    arguments += ["--runs", "1", "--duration", "5s", "--clients", "1", "-q", "--out", str(tmp_path / "s")]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end, pids = time.monotonic() + 30, ""
        while not pids and time.monotonic() < end:
            pattern = f"hindmost.agent client .*{tmp_path}"
            pids = subprocess.run(
                ["pgrep", "-f", pattern], capture_output=True, text=True, check=False
            ).stdout
        time.sleep(1)
        assert pids
        for pid in pids.split():
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
            assert int(status["CapEff"], 16) & (1 << 21 | 1 << 5 | 1 << 1 | 1 << 19) == 0
            assert status["NoNewPrivs"].strip() == "1"
        process.send_signal(signal.SIGINT)


def test_root_has_the_right_to_send_signals():
    assert capabilities() >= {"CAP_KILL"}
