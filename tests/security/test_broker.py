"""A hostile load host: Dask lets it run code in the scheduler's process, which is confined and holds no secrets."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("asyncssh", reason="hindmost[fleet] is not installed")
pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from messages import raises

from hindmost.core.fleet.dask import link as link_module
from hindmost.core.fleet.dask.certificates import credentials
from hindmost.core.fleet.dask.link import Link
from hindmost.errors import ClientError

# Dask asks installed packages for their versions and cannot read those below /root.
pytestmark = pytest.mark.filterwarnings("ignore:Mismatched versions")
ATTACKS = {
    "read a world-readable file": "open({world!r}).read()",
    "read a file of the user": "open({own!r}).read()",
    "write to a world-writable folder": "open({folder!r} + '/new', 'w')",
    "remove a file from a world-writable folder": "__import__('os').remove({world!r})",
    "start a program": "__import__('subprocess').run(['/bin/true'])",
    "signal the controller": "__import__('os').kill({controller}, 0)",
    "read the controller's environment": "open('/proc/{controller}/environ').read()",
    "write to the controller's memory": "open('/proc/{controller}/mem', 'r+b')",
}


@pytest.fixture(scope="module")
def attack_results():
    """The result of each attack by a load host, by name, and the state of the controller's broker."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)  # without Landlock every user could read and write here
        yield run_attacks(Path(folder))


def run_attacks(folder: Path) -> dict[str, Any]:
    world, own = folder / "world", folder / "own"
    world.write_text("ours")
    world.chmod(0o666)
    own.write_text("ours")
    own.chmod(0o600)
    names = {"world": str(world), "own": str(own), "folder": str(folder), "controller": os.getpid()}
    controller, host = credentials(["controller", "a"])
    results: dict[str, Any] = {"folder": folder}

    def attack(url: str) -> None:
        from distributed import Client

        with Client(url, security=host.security(), timeout=20) as client:
            results["who"] = client.run_on_scheduler(eval, "__import__('os').getresuid()")
            results["pid"] = client.run_on_scheduler(eval, "__import__('os').getpid()")
            results["environment"] = client.run_on_scheduler(eval, "dict(__import__('os').environ)")
            status = Path(f"/proc/{results['pid']}/status").read_text()
            results["status"] = dict(re.findall(r"^(\w+):[ \t]*(.*)$", status, re.MULTILINE))
            for name, code in ATTACKS.items():
                try:
                    client.run_on_scheduler(eval, f"str({code.format(**names)})")
                    results[name] = "it worked"
                except OSError as error:
                    results[name] = type(error)

    async def ask_broker() -> None:
        link = await Link.start({"credentials": asdict(controller)})
        results["rights"] = link.rights
        try:
            places = ["127.0.0.1", "127.0.0.1", "127.0.0.2"]
            results["urls"] = await asyncio.gather(*(link.ask("listen", str, host=place) for place in places))
            await asyncio.to_thread(attack, results["urls"][0])
        finally:
            await link.close()
            results["left"] = link._folder.exists()

    os.environ["SECRET_OF_A_PLAN"] = "ours"
    try:
        asyncio.run(ask_broker())
    finally:
        del os.environ["SECRET_OF_A_PLAN"]
    return results


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_from_inside_the_broker_is_denied(attack, attack_results):
    if not attack_results["rights"].confined:
        pytest.skip("no Landlock here: Linux 5.13, and 6.12 for signals")
    assert attack_results[attack] is PermissionError
    assert {path.name: path.read_text() for path in attack_results["folder"].iterdir()} == {
        "world": "ours",
        "own": "ours",
    }


def test_the_broker_has_no_rights_and_no_secrets(attack_results):
    if os.geteuid() == 0:
        assert len(set(attack_results["who"])) == 1
        assert 61184 <= attack_results["who"][0] < 65520
        assert attack_results["status"]["Groups"] == ""
    assert attack_results["rights"].user == attack_results["who"][0]
    assert {attack_results["status"][f"Cap{one}"] for one in ("Eff", "Prm", "Inh", "Amb")} == {"0" * 16}
    assert attack_results["status"]["NoNewPrivs"] == "1"
    assert "SECRET_OF_A_PLAN" not in attack_results["environment"]
    assert not attack_results["left"], "the broker's folder"
    assert not Path(f"/proc/{attack_results['pid']}").exists()


def test_the_scheduler_listens_on_the_given_addresses_only(attack_results):
    first, repeated, other = (url.removeprefix("tls://").split(":") for url in attack_results["urls"])
    assert first == repeated
    assert (first[0], other[0]) == ("127.0.0.1", "127.0.0.2")


def test_a_stranger_is_refused_and_other_addresses_do_not_listen():
    (controller,) = credentials(["controller"])

    async def ask_broker() -> None:
        from distributed.comm import connect

        link = await Link.start({"credentials": asdict(controller)})
        try:
            url = await link.ask("listen", str, host="127.0.0.1")
            with pytest.raises(OSError, match=r"."):
                await connect(
                    url, timeout=3, **credentials(["x"])[0].security().get_connection_args("client")
                )
            port = int(url.rpartition(":")[2])
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.3", port), timeout=3)
        finally:
            await link.close()

    asyncio.run(ask_broker())


MALFORMED = [
    b"not JSON\n",
    b"[]\n",
    b'{"id": 1}\n' * 3 + b"{}\n",
    b'{"id": [], "ok": 1}\n',
    b"[" * 100_000 + b"\n",
    b"\xff\n",
    b'{"id": 1, "ok": 7}\n',
    b'{"id": 1, "error": {"kind": 1, "code": []}}\n',
]


@pytest.mark.parametrize("reply", MALFORMED, ids=range(len(MALFORMED)))
def test_a_hostile_broker_cannot_break_its_controller(reply, tmp_path, monkeypatch):
    (tmp_path / "said").write_bytes(reply)
    script = tmp_path / "broker"
    script.write_text(
        f'#!/bin/sh\nread line\nprintf \'{{"id": 0, "ok": {{"user": 1, "confined": true}}}}\\n\'\nread line\ncat {tmp_path}/said\nexec sleep 60\n'
    )
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))

    async def ask_broker() -> None:
        link = await Link.start({})
        try:
            await link.ask("listen", str, host="127.0.0.1")
        finally:
            await link.close()

    with raises(ClientError, "broker-failed"):
        asyncio.run(asyncio.wait_for(ask_broker(), 20))


@pytest.mark.parametrize(
    "script",
    ["exec sleep 60", "exit 3", 'echo \'{"id": 0, "ok": {}}\'; exec sleep 60'],
    ids=["deaf", "ended", "no rights"],
)
def test_a_broker_that_does_not_start_leaves_no_files(script, tmp_path, monkeypatch):
    program = tmp_path / "broker"
    program.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(link_module, "START_S", 1.0)
    monkeypatch.setattr(link_module, "END_S", 0.1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with raises(ClientError, "broker-failed"):
        asyncio.run(asyncio.wait_for(Link.start({}), 20))
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broker", "pid"]


def test_the_controller_does_not_import_dask():
    code = (
        "import sys; from hindmost.core.fleet.dask import fleet, compute, scheduler; from hindmost.core.fleet.opening import need_dask;"
        "need_dask(); sys.exit(bool({'dask', 'distributed', 'cloudpickle'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0
