"""A load host does what its controller signed, once, and nothing else."""

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
from hindmost.errors import ClientError, HostUnfit, TargetError
from hindmost.fleet.dask import quiet
from hindmost.fleet.dask.clients import DaskTeam
from hindmost.fleet.dask.clock import Offset, drift_ppm, offset_of
from hindmost.fleet.dask.files import pack_files, unpack_files
from hindmost.fleet.dask.host import COMMANDS, Host
from hindmost.fleet.dask.replies import Fault, error_document, error_from, read_reply
from hindmost.fleet.dask.session import RejectedCommand, Signer, Verifier


def test_a_word_is_heard_as_it_was_said():
    signer = Signer()
    host = Verifier(signer.public, "a")
    assert host.read(*signer.sign("a", {"hello": {}})) == {"hello": {}}


def test_words_that_overtake_each_other_are_heard():
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
        ("again", "repeated"),
    ],
)
def test_a_word_that_is_not_its_controllers_is_refused(change, reason):
    signer = Signer()
    host = Verifier(signer.public, "a")
    text, signature = signer.sign("b" if change == "host" else "a", {"start": {}})
    if change == "again":
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


def error_of(say: dict[str, object], signer: Signer | None = None) -> ClientError:
    """The error that a host answers with, as the controller has it."""
    ours = Signer()

    async def work() -> str:
        host = Host(Verifier(ours.public, "a"), Server())
        found = await host.obey(*(signer or ours).sign("a", say))
        await host.close()
        return found

    (word,) = say
    fault = read_reply("a", word if word in COMMANDS else "hello", asyncio.run(work())).error
    assert fault is not None
    return error_from("a", fault)


def test_a_host_knows_no_word_for_a_command_line():
    assert not {"run", "exec", "shell", "command"} & set(COMMANDS)
    error = error_of({"shell": {"command": "id"}})
    assert_error(error, "rejected-command", reason="unknown", value="shell", host="a")


def test_a_plan_of_another_controller_begins_nothing(tmp_path):
    start = {"start": {"folder": str(tmp_path), "clients": [], "files": {}}}
    error = error_of(start, Signer())
    assert_error(error, "rejected-command", reason="signature")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("kind", "exit_code"), [(HostUnfit, 5), (TargetError, 1)])
def test_an_error_keeps_its_code_fields_and_exit_code_on_its_way_to_the_controller(kind, exit_code):
    error = kind("write", "no room", hint="make some", path=Path("/tmp/x"), least=3)
    told = error_from("a", Fault(**json.loads(json.dumps(error_document(error)))))
    assert_error(told, "write", path="/tmp/x", least=3, host="a")
    assert (told.hint, told.exit_code) == ("make some", exit_code)


@each_row("name", ["/etc/passwd", "../x.toml", "memcached://127.0.0.1:1", "no-such-server"])
def test_a_server_elsewhere_is_started_by_a_name_that_its_host_knows(name):
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
def test_a_reply_that_no_host_sends_is_refused(command, text):
    with raises(ClientError, "bad-reply", host="a", command=command):
        read_reply("a", command, text)


def test_an_error_of_a_host_cannot_pass_as_ours():
    fault = Fault(
        code="no-such-code", message="x\x1b[2J", fields={"code": "y", "host": "b", "hint": "z", "n": 1}
    )
    error = error_from("a", fault)
    assert_error(error, "bad-reply", host="a", n=1)
    assert "\x1b" not in error.message


class Sends:
    """A channel whose host answers `fetch` as it likes."""

    def __init__(self, said: list[object]) -> None:
        self.said = list(said)

    def ask(self, host: str, say: dict[str, object], patience_s: float = 0.0) -> SimpleNamespace:
        return SimpleNamespace(said=self.said.pop(0), trip=(0, 1, 1, 2))


def fetched(folder: Path, *said: object) -> None:
    team = DaskTeam(Sends(said), {}, [], {"a": [0]}, folder)
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
def test_a_host_gives_files_of_its_own_clients_alone(name, tmp_path):
    with raises(ClientError, "bad-reply", host="a", command="fetch"):
        fetched(tmp_path, [(name, 1)], "eA==")
    assert not list(tmp_path.rglob("*"))


def test_a_host_cannot_replace_a_file_or_fill_the_disk(tmp_path):
    (tmp_path / "client-0.json").write_text("ours")
    for name, size in (("client-0.json", 1), ("client-0.hlog", 1 << 60)):
        with raises(ClientError, "bad-reply", command="fetch"):
            fetched(tmp_path, [(name, size)], "eA==")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["ours"]


@pytest.mark.parametrize("piece", ["", "eHh4", "not base64", "eA"], ids=["none", "longer", "text", "cut"])
def test_a_piece_that_is_not_what_was_announced_ends_the_transfer(piece, tmp_path):
    with pytest.raises(ClientError) as caught:
        fetched(tmp_path, [("client-0.hlog", 2)], piece)
    assert caught.value.code in ("bad-reply", "incomplete-transfer")


def test_a_folder_that_is_not_there_is_named():
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


def test_files_that_a_plan_names_go_with_it_and_the_plan_there_names_the_copies(tmp_path):
    body = tmp_path / "body.json"
    body.write_bytes(b"\x00{}")
    plan = {"workload": {"requests": [{"body": {"file": str(body)}, "path": "/file"}]}, "key": "not a path"}
    files = pack_files([json.dumps(plan)])
    assert list(files) == [str(body)]
    there = tmp_path / "there"
    there.mkdir()
    found = json.loads(unpack_files(json.dumps(plan), files, there))
    copy = found["workload"]["requests"][0]["body"]["file"]
    assert copy.startswith(str(there))
    assert Path(copy).read_bytes() == b"\x00{}"
    assert (found["key"], found["workload"]["requests"][0]["path"]) == ("not a path", "/file")


def test_an_offset_is_that_of_the_fastest_round_trip_and_its_error_covers_the_truth():
    true_ns = 5_000_000
    slow = (0, 900_000 + true_ns, 900_010 + true_ns, 1_000_000)  # the way there took nine tenths
    fast = (2_000_000, 2_030_000 + true_ns, 2_030_010 + true_ns, 2_040_000)
    found = offset_of([slow, fast])
    assert abs(found.offset_ns - true_ns) <= found.error_ns <= 20_000


def test_drift_is_told_in_parts_per_million():
    assert drift_ppm(Offset(0, 1, 0), Offset(-2_000, 1, 10**9)) == pytest.approx(-2.0)


def test_bytes_through_a_connection_and_wakeups_are_counted():
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
            time.sleep(0.1)  # its acknowledgement
            found = quiet.between(begin, quiet.counters())
    assert found["bytes"] == 2000  # both ends are ours
    assert found["wakeups"] >= 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.sampled_from(KEYS), part, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(sorted(COMMANDS)), JSON | st.text(max_size=40))
@settings(max_examples=300)
def test_whatever_a_host_replies_is_of_its_kind_or_refused(command, said):
    text = said if isinstance(said, str) else json.dumps(said)
    refused = None
    try:
        found = read_reply("a", command, text)
    except ClientError as error:
        refused = error.code
    assert refused in (None, "bad-reply")
    if refused is None and found.error is not None:
        assert error_from("a", found.error).fields["host"] == "a"
