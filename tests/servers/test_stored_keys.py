"""Keys that a measurement stores on a running server follow the laws of the workload, and are removed."""

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
"""For each check; seeds are fixed, so only the number of requests differs between two attempts."""
SHORT = ("--runs", "1", "--warmup", "0.2s", "--quantiles", "50", "--clients", "2", "--threads", "2")


def ask(address: str, *lines: str) -> list[str]:
    """memcached's answers, one per line; sent in blocks, so that neither side waits for the other to read."""
    host, port = address.rsplit(":", 1)
    answers: list[str] = []
    with socket.create_connection((host, int(port)), timeout=30.0) as connection:
        for first in range(0, len(lines), 200):
            block = "".join(f"{line}\r\n" for line in lines[first : first + 200])
            connection.sendall(block.encode() + b"mn\r\n")
            reply = b""
            while not reply.endswith(b"MN\r\n"):
                part = connection.recv(1 << 20)
                assert part, "memcached closed the connection"
                reply += part
            answers += reply.decode().splitlines()[:-1]
    return answers


def count_items(address: str) -> int:
    """Number of items that memcached stores."""
    return int(next(line.split()[2] for line in ask(address, "stats") if "curr_items" in line))


def keys(address: str) -> list[str]:
    """All keys that memcached stores. Its crawler occupies the connection, so nothing else is sent on it."""
    host, port = address.rsplit(":", 1)
    deadline = time.monotonic() + 20.0
    while time.monotonic() < deadline:  # the crawler may be busy with its own rounds
        with socket.create_connection((host, int(port)), timeout=10.0) as connection:
            connection.sendall(b"lru_crawler metadump all\r\n")
            reply = b""
            while not reply.endswith((b"END\r\n", b"crawler\r\n")) and (part := connection.recv(1 << 20)):
                reply += part
        if names := re.findall(r"key=(\S+)", reply.decode()):
            return [unquote(name) for name in names]
        time.sleep(0.2)
    return []


@pytest.mark.memcached
def test_stored_items_follow_the_laws_of_the_workload(tmp_path: Path) -> None:
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
        began = time.monotonic()
        load = (
            "--rate",
            "2k",
            "--duration",
            "0.5s",
            "--connections",
            "9",
            "--workload",
            tmp_path / "mix.json",
        )
        answer = measure(f"memcached://{server.address}", tmp_path / "study", *SHORT, *load)
        assert answer.code in (0, 4, 6), answer.err
        assert answer.result["counts"]["misses"] == 0
        names = keys(server.address)
        assert len(names) == 20_000
        assert all(key.startswith("ring:") for key in names)
        matches = [
            re.fullmatch(r"HD s(\d+) t(\d+)", line)
            for line in ask(server.address, *(f"mg {k} s t" for k in names))
        ]
        elapsed_s = time.monotonic() - began
    sizes = [int(match[1]) for match in matches if match]
    lives = [int(match[2]) for match in matches if match]
    assert len(sizes) == 20_000
    gev = stats.genextreme(-key_law["shape"], key_law["location"], key_law["scale"])
    judge([len(key) for key in names], gev, 10, 250)
    pareto = stats.genpareto(value_law["shape"], value_law["location"], value_law["scale"])
    judge(sizes, pareto, 1, 100_000)
    judge(np.array(lives) + elapsed_s / 2, stats.uniform(4_999.5, 4_001.0), 5_000, 9_000, blur=elapsed_s)


def judge(sample: Any, law: Any, least: int, most: int, blur: float = 0.5) -> None:
    """Kolmogorov-Smirnov test of integers against a law that is truncated and rounded to them.

    Rounding moves a number by half, and `blur` may move it further. Where the law is steep, that much is allowed.
    """
    low, high = law.cdf(least - 0.5), law.cdf(most + 0.5)

    def cdf(x: Any) -> Any:
        return np.clip((law.cdf(x) - low) / (high - low), 0.0, 1.0)

    values = np.sort(np.asarray(sample, dtype=float))
    after = np.searchsorted(values, values, side="right") / values.size
    before = np.searchsorted(values, values, side="left") / values.size
    above = np.max(after - cdf(values + max(blur, 0.5)))
    below = np.max(cdf(values - max(blur, 0.5)) - before)
    distance = max(above, below)
    # Two-sided Dvoretzky-Kiefer-Wolfowitz-Massart bound: P(D > d) <= 2 exp(-2 n d^2), for any law.
    assert distance < np.sqrt(np.log(2.0 / FALSE_ALARM) / (2.0 * values.size)), distance


@pytest.mark.memcached
def test_stored_keys_are_removed_and_keys_of_others_only_on_request(tmp_path: Path) -> None:
    with run_server(need("memcached")) as server:
        assert ask(server.address, "ms mine 4\r\nhers") == ["HD"]
        study = tmp_path / "study"
        answer = measure(f"memcached://{server.address}", study, *SHORT, "--rate", "1k", "--duration", "0.5s")
        assert answer.code in (0, 4, 6), answer.err
        assert "10,000 keys" in answer.err
        assert count_items(server.address) == 1
        assert ask(server.address, "mg mine v") == ["VA 4", "hers"]
        record = json.loads((study / "runs" / "0001" / "run.json").read_text())
        assert record["clean_up"] == {"removed": 10_000}

        for name, clean_up in (("kept", {}), ("removed", {"clean_up": True})):
            mix = {"key_names": ["mine", "new"], **clean_up}
            workload = tmp_path / "workload.json"
            workload.write_text(json.dumps({"kind": "key-value", "get_ratio": 0.5, "value_bytes": 4, **mix}))
            load = (*SHORT, "--rate", "1k", "--duration", "0.3s", "--workload", workload)
            answer = measure(f"memcached://{server.address}", tmp_path / name, *load)
            assert answer.code in (0, 4, 6), answer.err
            record = json.loads((tmp_path / name / "runs" / "0001" / "run.json").read_text())
            assert ("clean_up" in record, count_items(server.address) == 0) == (
                bool(clean_up),
                bool(clean_up),
            )


@pytest.mark.memcached
def test_keys_of_a_killed_measurement_are_removed_on_request(tmp_path: Path) -> None:
    study = tmp_path / "study"
    with run_server(need("memcached")) as server:
        load = ("--rate", "1k", "--duration", "30s")
        child = start("measure", f"memcached://{server.address}", *load, "--out", study)
        deadline = time.monotonic() + 60.0
        while count_items(server.address) < 10_000 and time.monotonic() < deadline:
            time.sleep(0.1)
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
        assert count_items(server.address) == 10_000
        answer = hindmost("load", "--clean-up", study)
        assert (answer.code, json.loads(answer.out)) == (0, {"removed": 10_000}), answer.err
        assert count_items(server.address) == 0
