"""WebSocket at a real server: replies are matched, close codes are kept, and a refused handshake ends before the load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from certificates import issue
from measuring import Answer, assert_counts_add_up, measure, run_server, wait_for

from hindmost.core.targets import ManagedServer, load_target_file

pytest.importorskip("tornado")

FEW = ("--clients", "1", "--connections", "2", "--rate", "300", "--timeout", "2s", "--runs", "1")
SHORT = ("--duration", "0.4s", "--warmup", "0.2s")
SERVER = """
import asyncio, json, ssl, sys
from tornado.web import Application
from tornado.websocket import WebSocketHandler

class Echo(WebSocketHandler):
    async def on_message(self, message):
        await self.write_message(message, binary=isinstance(message, bytes))

class Pieces(WebSocketHandler):
    '''Each reply in three frames, with a ping among them.'''
    async def on_message(self, message):
        words = message.encode()
        write = self.ws_connection._write_frame
        pings = self.settings["pings"].setdefault(id(self), [0, 0])
        pings[0] += 1
        await write(False, 1, words[:2])
        await write(True, 9, b"%d" % pings[0])
        await write(False, 0, words[2:4])
        await write(True, 0, words[4:])
    def on_pong(self, data):
        self.settings["pings"][id(self)][1] = int(data)
        open(sys.argv[3], "w").write(json.dumps(list(self.settings["pings"].values())))

class Closing(WebSocketHandler):
    '''Every thirtieth message makes it close.'''
    got = 0
    async def on_message(self, message):
        self.got += 1
        if self.got % 30:
            await self.write_message(message)
        else:
            self.close(1011, "no more")

class Guarded(Echo):
    def prepare(self):
        if self.request.headers.get("Authorization") != "Bearer word":
            self.set_status(401)
            self.finish()

async def serve():
    context = None
    if len(sys.argv) > 4:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[4], sys.argv[5])
    handlers = [("/echo", Echo), ("/pieces", Pieces), ("/closing", Closing), ("/guarded", Guarded)]
    Application(handlers, pings={}).listen(int(sys.argv[2]), sys.argv[1], ssl_options=context)
    await asyncio.Event().wait()

asyncio.run(serve())
"""
TARGET = """
name = "sockets"
protocol = "ws"
path = "/echo"
command = ["{{python}}", "-P", "{folder}/server.py", "{{host}}", "{{port}}", "{folder}/pings"{secured}]
{more}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("websocket")
    (path / "server.py").write_text(SERVER)
    return path


@pytest.fixture(scope="module")
def server(folder: Path) -> Any:
    file = folder / "sockets.toml"
    file.write_text(TARGET.format(folder=folder, secured="", more=""))
    with run_server(load_target_file(file)) as running:
        yield running


def measure_path(server: ManagedServer, path: str, out: Path, *options: object) -> Answer:
    return measure(f"ws://{server.address}{path}", out, *FEW, *SHORT, *options)


def test_fragments_are_one_reply_and_pings_between_them_are_answered(server, folder, tmp_path):
    answer = measure_path(server, "/pieces", tmp_path / "study", "--body", "in pieces {{int:1..9}}")
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    counts = answer.result["counts"]
    assert counts["completed"] == counts["scheduled"] > 50, counts

    def newest_are_answered() -> bool:
        """One pong may answer several pings that arrive together (RFC 6455, 5.5.3)."""
        pings = json.loads((folder / "pings").read_text() or "[]")  # sent and last answered, by connection
        return sum(sent for sent, _ in pings) >= counts["completed"] and all(
            sent == last for sent, last in pings
        )

    # The last reply may arrive before the server has recorded the last pong.
    wait_for(newest_are_answered, "an answer to the newest ping of each connection")


def test_a_close_frame_is_an_error_with_its_code_and_the_load_continues(server, tmp_path):
    answer = measure_path(server, "/closing", tmp_path / "study")
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    counts = answer.result["counts"]
    assert counts["completed"] > 4 * counts["errors"] > 0, counts
    assert "errors" in {reason["code"] for reason in answer.result["reasons"]}
    assert "1011" in json.dumps(answer.result["reasons"]), "the server's close code"
    assert answer.study.client()["reconnects"] >= counts["errors"]


def test_a_refused_handshake_opens_no_websocket_and_one_with_a_token_is_measured(
    server, tmp_path, monkeypatch
):
    study = tmp_path / "study"
    for path in ("/nowhere", "/guarded"):
        measure_path(server, path, study).assert_error(1, "request-refused")
        assert not study.exists()
    monkeypatch.setenv("HINDMOST_TEST_TOKEN", "word")
    header = "Authorization: Bearer env:HINDMOST_TEST_TOKEN"
    messages = [
        {"name": "there", "send": "item {{uuid}}", "miss": "none", "error": "ERR"},
        {"name": "gone", "send": "none of it", "miss": "none", "error": "ERR"},
        {"name": "bad", "send": "ERR so it is", "miss": "none", "error": "ERR"},
    ]
    file = tmp_path / "messages.json"
    file.write_text(json.dumps({"kind": "messages", "paths": ["/guarded"], "requests": messages}))
    answer = measure_path(server, "", study, "--workload", file, "--header", header)
    assert answer.code in (0, 4, 6), answer.err
    kinds = {name: kind["counts"] for name, kind in answer.result["by_kind"].items()}
    assert kinds["there"]["misses"] == kinds["there"]["errors"] == 0 < kinds["there"]["completed"]
    assert kinds["gone"]["misses"] == kinds["gone"]["completed"] > 0
    assert kinds["bad"]["errors"] == kinds["bad"]["scheduled"] > 0
    stored = [path.read_text(errors="replace") for path in study.rglob("*.json")]
    assert not [text for text in stored if "Bearer word" in text]


@pytest.mark.nightly  # the matrix has a row without TLS, and TLS works the same below every protocol
def test_websockets_are_measured_over_tls(folder, tmp_path):
    issue(folder, "server")
    secured = f', "{folder}/server.pem", "{folder}/server.key"'
    file = folder / "secured.toml"
    file.write_text(TARGET.format(folder=folder, secured=secured, more='[tls]\nca = "ca.pem"'))
    answer = measure(str(file), tmp_path / "study", *FEW, *SHORT)
    assert answer.code in (0, 4, 6), answer.err
    assert answer.result["counts"]["completed"] == answer.result["counts"]["scheduled"] > 50
