"""Limits against real servers: a healthy one, failing ones, one that dies, and ones that cannot be measured."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree as Xml

from impostor import impostor, memcached, reply_with
from measuring import Answer, ProcessTracker, descendants, finish, hindmost, measure, start, wait_for

SYNTH = 'synth?service={"kind":"deterministic","mean_us":10}'
FEW = ("--clients", "1", "--connections", "4")
FIVE = (*FEW, "--runs", "5", "--rate", "300", "--duration", "0.3s", "--warmup", "0.1s", "--timeout", "1s")


@contextmanager
def web(code: int, *, failing_every: int = 0) -> Iterator[str]:
    """An HTTP server that answers with `code`, or with a 500 to one request in `failing_every`."""
    requests = itertools.count(1)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.requests = getattr(self, "requests", 0) + 1
            # The first request on a connection may be the probe.
            bad = failing_every and self.requests > 1 and next(requests) % failing_every == 0
            self.send_response(500 if bad else code)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def few_keys(folder: Path) -> Path:
    """A workload whose values are stored quickly."""
    file = folder / "few.json"
    file.write_text(json.dumps({"kind": "key-value", "keys": 100, "get_ratio": 1.0}))
    return file


def results(answer: Answer) -> dict[str, str]:
    """The result of each limit."""
    assert answer.out, answer.err
    return {limit["limit"]: limit["result"] for limit in answer.result["limits"]}


def test_a_limit_is_held_crossed_or_undecided_with_an_exit_code_for_each(
    process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    few = ("--workload", few_keys(tmp_path))
    # These results do not depend on interference.
    answer = measure(SYNTH, study, *FIVE, *few, "-q", "--require", "p50<10m,errors<5%,unanswered<99%")
    assert results(answer) == dict.fromkeys(("p50<10m", "errors<5%", "unanswered<99%"), "held"), answer.err
    assert answer.code == 0, "the exit code does not depend on the verdict"
    for limit, code, result in (("errors<0.001%", 4, "undecided"), ("p50>10m", 3, "crossed")):
        report = hindmost("study", "report", study, "--json", "--require", limit)
        assert (report.code, results(report)) == (code, {limit: result}), report.err


def test_a_server_that_fails_one_request_in_twenty_crosses_a_limit_on_errors(tmp_path: Path) -> None:
    with web(200, failing_every=20) as url:
        answer = measure(url, tmp_path / "study", *FIVE, "--require", "errors<1%", "--require", "errors<40%")
    assert answer.code == 3, answer.err
    assert results(answer) == {"errors<1%": "crossed", "errors<40%": "held"}
    (limit, _) = answer.result["limits"]
    assert 0.03 < limit["value"] < 0.07


def count_connections(port: int) -> int:
    """Connections of the server at a port: those in state ESTABLISHED (proc(5), /proc/net/tcp)."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


def test_a_server_that_dies_under_load_crosses_its_limits_and_earlier_runs_are_judged(
    process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    load = ("--runs", "2", "--rate", "300", *FEW, "--duration", "2s", "--warmup", "0.2s", "--quantiles", "50")
    options = ("--workload", str(few_keys(tmp_path)), "--require", "errors<40%")
    process = start("measure", SYNTH, *load, *options, "--out", out, "--json")

    def loaded_servers() -> list[int]:
        """The server of the second run, once all clients are connected to it."""
        lines = descendants(process.pid) if list(out.glob("runs/0001/run.json")) else {}
        ports = [
            (pid, re.search(r'agent synth .*"address": "[^"]*:(\d+)"', line)) for pid, line in lines.items()
        ]
        return [pid for pid, port in ports if port and count_connections(int(port[1])) >= 4]

    wait_for(loaded_servers, "the load of the second run")
    time.sleep(0.7)  # the few keys are stored, and most of the measurement is still to come
    os.kill(loaded_servers()[0], signal.SIGKILL)
    answer = finish(process, out)
    assert answer.code == 3, answer.err
    assert len(answer.study.runs()) == 1
    report = hindmost("study", "report", out, "--json", "--require", "errors<40%")
    assert (report.code, results(report)) == (4, {"errors<40%": "undecided"}), "one run has no interval"
    process_tracker.assert_none_left()


def test_a_server_that_cannot_be_measured_crosses_its_limits_and_is_an_error_without_limits(
    tmp_path: Path,
) -> None:
    study = tmp_path / "study"
    files = ("--junit", tmp_path / "l.xml", "--markdown", tmp_path / "l.md")
    with web(500) as failing:
        answer = measure(failing, study, *FIVE, "--require", "errors<1%,misses<5%", *files)
        assert (answer.code, answer.out) == (3, ""), answer.err
        assert Xml.parse(tmp_path / "l.xml").getroot().attrib["failures"] == "1"
        assert "`errors<1%`" in (tmp_path / "l.md").read_text()
        measure(failing, study, *FIVE, "--require", "unanswered<1%").assert_error(1, "server-not-ready")
    # The server no longer listens.
    assert measure(failing, study, *FIVE, "-q", "--require", "errors<1%,misses<5%").code == 3
    measure(failing, study, *FIVE).assert_error(1, "not-listening")
    # An error that the user must correct does not cross a limit.
    broken = tmp_path / "broken.toml"
    broken.write_text('name = "broken"\nprotocol = "http"\ncommand = ["false", "{port}"]\n')
    measure(str(broken), study, *FIVE, "--require", "errors<1%").assert_error(1, "server-failed")
    assert not study.exists() or not list(study.glob("runs/*"))


def test_a_server_with_invalid_replies_crosses_a_limit_on_errors(tmp_path: Path) -> None:
    few = tmp_path / "few.json"
    few.write_text('{"kind": "key-value", "keys": 100, "preload": false, "clean_up": false}')
    report = tmp_path / "l.xml"
    with impostor(memcached(reply_with(b"\x00nonsense\r\n"))) as address:
        options = ("--workload", few, "--require", "errors<1%", "--junit", report)
        answer = measure(f"memcached://{address}", tmp_path / "nonsense", *FIVE, *options)
    assert (answer.code, results(answer)) == (3, {"errors<1%": "crossed"}), answer.err
    assert answer.result["counts"]["errors"] > 0
    assert Xml.parse(report).getroot().attrib["failures"] == "1"
