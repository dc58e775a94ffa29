"""A load host executes each command that its controller signed once, and no other command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import assert_error, raises
from rows import each_row

pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from hindmost.core.fleet.dask import quiet
from hindmost.core.fleet.dask.clients import DaskTeam
from hindmost.core.fleet.dask.clock import Offset, drift_ppm, offset_of
from hindmost.core.fleet.dask.files import pack_files, unpack_files
from hindmost.core.fleet.dask.host import COMMANDS, Host
from hindmost.core.fleet.dask.replies import Fault, error_document, error_from, read_reply
from hindmost.core.fleet.dask.session import RejectedCommand, Signer, Verifier
from hindmost.errors import ClientError, HostUnfit, TargetError


def test_a_signed_command_is_read():
    signer = Signer()
    host = Verifier(signer.public, "a")
    assert host.read(*signer.sign("a", {"hello": {}})) == {"hello": {}}


def test_reordered_commands_are_read():
    signer = Signer()
    host = Verifier(signer.public, "a")
    first, second = signer.sign("a", {"listen": {}}), signer.sign("a", {"order": {}})
    host.read(*second)
    assert host.read(*first) == {"listen": {}}


@each_row(
    ("change", "reason"),
    [
        ("signature", "signature"),
        ("text", "signature"),
        ("controller", "signature"),
        ("host", "recipient"),
        ("replayed", "repeated"),
    ],
)
def test_a_command_of_another_controller_is_refused(change, reason):
    signer = Signer()
    host = Verifier(signer.public, "a")
    text, signature = signer.sign("b" if change == "host" else "a", {"start": {}})
    if change == "replayed":
        host.read(text, signature)
    if change == "text":
        text = text.replace("start", "knob")
    if change == "signature":
        signature = "00" * 64
    if change == "controller":
        text, signature = Signer().sign("a", {"start": {}})
    with raises(RejectedCommand, "rejected-command", host="a", reason=reason):
        host.read(text, signature)


class Server:
    def __init__(self):
        self.periodic_callbacks = {}


def error_of(command: dict[str, object], signer: Signer | None = None) -> ClientError:
    """Return the error of a host's reply, as the controller gets it."""
    controller = Signer()

    async def work() -> str:
        host = Host(Verifier(controller.public, "a"), Server())
        reply = await host.obey(*(signer or controller).sign("a", command))
        await host.close()
        return reply

    (name,) = command
    fault = read_reply("a", name if name in COMMANDS else "hello", asyncio.run(work())).error
    assert fault is not None
    return error_from("a", fault)


def test_no_command_runs_a_command_line():
    assert not {"run", "exec", "shell", "command"} & set(COMMANDS)
    error = error_of({"shell": {"command": "id"}})
    assert_error(error, "rejected-command", reason="unknown", value="shell", host="a")


def test_a_plan_of_another_controller_starts_nothing(tmp_path):
    start = {"start": {"folder": str(tmp_path), "clients": [], "files": {}}}
    error = error_of(start, Signer())
    assert_error(error, "rejected-command", reason="signature")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("kind", "exit_code"), [(HostUnfit, 5), (TargetError, 1)])
def test_an_error_of_a_host_keeps_its_code_fields_and_exit_code(kind, exit_code):
    error = kind("write", "no room", hint="make some", path=Path("/tmp/x"), least=3)
    received = error_from("a", Fault(**json.loads(json.dumps(error_document(error)))))
    assert_error(received, "write", path="/tmp/x", least=3, host="a")
    assert (received.hint, received.exit_code) == ("make some", exit_code)


@each_row("name", ["/etc/passwd", "../x.toml", "memcached://127.0.0.1:1", "no-such-server"])
def test_a_remote_server_is_started_only_by_a_known_name(name):
    error_of({"serve": {"name": name, "listen": "127.0.0.1", "cpus": []}})


KEYS = ["ok", "error", "heard_ns", "said_ns", "code", "message", "hint", "fields", "unfit", "events", "event",
        "channel", "findings", "version", "address", "index", "cpus", "pid", "status", "x"]  # fmt: skip
REPLIES = [
    ("hello", "not JSON"),
    ("hello", "[" * 100_000),
    ("hello", '{"ok": {"version": "1", "engine": 2, "hostname": "a"}}'),
    ("clock", '{"ok": null, "heard_ns": "soon", "said_ns": 0}'),
    ("clock", '{"ok": {"surprise": 1}}'),
    ("doctor", '{"ok": {"findings": [{"id": "x"}]}}'),
    ("start", '{"ok": [{"index": 0, "cpus": "0-3", "pid": 1}]}'),
    ("listen", '{"ok": {"events": [["zero", {"event": "done"}]], "channel": null}}'),
    ("listen", '{"ok": {"events": [[0, {"event": "ended", "status": "well"}]], "channel": null}}'),
    ("fetch", '{"ok": [["client-0.json", "large"]]}'),
    ("serve", '{"ok": {"address": 1}}'),
    ("serve", '{"ok": "done"}'),
    ("recover", '{"ok": [{"name": "a"}]}'),
    ("order", '{"error": {"message": "no code"}}'),
]


@pytest.mark.parametrize(("command", "text"), REPLIES, ids=range(len(REPLIES)))
def test_a_malformed_reply_is_refused(command, text):
    with raises(ClientError, "bad-reply", host="a", command=command):
        read_reply("a", command, text)


def test_an_error_of_a_host_cannot_be_forged():
    fault = Fault(
        code="no-such-code", message="x\x1b[2J", fields={"code": "y", "host": "b", "hint": "z", "n": 1}
    )
    error = error_from("a", fault)
    assert_error(error, "bad-reply", host="a", n=1)
    assert "\x1b" not in error.message


class FakeChannel:
    """A channel with given replies to `fetch`."""

    def __init__(self, replies: list[object]) -> None:
        self.replies = list(replies)

    def ask(self, host: str, say: dict[str, object], patience_s: float = 0.0) -> SimpleNamespace:
        return SimpleNamespace(said=self.replies.pop(0), trip=(0, 1, 1, 2))


def fetch(folder: Path, *replies: object) -> None:
    team = DaskTeam(FakeChannel(replies), {}, [], {"a": [0]}, folder)
    team.fetch()


HOSTILE = [
    "../../manifest.json",
    "run.json",
    "client-1.json",
    "client-0.json/../x",
    "",
    "client-0",
    "-0.json",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_host_can_send_files_of_its_own_clients_only(name, tmp_path):
    with raises(ClientError, "bad-reply", host="a", command="fetch"):
        fetch(tmp_path, [(name, 1)], "eA==")
    assert not list(tmp_path.rglob("*"))


def test_a_host_cannot_replace_a_file_or_fill_the_disk(tmp_path):
    (tmp_path / "client-0.json").write_text("ours")
    for name, size in (("client-0.json", 1), ("client-0.hlog", 1 << 60)):
        with raises(ClientError, "bad-reply", command="fetch"):
            fetch(tmp_path, [(name, size)], "eA==")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["ours"]


@pytest.mark.parametrize("piece", ["", "eHh4", "not base64", "eA"], ids=["none", "longer", "text", "cut"])
def test_a_piece_that_differs_from_the_announcement_ends_the_transfer(piece, tmp_path):
    with pytest.raises(ClientError) as caught:
        fetch(tmp_path, [("client-0.hlog", 2)], piece)
    assert caught.value.code in ("bad-reply", "incomplete-transfer")


def test_a_missing_folder_is_reported():
    plan = {
        "pacing": "sleep",
        "threads": [{}],
        "phases": {"calibration_s": 0, "measure_s": 0},
        "timeout_s": 0,
    }
    one = {"index": 0, "plan": json.dumps(plan), "cpus": []}
    error = error_of({"start": {"folder": "/no/such/folder", "clients": [one], "files": {}}})
    assert_error(error, "write", host="a")
    assert error.fields["path"].startswith("/no/such/folder/")


def test_files_of_a_plan_are_sent_and_the_remote_plan_names_the_copies(tmp_path):
    body = tmp_path / "body.json"
    body.write_bytes(b"\x00{}")
    plan = {"workload": {"requests": [{"body": {"file": str(body)}, "path": "/file"}]}, "key": "not a path"}
    files = pack_files([json.dumps(plan)])
    assert list(files) == [str(body)]
    remote = tmp_path / "remote"
    remote.mkdir()
    unpacked = json.loads(unpack_files(json.dumps(plan), files, remote))
    copy = unpacked["workload"]["requests"][0]["body"]["file"]
    assert copy.startswith(str(remote))
    assert Path(copy).read_bytes() == b"\x00{}"
    assert (unpacked["key"], unpacked["workload"]["requests"][0]["path"]) == ("not a path", "/file")


def test_the_offset_comes_from_the_fastest_round_trip():
    true_ns = 5_000_000
    slow = (0, 900_000 + true_ns, 900_010 + true_ns, 1_000_000)  # the outbound path took nine tenths
    fast = (2_000_000, 2_030_000 + true_ns, 2_030_010 + true_ns, 2_040_000)
    offset = offset_of([slow, fast])
    assert abs(offset.offset_ns - true_ns) <= offset.error_ns <= 20_000


def test_drift_is_in_parts_per_million():
    assert drift_ppm(Offset(0, 1, 0), Offset(-2_000, 1, 10**9)) == pytest.approx(-2.0)


def test_bytes_and_wakeups_are_counted():
    import socket
    import time

    with (
        socket.create_server(("127.0.0.1", 0)) as there,
        socket.create_connection(there.getsockname()) as one,
    ):
        other, _ = there.accept()
        with other:
            begin = quiet.counters()
            time.sleep(0.02)
            one.sendall(b"x" * 1000)
            assert len(other.recv(2000)) == 1000
            time.sleep(0.1)  # wait for the acknowledgement
            found = quiet.between(begin, quiet.counters())
    assert found["bytes"] == 2000  # both ends are in this process
    assert found["wakeups"] >= 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.sampled_from(KEYS), part, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(sorted(COMMANDS)), JSON | st.text(max_size=40))
@settings(max_examples=300)
def test_every_reply_is_valid_or_refused(command, reply):
    text = reply if isinstance(reply, str) else json.dumps(reply)
    code = None
    try:
        parsed = read_reply("a", command, text)
    except ClientError as error:
        code = error.code
    assert code in (None, "bad-reply")
    if code is None and parsed.error is not None:
        assert error_from("a", parsed.error).fields["host"] == "a"
