"""Every protocol at every real server that speaks it: measures, closes its account, outlives a restart of the server.

A row more is a line in `MATRIX`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from measuring import REAL, assert_counts_close, managed, measure, need, running

pytestmark = pytest.mark.usefixtures("household")


@dataclass(frozen=True)
class Row:
    """One protocol at one server.

    Attributes
    ----------
    target : str
        A preset, with the options that make it speak the protocol.
    workload : dict, optional
        What is sent, if not the usual.
    options : tuple of str
        Further words of the command line.
    """

    target: str
    workload: dict[str, Any] | None = None
    options: tuple[str, ...] = ()

    @property
    def server(self) -> str:
        """The preset's name."""
        return self.target.partition("?")[0]


MATRIX = {
    "memcached": Row("memcached"),
    "memcached-meta": Row("memcached?protocol=memcached-meta"),
    "memcached-binary": Row("memcached?protocol=memcached-binary"),
    "memcached-through-twemproxy": Row("nutcracker"),
    "redis": Row("redis"),
    "http-nginx": Row("nginx"),
    "http2-nginx": Row("nginx?protocol=http2&listen=reuseport%20http2"),
    "http-apache": Row("apache"),
    "http2-apache": Row("apache?protocol=http2"),
    "http-haproxy": Row("haproxy"),
    "http2-haproxy": Row("haproxy?protocol=http2&bind=proto%20h2"),
}


def rows() -> list[Any]:
    return [
        pytest.param(row, id=name, marks=[getattr(pytest.mark, row.server)] if row.server in REAL else [])
        for name, row in MATRIX.items()
    ]


def words(row: Row, folder: Path) -> list[str]:
    """Of the command line: a rate that any of them bears on a busy host, and what is sent."""
    given = ["--rate", "500", "--duration", "0.4s", "--warmup", "0.1s", *row.options]
    if row.workload is not None:
        file = folder / "workload.json"
        file.write_text(json.dumps(row.workload))
        given += ["--workload", str(file)]
    return given


def assert_served(result: dict[str, Any], runs: int) -> None:
    """Whatever the host did to latency: everything was served, and the account closes."""
    assert_counts_close(result)
    assert len(result["runs"]) == runs
    counts = result["counts"]
    assert counts["due"] > 0
    assert (counts["errors"], counts["unsent"]) == (0, 0), counts
    # A host that stands still for the whole patience makes timeouts; a protocol misread makes nothing else.
    assert counts["done"] > 0.9 * counts["due"], counts


@pytest.mark.parametrize("row", rows())
def test_it_measures_closes_its_account_and_outlives_a_restart(row: Row, tmp_path: Path) -> None:
    need(row.server)
    out = tmp_path / "study"
    answer = measure(row.target, out, *words(row, tmp_path))
    assert answer.code in (0, 4, 6), answer.err
    # Two runs, each at a server started afresh: what the first left behind is not needed by the second.
    assert_served(answer.result, runs=2)
    assert answer.result["target"]["server_version"] not in ("", "unknown")


@pytest.mark.parametrize("row", rows())
def test_a_server_that_is_there_already_is_measured_by_its_address(row: Row, tmp_path: Path) -> None:
    need(row.server)
    spec = managed(row.target)
    with running(spec) as server:
        path = spec.path if spec.path != "/" else ""
        url = f"{spec.protocol}://{server.address}{path}"
        answer = measure(url, tmp_path / "study", *words(row, tmp_path))
    assert answer.code in (0, 4, 6), answer.err
    assert_served(answer.result, runs=2)
