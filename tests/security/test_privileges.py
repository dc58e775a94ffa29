"""Each command works with exactly the rights that the table names for it, and names what is missing without them."""

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

from hindmost.privileges import NEEDS, capabilities
from hindmost.targets import ManagedServer, preset

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root gives rights away"),
    pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv here: util-linux"),
]
CODE = "import sys; from hindmost.cli import main; sys.exit(main(sys.argv[1:]))"
QUICK = ("--duration", "200ms", "--warmup", "100ms", "--runs", "1", "--clients", "1", "--rate", "500")


def of(command: str) -> tuple[str, ...]:
    return next(one.capabilities for one in NEEDS if one.command == command)


def limited(rights: tuple[str, ...]) -> list[str]:
    """The start of a command that has no capability but these."""
    bounds = ",".join(["-all", *(f"+{one.removeprefix('CAP_').lower()}" for one in rights)])
    return ["setpriv", f"--bounding-set={bounds}", "--inh-caps=-all", sys.executable, "-P", "-c", CODE]


def with_rights(rights: tuple[str, ...], *words: object, for_s: float | None = None):
    """Run a command as root without any capability but these."""
    with subprocess.Popen(
        [*limited(rights), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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


def gets(server) -> int:
    """How many keys the server was asked for, as it counts them."""
    with socket.create_connection((server.address.partition(":")[0], server.port), timeout=10) as link:
        link.sendall(b"stats\r\n")
        said = b""
        while not said.endswith(b"END\r\n"):
            said += link.recv(1 << 16)
    return next(int(line.split()[2]) for line in said.splitlines() if line.startswith(b"STAT cmd_get "))


@pytest.fixture
def loaded(server, tmp_path):
    words = [sys.executable, "-P", "-c", CODE, "measure", f"memcached://{server.address}", "--rate", "1k"]
    words += ["--runs", "1", "--duration", "60s", "--clients", "1", "-q", "--out", str(tmp_path / "load")]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as load:
        before = gets(server)
        wait_for(lambda: gets(server) > before + 1000, "load")
        yield server
        with contextlib.suppress(ProcessLookupError):
            load.send_signal(signal.SIGINT)


def test_a_server_at_a_url_is_measured_without_rights_and_root_is_told_so(server, tmp_path):
    url = f"memcached://{server.address}"
    code, out, err = with_rights(of("measure URL"), "measure", url, *QUICK, "--json", "--out", tmp_path / "a")
    assert code in (0, 4), err
    assert json.loads(out)["counts"]["completed"] > 0
    assert "note[root-not-needed]" in err


@pytest.mark.parametrize(
    "words",
    [
        ["host", "doctor", "--spin", "20ms"],
        ["host", "knobs", "list"],
        ["study", "list", "."],
        ["clone", "simulate", "masstree"],
    ],
)
def test_what_needs_no_rights_has_none(words):
    code, _, err = with_rights((), *words)
    assert code in (0, 5), err
    assert "ermission" not in err


def test_a_setting_is_root_and_no_more(tmp_path):
    code, out, err = with_rights((), "host", "doctor", "--spin", "20ms", "--json")
    assert code in (0, 5), err
    rows = {one["command"]: one["met"] for one in json.loads(out)["privileges"]}
    assert rows["measure URL"]
    assert rows["knobs set, attribute and trial with settings"]
    assert not rows["trace PID"]


@pytest.mark.nightly
def test_requests_are_traced_with_the_rights_of_the_table_and_none_less(loaded):
    words = ("trace", loaded.pid, "--duration", "500ms", "--json")
    rights = of("trace PID")
    code, out, err = with_rights(rights, *words)
    if "not-traceable" in out or "lockdown" in err:
        pytest.skip("requests cannot be traced here")
    assert code == 0, err
    for missing in rights:
        code, out, _ = with_rights(tuple(one for one in rights if one != missing), *words)
        assert code != 0, missing
        assert json.loads(out)["code"]


@pytest.mark.nightly
def test_packets_are_read_with_one_right(server, tmp_path):
    if shutil.which("tcpdump") is None:
        pytest.skip("no tcpdump here")
    words = ("measure", f"memcached://{server.address}", *QUICK, "--verify-wire", "--json", "--out")
    for rights, missing in ((of("measure --verify-wire"), False), ((), True)):
        code, out, err = with_rights(rights, *words, tmp_path / f"{missing}")
        assert code in (0, 4), err
        assert ("no-capture" in {one["code"] for one in json.loads(out)["reasons"]}) is missing


@pytest.fixture
def burner(tmp_path):
    """A process of another user that never rests."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        program = Path(shutil.copy("/bin/sh", f"{folder}/burner"))
        program.chmod(0o755)
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(program)]
        with subprocess.Popen([*words, "-c", "while :; do :; done"]) as process:
            yield process.pid
            process.kill()


SHORT = ("--normal", "1us", "--pairs", "6", "--window", "100ms", "--settle", "50ms", "--json")
BURN = f"{sys.executable} -c 'while True: pass'"
PROMISE = ("--promise", "p90<10s", "--window", "200ms", "--duration", "1s", "--json")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("row", "words"),
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
def test_a_command_works_with_the_rights_of_its_row_and_none_less(row, words, server, tmp_path):
    def run(rights: tuple[str, ...]) -> tuple[int, str, str]:
        places = {"url": f"memcached://{server.address}", "folder": tmp_path / f"{len(rights)}-{rights[:1]}"}
        return with_rights(rights, *(word.format(**places) for word in words))

    rights = of(row)
    code, out, err = run(rights)
    assert code in (0, 3, 4), err
    assert "code" not in json.loads(out)
    for missing in rights:
        code, out, err = run(tuple(one for one in rights if one != missing))
        assert code in (1, 5), (missing, err)
        assert json.loads(out)["code"] in ("needs-root", "not-listening"), missing


@pytest.mark.nightly
def test_a_neighbour_of_another_user_is_paused_with_its_right_alone(server, burner):
    rights = of("the same, with neighbours of other users")
    for missing, left_out in (((), False), (("CAP_KILL",), True)):
        some = tuple(one for one in rights if one not in missing)
        code, out, err = with_rights(some, "diagnose", f"memcached://{server.address}", *SHORT)
        assert code in (0, 4), err
        assert (f"neighbour burner ({burner})" in json.loads(out)["not_tried_notes"]) is left_out, out


@pytest.mark.nightly
def test_a_setting_of_an_interface_takes_one_right(tmp_path):
    """In a network of its own, whose interfaces are seen below a /sys of its own."""
    rights = of("the same, of a network interface")
    words = ["host", "knobs", "set", "gro@lo", "off", "--json", "--journal", str(tmp_path / "journal")]
    within = ["unshare", "--net", "--mount", "sh", "-c", 'mount -t sysfs none /sys; exec "$@"', "sh"]
    for some, fits in ((rights, True), ((), False)):
        done = subprocess.run(
            [*within, *limited(some), *words], capture_output=True, text=True, timeout=120, check=False
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert (done.returncode == 0) is fits, done


def test_a_client_gives_up_what_it_does_not_need(server, tmp_path):
    """Its capabilities while it sends, as the kernel shows them."""
    words = [sys.executable, "-P", "-c", CODE, "measure", f"memcached://{server.address}", "--rate", "500"]
    words += ["--runs", "1", "--duration", "5s", "--clients", "1", "-q", "--out", str(tmp_path / "s")]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as measuring:
        end, found = time.monotonic() + 30, ""
        while not found and time.monotonic() < end:
            pattern = f"hindmost.agent client .*{tmp_path}"
            found = subprocess.run(
                ["pgrep", "-f", pattern], capture_output=True, text=True, check=False
            ).stdout
        time.sleep(1)
        assert found
        for pid in found.split():
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
            assert int(status["CapEff"], 16) & (1 << 21 | 1 << 5 | 1 << 1 | 1 << 19) == 0
            assert status["NoNewPrivs"].strip() == "1"
        measuring.send_signal(signal.SIGINT)


def test_the_table_knows_what_we_have():
    assert capabilities() >= {"CAP_KILL"}
