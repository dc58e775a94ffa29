"""Text from outside reaches a terminal, a log, Markdown and JUnit without control sequences."""

from __future__ import annotations

import io
import json
import os
import pty
import socket
import subprocess
import sys
import threading

import pytest

from hindmost.cli import main
from hindmost.core.escapes import Plain, plain
from hindmost.core.notes import Note
from hindmost.errors import HindmostError, UsageError

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b8m\u202e\r\x00"


def is_harmless(text: str) -> bool:
    return not set(text) & set("\x1b\x07\x9b\u202e\r\x00")


def test_errors_hints_and_notes_contain_no_control_sequences():
    error = UsageError("bad-value", f"a {EVIL}", hint=f"b {EVIL}", value=EVIL)
    assert is_harmless(f"{error}{error.message}{error.hint}")
    assert error.fields["value"] == EVIL, "programs get the original value"
    assert is_harmless(str(Note("bad-value", EVIL)))
    assert plain("a\n\tb é") == "a\n\tb é"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_output_keeps_colours_only_and_only_on_a_terminal(stream):
    stream_ = stream()
    print(f"\x1b[31mred\x1b[0m {EVIL}\x1b[8mhidden", file=Plain(stream_))
    text = stream_.getvalue()
    assert text.startswith("\x1b[31mred\x1b[0m") == (stream is Terminal)
    assert is_harmless(text.replace("\x1b[31m", "").replace("\x1b[0m", ""))


def serve_status(status: str) -> int:
    """Serve HTTP with this status line; return the port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                client.recv(4096)
                client.sendall(
                    f"HTTP/1.1 500 {status}\r\nServer: {status}\r\nContent-Length: 0\r\n\r\n".encode()
                )

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


@pytest.mark.parametrize("json_", [(), ("--json",)])
def test_a_servers_status_line_does_not_reach_the_terminal(capsys, tmp_path, json_):
    port = serve_status("\x1b]0;owned\x07\x1b[2J")
    main(["measure", f"http://127.0.0.1:{port}/", "--rate", "100", "--out", str(tmp_path / "s"), *json_])
    output = capsys.readouterr()
    assert is_harmless(output.out + output.err)
    if json_:
        assert json.loads(output.out)["code"]


def test_a_manifests_kind_and_target_do_not_reach_the_terminal(capsys, tmp_path):
    study = tmp_path / "study"
    study.mkdir()
    plan = {"target": EVIL}
    manifest = {"schema": "hindmost.study/1", "kind": EVIL, "plan": plan, "host": {}, "created": EVIL}
    (study / "manifest.json").write_text(json.dumps(manifest))
    for command in (
        ["study", "list", str(tmp_path)],
        ["study", "report", str(study)],
        ["measure", "--resume", str(study)],
    ):
        main(command)
        output = capsys.readouterr()
        assert is_harmless(output.out + output.err), command


def test_a_hostile_path_in_an_error_does_not_control_a_real_terminal(tmp_path):
    controller, terminal = pty.openpty()
    code = "import sys; from hindmost.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-P", "-c", code, "study", "report", str(tmp_path / "a\x1b]0;owned\x07")]
    with subprocess.Popen(command, stdout=terminal, stderr=terminal):
        os.close(terminal)
        output = b""
        while True:
            try:
                output += os.read(controller, 4096)
            except OSError:
                break
    os.close(controller)
    assert b"error[" in output
    assert b"\x1b]" not in output
    assert b"\x07" not in output


def test_an_error_keeps_its_message_when_pickled():
    assert HindmostError("bad-value", "x").__reduce__()[1][1] == ("x",)
