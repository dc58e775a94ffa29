"""``hindmost synth serve``: what a client claims is what the server knows, but for the way between them."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from typing import Any

import jsonschema
from clones import SMALL, serve, ways
from measuring import Household, hindmost

from hindmost.store.schema import schemas

EARLY_US = 20.0
"""A reply is begun so much early at most, since writing it takes time, too."""


def ended_quietly(child: Any) -> bool:
    """Whether Ctrl-C ends it as it should."""
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)
    return bool(child.returncode == 0)


def test_no_client_sees_a_reply_sooner_than_the_server_made_it(tmp_path: Path) -> None:
    _, way = ways(tmp_path / "one", "0.7s")
    assert len(way) > 700
    # A client that loses its processor between its write and its look at the clock takes a request for sent too late.
    early = (way <= -EARLY_US).mean()
    assert early < 0.01, f"{early:.1%} too soon, {way.min():.1f} us at least, of {len(way)}"


def test_integrated_it_needs_no_client(tmp_path: Path) -> None:
    answer = hindmost("synth", "serve", "silo", "--integrated", "--rate", "5k", "--requests", 2_000, "--json")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    jsonschema.Draft202012Validator(schemas()["serve"]).validate(told)
    account = told["account"]
    assert account["total"]["served"] == 2_000
    assert account["sojourn"]["mean_ns"] >= account["service"]["mean_ns"]
    assert "spinning on this host" in answer.err


def test_a_certificate_follows_its_schema_and_outside_us_is_said_not_to_be_served(tmp_path: Path) -> None:
    answer = hindmost("synth", "serve", "silo", "--certificate", "--json")
    assert answer.code == 0, answer.err
    jsonschema.Draft202012Validator(schemas()["certificate"]).validate(json.loads(answer.out))
    (tmp_path / "far.toml").write_text(SMALL.replace('name = "small"', 'name = "far"\noutside_us = 30.0'))
    answer = hindmost("synth", "serve", tmp_path / "far.toml", "--integrated", "--requests", 100, "--json")
    assert "outside_us = 30 is not served" in answer.err
    assert json.loads(answer.out)["outside_us"] == 30.0


def test_kill_9_leaves_no_process_and_a_free_port(household: Household, tmp_path: Path) -> None:
    child, address = serve("silo", "--log", tmp_path / "truth.csv")
    child.kill()
    child.communicate(timeout=30)
    household.assert_empty()
    again, there = serve("silo", "--address", address, "--log", tmp_path / "truth.csv")
    assert there == address
    assert ended_quietly(again)
    household.assert_empty()


def test_http_is_spoken_and_the_account_is_for_people_too() -> None:
    child, address = serve("silo", "--protocol", "http")
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=5.0) as talk:
        talk.sendall(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        heard = b"".join(iter(lambda: talk.recv(4096), b""))
    assert heard.startswith(b"HTTP/1.1 200 OK\r\n")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 0, err
    assert out.startswith("1 requests; services are of wall time\n")


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(SMALL.replace("0.4", "-0.4"))
    for words, code, told in [
        (["silo", "--integrated", "--rate", "1M"], 1, "rate_per_s = 1000000 is above"),
        (["silo", "--rate", "1k"], 2, "--rate is for --integrated"),
        (["silo", "--cpus", "4000"], 1, "to CPU 4000"),
        (["silo", "--cpus", "x"], 2, "--cpus x"),
        ([tmp_path / "bad.toml"], 2, "service[0].law.sigma_log"),
        (["silo", "--address", "nowhere"], 1, 'address = "nowhere"'),
    ]:
        answer = hindmost("synth", "serve", *words)
        answer.assert_one_clear_error(code, told)
    child, address = serve("silo")
    answer = hindmost("synth", "serve", "silo", "--address", address)
    answer.assert_one_clear_error(1, f"cannot listen on {address}", "hint: ss -ltnp")
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)
