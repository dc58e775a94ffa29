"""Streamed replies: the messages that a server sends with planted gaps are timed from the schedule, one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from measuring import Answer, assert_counts_add_up, measure
from odd_servers import DATA, HEADERS, STATUS_200, frame, http2, odd_server

FIRST_S, GAP_S, MESSAGES = 0.03, 0.02, 5
"""The server waits before the first message, and before each of the others: sleeping takes at least so long."""
FEW = (
    *("--clients", "1", "--connections", "40", "--rate", "100", "--timeout", "20s", "--stream"),
    *("--runs", "1", "--duration", "0.5s"),
)
HTTP_SERVER = f"""
import asyncio
import sys

HEAD = b"HTTP/1.1 200 OK\\r\\nContent-Type: %s\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
STREAMS = {{
    b"/events": (b"text/event-stream; charset=utf-8", b"event: token\\ndata: {{}}\\n\\n", b": idle\\n\\n"),
    b"/chunks": (b"application/x-ndjson", b"{{}}\\n", None),
}}

def chunk(data):
    return b"%x\\r\\n%s\\r\\n" % (len(data), data)

async def serve(reader, writer):
    try:
        while True:
            path = (await reader.readuntil(b"\\r\\n\\r\\n")).split()[1]
            if path not in STREAMS:
                writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
                continue
            kind, message, comment = STREAMS[path]
            writer.write(HEAD % kind)
            for number in range({MESSAGES}):
                if comment:
                    writer.write(chunk(comment))
                await asyncio.sleep({GAP_S} if number else {FIRST_S})
                writer.write(chunk(message))
            writer.write(chunk(b""))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def main():
    host, port = sys.argv[1].rsplit(":", 1)
    async with await asyncio.start_server(serve, host, int(port)) as server:
        await server.serve_forever()

asyncio.run(main())
"""
GRPC_SERVER = f"""
import sys
import time
from concurrent import futures
import grpc

def watch(request, context):
    for number in range({MESSAGES}):
        time.sleep({GAP_S} if number else {FIRST_S})
        yield b"\\x0a\\x02ok"

def watch_nothing(request, context):
    return iter(())

def stream(handler):
    return grpc.unary_stream_rpc_method_handler(handler)

server = grpc.server(futures.ThreadPoolExecutor(max_workers=40))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("shop.Orders", {{
    "Watch": stream(watch), "Nothing": stream(watch_nothing),
}})])
assert server.add_insecure_port(sys.argv[1])
server.start()
server.wait_for_termination()
"""
TARGET = """
name = "streams"
protocol = "PROTOCOL"
command = ["{python}", "-P", "{dir}/server.py", "{address}"]
path = "PATH"
[files]
"server.py" = '''SERVER'''
"""


def target(folder: Path, protocol: str, path: str) -> str:
    """Write a target file of a server that streams with the planted gaps."""
    text = TARGET.replace("PROTOCOL", protocol).replace("PATH", path)
    server = GRPC_SERVER if protocol == "grpc" else HTTP_SERVER
    (folder / "streams.toml").write_text(text.replace("SERVER", server))
    return str(folder / "streams.toml")


def mean_s(answer: Answer, times: str) -> float:
    """Return the mean of these times, which is exact."""
    found: dict[str, Any] = answer.result[times]
    seconds: float = found["mean"]["value"] / 1e6
    return seconds


@pytest.mark.parametrize(
    ("protocol", "path"), [("http", "/events"), ("http", "/chunks"), ("grpc", "/shop.Orders/Watch")]
)
def test_times_of_messages_add_up_to_the_planted_ones(tmp_path: Path, protocol: str, path: str) -> None:
    if protocol == "grpc":
        pytest.importorskip("grpc")
    answer = measure(target(tmp_path, protocol, path), tmp_path / "study", *FEW)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    counts, messages = answer.result["counts"], answer.result["messages"]
    assert counts["completed"] == counts["scheduled"] > 10, answer.result["reasons"]
    assert messages == {
        "replies": counts["completed"],
        "messages": MESSAGES * counts["completed"],
        "empty": 0,
    }
    first_s, gap_s = mean_s(answer, "first_message_us"), mean_s(answer, "message_gap_us")
    assert first_s >= FIRST_S
    # A message seen late makes the next gap shorter, but the last message is never early.
    last_s = first_s + (MESSAGES - 1) * gap_s
    assert FIRST_S + (MESSAGES - 1) * GAP_S <= last_s <= mean_s(answer, "latency_us")
    run = answer.result["runs"][0]
    assert run["first_message_us"]["mean"] / 1e6 == pytest.approx(first_s)
    assert run["message_gap_us"]["mean"] / 1e6 == pytest.approx(gap_s)


@pytest.mark.parametrize(("protocol", "path"), [("http", "/"), ("grpc", "/shop.Orders/Nothing")])
def test_replies_without_a_message_are_counted(tmp_path: Path, protocol: str, path: str) -> None:
    if protocol == "grpc":
        pytest.importorskip("grpc")
    answer = measure(target(tmp_path, protocol, path), tmp_path / "study", *FEW)
    assert answer.code in (0, 4, 6), answer.err
    completed = answer.result["counts"]["completed"]
    assert answer.result["messages"] == {"replies": 0, "messages": 0, "empty": completed}
    assert (answer.result["first_message_us"], answer.result["message_gap_us"]) == (None, None)
    assert "empty-replies" in {reason["code"] for reason in answer.result["reasons"]}


def test_events_over_http_2_are_messages(tmp_path: Path) -> None:
    def reply(stream: int) -> bytes:
        fields = STATUS_200 + b"\x0f\x10\x11text/event-stream"  # content-type: index 31
        events = frame(DATA, 0, stream, b"data: a\n\nda") + frame(DATA, 1, stream, b"ta: b\n\n")
        return frame(HEADERS, 4, stream, fields) + events

    with odd_server(http2(reply, good=reply)) as address:
        answer = measure(f"http2://{address}/", tmp_path / "study", *FEW)
    assert answer.code in (0, 4, 6), answer.err
    completed = answer.result["counts"]["completed"]
    assert completed == answer.result["counts"]["scheduled"] > 10
    assert answer.result["messages"] == {"replies": completed, "messages": 2 * completed, "empty": 0}


def test_only_http_and_grpc_have_streams(tmp_path: Path) -> None:
    for url in ("ws://127.0.0.1:1/", "memcached://127.0.0.1:1"):
        measure(url, tmp_path / "study", *FEW).assert_error(2, "unsupported", option="--stream")
