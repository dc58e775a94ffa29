"""What a measurement asks of a server that is not ours and stores there: by the laws of its workload, and removed."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from measuring import hindmost, measure, need, run_server, start
from scipy import stats

FALSE_ALARM = 1e-6
"""Of each judgement; seeds are fixed, so that only the number of requests differs between two tries."""
SHORT = ("--runs", "1", "--warmup", "0.2s", "--quantiles", "50", "--clients", "2", "--threads", "2")


def ask(address: str, *lines: str) -> list[str]:
    """Answers of memcached to one line each; some at a time, so that neither side waits for the other to read."""
    host, port = address.rsplit(":", 1)
    told: list[str] = []
    with socket.create_connection((host, int(port)), timeout=30.0) as talk:
        for first in range(0, len(lines), 200):
            some = "".join(f"{line}\r\n" for line in lines[first : first + 200])
            talk.sendall(some.encode() + b"mn\r\n")
            heard = b""
            while not heard.endswith(b"MN\r\n"):
                came = talk.recv(1 << 20)
                assert came, "memcached hung up"
                heard += came
            told += heard.decode().splitlines()[:-1]
    return told


def items(address: str) -> int:
    """How many items memcached holds."""
    return int(next(line.split()[2] for line in ask(address, "stats") if "curr_items" in line))


def keys(address: str) -> list[str]:
    """All keys that memcached holds. Its crawler takes the connection for its own, so nothing else is asked on it."""
    host, port = address.rsplit(":", 1)
    deadline = time.monotonic() + 20.0
    while time.monotonic() < deadline:  # the crawler may still be at its own rounds
        with socket.create_connection((host, int(port)), timeout=10.0) as talk:
            talk.sendall(b"lru_crawler metadump all\r\n")
            heard = b""
            while not heard.endswith((b"END\r\n", b"crawler\r\n")) and (came := talk.recv(1 << 20)):
                heard += came
        if found := re.findall(r"key=(\S+)", heard.decode()):
            return [unquote(key) for key in found]
        time.sleep(0.2)
    return []


@pytest.mark.memcached
def test_what_memcached_holds_follows_the_laws_that_were_asked_for(tmp_path: Path) -> None:
    key_law = {"location": 30.7984, "scale": 8.20449, "shape": 0.078688, "least": 10, "most": 250}
    value_law = {"location": 15, "scale": 214.476, "shape": 0.348238, "least": 1, "most": 100_000}
    mix = {
        "keys": 20_000,
        "get_ratio": 1.0,
        "key_prefix": "ring:",
        "key_bytes": {"generalised-extreme-value": key_law},
        "value_bytes": {"generalised-pareto": value_law},
        "ttl_s": {"uniform": [5_000, 9_000]},
        "clean_up": False,
    }
    (tmp_path / "mix.json").write_text(json.dumps(mix))
    with run_server(need("memcached")) as server:
        begun = time.monotonic()
        answer = measure(
            *(
                f"memcached://{server.address}",
                tmp_path / "study",
                "--workload",
                tmp_path / "mix.json",
                *SHORT,
            ),
            *("--rate", "2k", "--duration", "0.5s", "--connections", "9"),
        )
        assert answer.code in (0, 4, 6), answer.err
        assert answer.result["counts"]["misses"] == 0
        held = keys(server.address)
        assert len(held) == 20_000
        assert all(key.startswith("ring:") for key in held)
        told = [
            re.fullmatch(r"HD s(\d+) t(\d+)", line)
            for line in ask(server.address, *(f"mg {k} s t" for k in held))
        ]
        elapsed = time.monotonic() - begun
    sizes = [int(match[1]) for match in told if match]
    lives = [int(match[2]) for match in told if match]
    assert len(sizes) == 20_000
    gev = stats.genextreme(-key_law["shape"], key_law["location"], key_law["scale"])
    judge([len(key) for key in held], gev, 10, 250)
    pareto = stats.genpareto(value_law["shape"], value_law["location"], value_law["scale"])
    judge(sizes, pareto, 1, 100_000)
    judge(np.array(lives) + elapsed / 2, stats.uniform(4_999.5, 4_001.0), 5_000, 9_000, blur=elapsed)


def judge(seen: Any, law: Any, least: int, most: int, blur: float = 0.5) -> None:
    """Kolmogorov and Smirnov's test of whole numbers against a law that is cut and rounded to them.

    Rounding moves a number by half, `blur` more than that: where the law is steep, that much is allowed.
    """
    low, high = law.cdf(least - 0.5), law.cdf(most + 0.5)

    def below(x: Any) -> Any:
        return np.clip((law.cdf(x) - low) / (high - low), 0.0, 1.0)

    values = np.sort(np.asarray(seen, dtype=float))
    after = np.searchsorted(values, values, side="right") / values.size
    before = np.searchsorted(values, values, side="left") / values.size
    over = np.max(after - below(values + max(blur, 0.5)))
    under = np.max(below(values - max(blur, 0.5)) - before)
    found = max(over, under)
    # Both sides, Dvoretzky, Kiefer, Wolfowitz and Massart: P(D > d) <= 2 exp(-2 n d^2), whatever the law.
    assert found < np.sqrt(np.log(2.0 / FALSE_ALARM) / (2.0 * values.size)), found


@pytest.mark.memcached
def test_what_a_measurement_stored_is_removed_and_keys_of_others_only_when_asked_for(tmp_path: Path) -> None:
    with run_server(need("memcached")) as server:
        assert ask(server.address, "ms mine 4\r\nhers") == ["HD"]
        study = tmp_path / "study"
        answer = measure(f"memcached://{server.address}", study, *SHORT, "--rate", "1k", "--duration", "0.5s")
        assert answer.code in (0, 4, 6), answer.err
        assert "10,000 keys" in answer.err
        assert items(server.address) == 1
        assert ask(server.address, "mg mine v") == ["VA 4", "hers"]
        record = json.loads((study / "runs" / "0001" / "run.json").read_text())
        assert record["clean_up"] == {"removed": 10_000}

        for name, more in (("kept", {}), ("removed", {"clean_up": True})):
            keys = {"key_names": ["mine", "new"], **more}
            workload = tmp_path / "workload.json"
            workload.write_text(json.dumps({"kind": "key-value", "get_ratio": 0.5, "value_bytes": 4, **keys}))
            words = (*SHORT, "--rate", "1k", "--duration", "0.3s", "--workload", workload)
            answer = measure(f"memcached://{server.address}", tmp_path / name, *words)
            assert answer.code in (0, 4, 6), answer.err
            record = json.loads((tmp_path / name / "runs" / "0001" / "run.json").read_text())
            assert ("clean_up" in record, items(server.address) == 0) == (bool(more), bool(more))


@pytest.mark.memcached
def test_what_a_killed_measurement_left_is_removed_when_asked_for(tmp_path: Path) -> None:
    study = tmp_path / "study"
    with run_server(need("memcached")) as server:
        words = (
            "measure",
            f"memcached://{server.address}",
            "--rate",
            "1k",
            "--duration",
            "30s",
            "--out",
            study,
        )
        child = start(*words)
        deadline = time.monotonic() + 60.0
        while items(server.address) < 10_000 and time.monotonic() < deadline:
            time.sleep(0.1)
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
        assert items(server.address) == 10_000
        answer = hindmost("load", "--clean-up", study)
        assert (answer.code, json.loads(answer.out)) == (0, {"removed": 10_000}), answer.err
        assert items(server.address) == 0
