"""Servers that close connections are measured, with the number of connections in their logs; and other example targets."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from measuring import Answer, ProcessTracker, assert_counts_add_up, measure, need

from hindmost.core.targets import presets

EXAMPLES = Path(__file__).parents[2] / "examples" / "targets"
FEW = ("--clients", "1", "--connections", "4", "--rate", "400", "--timeout", "1s", "--runs", "1")
PRESETS = Path(presets.__file__).parent
LOG = "log_format each '$connection $request'; access_log /dev/stdout each;"


def nginx(folder: Path, keeps: int) -> Path:
    """An nginx that logs the connection of each request. It stays root if started as root, so that it can write the log."""
    need("nginx")
    changes = [("access_log off;", LOG), ("keepalive_requests 1000000000", f"keepalive_requests {keeps}")]
    if os.getuid() == 0:
        changes += [('user_if_root = "dynamic"\n', ""), ("daemon off;", "daemon off;\nuser root;")]
    text = (PRESETS / "nginx.toml").read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    file = folder / "nginx.toml"
    file.write_text(text)
    return file


def assert_nothing_lost(answer: Answer) -> None:
    """Assert that all requests were completed."""
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    counts = answer.result["counts"]
    assert (counts["errors"], counts["misses"]) == (0, 0), counts
    assert counts["completed"] > 0


@pytest.mark.nginx
@pytest.mark.parametrize(
    ("keeps", "by_turns", "io"),
    [(1, True, "epoll"), pytest.param(50, False, "io_uring", marks=pytest.mark.nightly)],
)
def test_the_number_of_connections_matches_nginxs_log(
    keeps: int, by_turns: bool, io: str, tmp_path: Path
) -> None:
    answer = measure(str(nginx(tmp_path, keeps)), tmp_path / "study", *FEW, "--io", io)
    assert_nothing_lost(answer)
    replies = {code: status["count"] for code, status in answer.result["codes"].items()}
    assert replies == {"200": answer.result["counts"]["completed"]}
    connections = answer.result["connections"]
    assert connections["by_turns"] == by_turns
    (run,) = answer.study.runs()
    count = len({line.split()[0] for line in (run / "server.log").read_text().splitlines() if "GET" in line})
    # The log also has the probe, and connections may be opened without a request.
    assert abs(connections["all"] - count) <= 4 + 1, (connections, count)
    assert (answer.result["connect_us"] is not None) == (connections["made"] > 0)
    if keeps == 1:
        assert connections["made"] == answer.result["counts"]["scheduled"], "one for each measured request"
        assert answer.result["latency_us"]["p50"]["value"] > answer.result["connect_us"]["p50"]["value"]


@pytest.mark.nginx
def test_a_server_that_closes_each_connection_and_nginx_with_tls_are_measured(
    process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    answer = measure(str(EXAMPLES / "python-http.toml"), tmp_path / "python", *FEW)
    assert_nothing_lost(answer)
    assert answer.result["connections"]["by_turns"]
    assert "Python" in answer.result["target"]["server_version"]

    need("nginx")
    text = (EXAMPLES / "nginx-tls.toml").read_text()
    example = shutil.copy(EXAMPLES / "nginx-tls.toml", tmp_path)
    command = re.search(r"^#     (openssl .*?)\n#     hindmost", text, re.DOTALL | re.MULTILINE)
    assert command is not None
    subprocess.run(command[1].replace("\\\n#", ""), shell=True, cwd=tmp_path, check=True, capture_output=True)
    answer = measure(str(example), tmp_path / "tls", *FEW)
    assert_nothing_lost(answer)
    assert not answer.result["connections"]["by_turns"]


@pytest.mark.memcached
def test_the_example_with_a_network_card_is_measured_in_its_namespace(tmp_path: Path) -> None:
    """The example needs two ports and a namespace; a pair of virtual ports replaces them here."""
    from namespaces import THERE, other_namespace

    need("memcached")
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed (apt-get install iproute2)")
    with other_namespace() as space:
        text = (EXAMPLES / "memcached-behind-card.toml").read_text()
        for old, new in (('"served"', f'"{space.name}"'), ("10.9.0.1", THERE)):
            assert old in text
            text = text.replace(old, new)
        target = tmp_path / "memcached-behind-card.toml"
        target.write_text(text)
        answer = measure(str(target), tmp_path / "study", *FEW)
    assert_nothing_lost(answer)
    assert THERE in answer.result["target"]["address"]
