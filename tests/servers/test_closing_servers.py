"""Servers that close connections: measured, with as many connections as their logs tell; and other targets of examples."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from measuring import Answer, ProcessTracker, assert_counts_add_up, measure, need

from hindmost.targets import presets

EXAMPLES = Path(__file__).parents[2] / "examples" / "targets"
FEW = ("--clients", "1", "--connections", "4", "--rate", "400", "--timeout", "1s", "--runs", "1")
PRESETS = Path(presets.__file__).parent
LOG = "log_format each '$connection $request'; access_log /dev/stdout each;"


def nginx(folder: Path, keeps: int) -> Path:
    """One that logs which connection each request came on. It stays root, if it is: nobody may not write the log."""
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


def counted(answer: Answer) -> None:
    """Nothing lost."""
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
def test_as_many_connections_are_told_as_nginx_logged(
    keeps: int, by_turns: bool, io: str, tmp_path: Path
) -> None:
    answer = measure(str(nginx(tmp_path, keeps)), tmp_path / "study", *FEW, "--io", io)
    counted(answer)
    replies = {code: one["count"] for code, one in answer.result["codes"].items()}
    assert replies == {"200": answer.result["counts"]["completed"]}
    found = answer.result["connections"]
    assert found["by_turns"] == by_turns
    (run,) = answer.study.runs()
    served = len({line.split()[0] for line in (run / "server.log").read_text().splitlines() if "GET" in line})
    # Beside them: the greeting, which is logged, and connections that were opened and not asked.
    assert abs(found["all"] - served) <= 4 + 1, (found, served)
    assert (answer.result["connect_us"] is not None) == (found["made"] > 0)
    if keeps == 1:
        assert found["made"] == answer.result["counts"]["scheduled"], "one for each measured request"
        assert answer.result["latency_us"]["p50"]["value"] > answer.result["connect_us"]["p50"]["value"]


@pytest.mark.nginx
def test_a_program_that_listens_closes_each_connection_and_nginx_speaks_tls(
    process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    answer = measure(str(EXAMPLES / "python-http.toml"), tmp_path / "python", *FEW)
    counted(answer)
    assert answer.result["connections"]["by_turns"]
    assert "Python" in answer.result["target"]["server_version"]

    need("nginx")
    text = (EXAMPLES / "nginx-tls.toml").read_text()
    example = shutil.copy(EXAMPLES / "nginx-tls.toml", tmp_path)
    made = re.search(r"^#     (openssl .*?)\n#     hindmost", text, re.DOTALL | re.MULTILINE)
    assert made is not None
    subprocess.run(made[1].replace("\\\n#", ""), shell=True, cwd=tmp_path, check=True, capture_output=True)
    answer = measure(str(example), tmp_path / "tls", *FEW)
    counted(answer)
    assert not answer.result["connections"]["by_turns"]


@pytest.mark.memcached
def test_the_example_behind_a_card_is_measured_in_its_namespace(tmp_path: Path) -> None:
    """Which needs two ports and a namespace: with a pair of virtual ones, under other names."""
    from namespaces import THERE, other_namespace

    need("memcached")
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed (apt-get install iproute2)")
    with other_namespace() as there:
        text = (EXAMPLES / "memcached-behind-card.toml").read_text()
        for old, new in (('"served"', f'"{there.name}"'), ("10.9.0.1", THERE)):
            assert old in text
            text = text.replace(old, new)
        target = tmp_path / "memcached-behind-card.toml"
        target.write_text(text)
        answer = measure(str(target), tmp_path / "study", *FEW)
    counted(answer)
    assert THERE in answer.result["target"]["address"]
