"""Limits against real servers: one that is well, slow, saturated, failing, dying, and the jobs of examples/ci."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from impostor import impostor, memcached, saying
from measuring import (
    Answer,
    Household,
    finish,
    hindmost,
    measure,
    need,
    need_two_processors,
    offspring,
    start,
    wait_for,
)
from neighbours import disturber

ROOT = Path(__file__).parents[2]
SYNTH = 'synth?service={"kind":"deterministic","mean_us":%d}'
FEW = ("--clients", "1", "--connections", "4")
FIVE = (*FEW, "--runs", "5", "--rate", "300", "--timeout", "1s")


class Silent(BaseHTTPRequestHandler):
    """Keeps connections open, and no log."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def answering(handler: type[Silent]) -> Iterator[str]:
    """An HTTP server; its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@contextmanager
def web(*, failing_every: int = 0) -> Iterator[str]:
    """An HTTP server, of whose replies one in so many is a 500."""
    asked = itertools.count(1)

    class Handler(Silent):
        def do_GET(self) -> None:
            self.heard = getattr(self, "heard", 0) + 1
            # The first on a connection may be the look whether the server is well.
            bad = failing_every and self.heard > 1 and next(asked) % failing_every == 0
            self.send_response(500 if bad else 200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

    with answering(Handler) as address:
        yield address


def results(answer: Answer) -> dict[str, str]:
    """Each limit and what became of it, which standard error says as well."""
    assert answer.out, answer.err
    limits = answer.result["limits"]
    for one in limits:
        assert f"limit {one['limit']} {one['result']}: {one['text']}" in answer.err.splitlines()
    return {one["limit"]: one["result"] for one in limits}


def test_a_server_that_is_well_holds_what_a_noisy_host_cannot_bend(
    household: Household, tmp_path: Path
) -> None:
    answer = measure(
        SYNTH % 10, tmp_path / "study", *FIVE, "-q", "--require", "p50<10m,errors<5%,unanswered<50%"
    )
    assert results(answer) == dict.fromkeys(("p50<10m", "errors<5%", "unanswered<50%"), "held"), answer.err
    assert answer.code == 0, "whatever the verdict is"


def test_a_server_that_fails_one_request_in_twenty_crosses_a_limit_on_errors(tmp_path: Path) -> None:
    with web(failing_every=20) as url:
        answer = measure(url, tmp_path / "study", *FIVE, "--require", "errors<1%", "--require", "errors<40%")
    assert answer.code == 3, answer.err
    assert results(answer) == {"errors<1%": "crossed", "errors<40%": "held"}
    (one, _) = answer.result["limits"]
    assert 0.03 < one["value"] < 0.07


def test_a_slow_server_crosses_a_limit_on_latency_unless_the_host_could_have_made_it_slow(
    tmp_path: Path,
) -> None:
    words = (*FEW, "--rate", "20", "--duration", "1s", "--runs", "6", "--workload", few_keys(tmp_path, 5))
    answer = measure(SYNTH % 20_000, tmp_path / "study", *words, "--require", "p50<5ms")
    (one,) = answer.result["limits"]
    assert one["low"] > 5_000.0
    assert (answer.code, one["result"]) == (3, "crossed") or (one["blame"] and answer.code in (4, 6)), (
        answer.err
    )


def test_a_saturated_server_crosses_throughput_and_is_never_the_instruments_fault(tmp_path: Path) -> None:
    words = (*FEW, "--runs", "3", "--rate", "5k", "--timeout", "0.5s", "--workload", few_keys(tmp_path))
    words = (*words, "--pacing", "spin")  # one that sleeps may have itself to blame
    answer = measure(
        SYNTH % 1_000, tmp_path / "study", *words, "--require", "unanswered<1%", "--require", "p50<1ms"
    )
    assert results(answer)["unanswered<1%"] == "crossed" or answer.result["limits"][0]["blame"] == "host", (
        answer.err
    )
    assert answer.code == 3 or answer.result["limits"][0]["blame"], answer.err


@pytest.mark.memcached
def test_a_client_without_a_processor_of_its_own_is_the_instruments_fault_alone(tmp_path: Path) -> None:
    """Server and client are given one processor, and wait for each other: asked again where the host took it from both."""
    need("memcached")
    cpu = need_two_processors()[0]
    words = ("--rate", "100k", "--runs", "4", "--server-cpus", cpu, "--client-cpus", cpu, "--clients", "1")
    for attempt in range(3):
        study = tmp_path / f"study-{attempt}"
        answer = measure("memcached", study, *words, "--workload", few_keys(tmp_path))
        if answer.code == 6 or "the host took the processors" not in answer.err:
            break
    assert (answer.code, answer.result["verdict"]) == (6, "invalid"), answer.err
    for limits, code, blame in (
        ("p50<1us", 6, "instrument"),  # it would be crossed, but it may have been the client
        ("errors<40%", 0, None),  # what the client cannot bend is held
        ("p50<1us,errors>40%", 3, "instrument"),
    ):
        judged = hindmost("report", study, "--json", "--require", limits)
        assert judged.code == code, judged.err
        assert judged.result["limits"][0]["blame"] == blame, judged.err


def test_on_a_noisy_host_what_holds_all_the_same_is_held_and_nothing_is_crossed_by_what_it_added(
    tmp_path: Path,
) -> None:
    server, client = need_two_processors()
    study = tmp_path / "study"
    words = (*FEW, "--rate", "1k", "--runs", "4", "--server-cpus", server, "--client-cpus", client, "-q")
    words = (*words, "--pacing", "spin")  # one that sleeps may have itself to blame
    with disturber(client, tmp_path):
        answer = measure(SYNTH % 10, study, *words, "--require", "p50<10m,errors<40%")
    assert results(answer) == {"p50<10m": "held", "errors<40%": "held"}
    assert answer.code == 0, "what others take only adds"
    # Between what the server takes and what it takes with another on the client's processor.
    judged = hindmost("report", study, "--json", "--require", "p90<1ms")
    assert (judged.code, judged.result["limits"][0]["result"]) == (4, "undecided"), judged.err
    # Beside other tests the four runs may differ by so much that nothing else need be said.
    assert judged.result["limits"][0]["blame"] == "host" or "within the interval" in judged.err, judged.err


def connected(port: int) -> int:
    """Connections that a server at a port has: those in state ESTABLISHED (proc(5), /proc/net/tcp)."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


def test_a_server_that_dies_under_load_crosses_what_speaks_of_it_and_what_it_did_before_is_judged(
    household: Household, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    words = ("--runs", "3", "--rate", "300", *FEW, "--duration", "2s", "--warmup", "0.2s", "--remake", "0")
    words = (*words, "--workload", few_keys(tmp_path))
    process = start(
        "measure", SYNTH % 10, *words, "--quantiles", "50", "--require", "errors<40%", "--out", out
    )

    def loaded() -> list[int]:
        """The server of the second run, once all clients are connected to it."""
        lines = offspring(process.pid) if list(out.glob("runs/0001/run.json")) else {}
        found = [
            (pid, re.search(r'agent synth .*"address": "[^"]*:(\d+)"', line)) for pid, line in lines.items()
        ]
        return [pid for pid, port in found if port and connected(int(port[1])) >= 4]

    wait_for(loaded, "the load of the second run")
    time.sleep(0.7)  # the few keys are stored, and of the measurement most is to come
    os.kill(loaded()[0], signal.SIGKILL)
    answer = finish(process, out)
    assert answer.code == 3, answer.err
    for said in ("1 finished run(s) are kept", "errors<40% crossed", "killed by SIGKILL in mid-run"):
        assert said in answer.err, answer.err
    judged = hindmost("report", out, "--require", "errors<40%")
    assert judged.code == 4, judged.err
    assert "one run carries no interval" in judged.err
    household.assert_empty()


def test_what_the_runs_cannot_tell_is_undecided(tmp_path: Path) -> None:
    answer = measure(SYNTH % 10, tmp_path / "study", *FIVE, "--require", "errors<0.001%")
    assert (answer.code, results(answer)) == (4, {"errors<0.001%": "undecided"}), answer.err
    assert "hint: more runs: hindmost measure --resume" in answer.err


def test_a_server_that_answers_nothing_crosses_what_speaks_of_it(tmp_path: Path) -> None:
    with impostor(memcached(lambda connection, heard: None)) as address:
        words = (
            *FIVE,
            "--workload",
            few_keys(tmp_path),
            "--require",
            "unanswered<1%",
            "--require",
            "throughput>100",
        )
        answer = measure(f"memcached://{address}", tmp_path / "study", *words)
    noisy = any(one["blame"] == "host" for one in answer.result["limits"])
    assert answer.code == 3 or noisy, answer.err
    assert answer.result["counts"]["done"] == 0


@contextmanager
def always(code: int) -> Iterator[str]:
    """An HTTP server that answers everything with `code`."""

    class Handler(Silent):
        def do_GET(self) -> None:
            self.send_response(code)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with answering(Handler) as address:
        yield address


@pytest.mark.parametrize(
    ("code", "limits", "crossed"),
    [
        (500, "errors<1%,misses<5%", ["errors<1%"]),
        (503, "p90<5ms,unanswered<1%", ["p90<5ms"]),
        (403, "throughput>100", ["throughput>100"]),
        (404, "misses<5%,p90<5ms", ["misses<5%"]),
        (404, "errors<1%", None),
        (500, "unanswered<1%", None),
        (500, "", None),
    ],
)
def test_a_first_look_that_fails_crosses_what_speaks_of_it_and_is_an_error_else(
    code: int, limits: str, crossed: list[str] | None, tmp_path: Path
) -> None:
    asked = (
        ("--require", limits, "--junit", tmp_path / "l.xml", "--markdown", tmp_path / "l.md")
        if limits
        else ()
    )
    with always(code) as url:
        answer = measure(url, tmp_path / "study", *FIVE, *asked)
    if crossed is None:
        answer.assert_one_clear_error(1, f"{code}")
        return
    assert (answer.code, answer.out) == (3, ""), answer.err
    told = [line.split()[1] for line in answer.err.splitlines() if " crossed: " in line]
    assert told == crossed, answer.err
    assert f"HTTP/1.1 {code}" in answer.err
    suite = Xml.parse(tmp_path / "l.xml").getroot()
    assert suite.attrib["failures"] == "1"
    assert f"`{crossed[0]}` crossed" in (tmp_path / "l.md").read_text()
    assert not (tmp_path / "study").exists()


def test_a_code_that_is_accepted_is_measured(tmp_path: Path) -> None:
    with always(404) as url:
        words = (*FIVE, "--accept", "404", "--require", "misses<1%,errors<1%")
        answer = measure(url, tmp_path / "study", *words)
    assert set(results(answer).values()) == {"held"}, answer.err
    assert answer.result["codes"]["404"] == {"count": answer.result["counts"]["done"], "outcome": "hit"}


def test_nobody_who_listens_crosses_what_speaks_of_it(tmp_path: Path) -> None:
    with always(200) as url:
        pass  # gone
    answer = measure(url, tmp_path / "study", *FIVE, "-q", "--require", "errors<1%,p90<5ms,misses<5%")
    assert answer.code == 3, answer.err
    assert (
        "limit errors<1% crossed: errors would be 100 %; nothing could be measured: connection refused"
        in answer.err
    )
    assert "limit misses<5% undecided" in answer.err
    measure(url, tmp_path / "study", *FIVE).assert_one_clear_error(1, "connection refused")


def test_a_server_that_could_not_be_started_is_an_error_whatever_is_required(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text('name = "broken"\nprotocol = "http"\ncommand = ["false", "{port}"]\n')
    answer = measure(str(broken), tmp_path / "study", *FIVE, "--require", "errors<1%")
    assert answer.code == 1, answer.err


def test_a_server_that_speaks_nonsense_is_an_error_and_no_limit(tmp_path: Path) -> None:
    with impostor(memcached(saying(b"\x00nonsense\r\n"))) as address:
        words = (
            *FIVE,
            "--workload",
            few_keys(tmp_path),
            "--require",
            "errors<1%",
            "--junit",
            tmp_path / "l.xml",
        )
        answer = measure(f"memcached://{address}", tmp_path / "study", *words)
    answer.assert_one_clear_error(1, "run 1: ")
    assert not (tmp_path / "l.xml").exists()


def test_contradicting_limits_are_refused_before_anything_starts(tmp_path: Path) -> None:
    answer = measure("synth", tmp_path / "study", "--require", "p99<1ms", "--require", "p99>2ms")
    answer.assert_one_clear_error(2, "contradict each other")
    assert not (tmp_path / "study").exists()


def few_keys(folder: Path, keys: int = 100) -> Path:
    """A workload whose values are soon stored."""
    file = folder / "few.json"
    file.write_text(json.dumps({"kind": "key-value", "keys": keys, "get_ratio": 1.0}))
    return file


@pytest.mark.parametrize(
    ("limits", "code"),
    [("p50<10m,errors<5%", 0), ("errors<0.001%", 4), ("p50>10m", 3)],
    ids=["held", "undecided", "crossed"],
)
def test_the_script_of_the_ci_jobs_ends_with_the_code_of_the_limits(
    limits: str, code: int, tmp_path: Path
) -> None:
    program = tmp_path / "bin/hindmost"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom hindmost.cli import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    program.chmod(0o755)
    short = ("--runs", "2", "--duration", "0.3s", "--warmup", "0.2s", "--remake", "0", "--quantiles", "50,90")
    done = subprocess.run(
        ["sh", str(ROOT / "examples/ci/gate.sh"), SYNTH % 10, "--rate", "300", "--clients", "1", *short],
        cwd=tmp_path,
        env=os.environ
        | {
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "LIMITS": limits,
            "OUT": "results of the job",
            "MORE_RUNS": "3",
            "GITHUB_STEP_SUMMARY": str(tmp_path / "step.md"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == code, done.stderr
    out = tmp_path / "results of the job"
    assert len(list((out / "study/runs").glob("[0-9]*"))) == (3 if code == 4 else 2), (
        "undecided: more runs, once"
    )
    assert int(Xml.parse(out / "limits.xml").getroot().get("tests", "0")) == limits.count(",") + 1
    assert (tmp_path / "step.md").read_text() == (out / "summary.md").read_text()


@pytest.mark.parametrize("job", ["github-actions.yml", "gitlab-ci.yml"])
def test_both_jobs_call_that_script(job: str) -> None:
    text = (ROOT / "examples/ci" / job).read_text()
    assert "sh examples/ci/gate.sh " in text
    assert "hindmost-ci" in text
