"""Servers that close connections, each in its way: measured, with as many connections as their logs tell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from measuring import Answer, Household, assert_counts_close, measure, need

from hindmost.targets import presets

EXAMPLES = Path(__file__).parents[2] / "examples" / "targets"
FEW = ("--clients", "1", "--connections", "4", "--rate", "400", "--timeout", "1s")
PRESETS = Path(presets.__file__).parent
LOG = "log_format each '$connection $request'; access_log /dev/stdout each;"


def server(name: str, folder: Path, *changes: tuple[str, str]) -> Path:
    """A preset as a target file, changed."""
    need(name)
    text = (PRESETS / f"{name}.toml").read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    file = folder / f"{name}.toml"
    file.write_text(text)
    return file


def nginx(folder: Path, keeps: int) -> Path:
    """One that logs which connection each request came on. It stays root, if it is: nobody may not write the log."""
    changes = [("access_log off;", LOG), ("keepalive_requests 1000000000", f"keepalive_requests {keeps}")]
    if os.getuid() == 0:
        changes += [('user_if_root = "nobody"\n', ""), ("daemon off;", "daemon off;\nuser root;")]
    return server("nginx", folder, *changes)


def accounts(answer: Answer) -> dict[str, int]:
    """The account of connections; nothing lost for them."""
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    counts = answer.result["counts"]
    assert (counts["errors"], counts["misses"]) == (0, 0), counts
    assert counts["done"] > 0
    replies = {code: one["count"] for code, one in answer.result["codes"].items()}
    assert replies == {"200": counts["done"]}
    found: dict[str, int] = answer.result["connections"]
    return found


def logged(answer: Answer) -> list[list[str]]:
    """Connection and request of each line that nginx logged, of all runs."""
    logs = [(run / "server.log").read_text() for run in answer.study.runs()]
    return [
        [str(number), *line.split()]
        for number, log in enumerate(logs)
        for line in log.splitlines()
        if "GET" in line
    ]


@pytest.mark.nginx
@pytest.mark.parametrize("io", ["epoll", "io_uring"])
@pytest.mark.parametrize(("keeps", "by_turns"), [(1, True), (3, True), (50, False), (1_000_000, False)])
def test_as_many_connections_are_told_as_nginx_logged(
    keeps: int, by_turns: bool, io: str, tmp_path: Path
) -> None:
    target = nginx(tmp_path, keeps)
    answer = measure(str(target), tmp_path / "study", *FEW, "--io", io)
    found = accounts(answer)
    assert found["by_turns"] == by_turns
    lines = logged(answer)
    served = len({(run, connection) for run, connection, *_ in lines})
    # Beside them, of each run: the greeting, which is logged, and connections that were opened and not asked.
    assert abs(found["all"] - served) <= 2 * (4 + 1), (found, served, len(lines))
    assert (answer.result["connect_us"] is not None) == (found["made"] > 0)
    # A host that was busy elsewhere may have made every fiftieth outside of the measurement.
    assert found["made"] > 0 if keeps < 50 else found["made"] == 0 or keeps == 50
    if keeps == 1:
        assert found["made"] == answer.result["counts"]["due"], "one for each measured request"
    if by_turns:
        assert answer.result["latency_us"]["p50"]["value"] > answer.result["connect_us"]["p50"]["value"]


@pytest.mark.apache
def test_apache_without_keep_alive_is_asked_with_a_connection_for_each_request(
    household: Household, tmp_path: Path
) -> None:
    target = server("apache", tmp_path, ("KeepAlive On", "KeepAlive Off"))
    answer = measure(str(target), tmp_path / "study", *FEW)
    found = accounts(answer)
    assert found["by_turns"]
    assert found["all"] >= answer.result["counts"]["due"]


@pytest.mark.parametrize("file", sorted(path.name for path in EXAMPLES.glob("*.toml")))
def test_every_example_of_a_target_is_measured_and_leaves_nothing(
    file: str, household: Household, tmp_path: Path
) -> None:
    text = (EXAMPLES / file).read_text()
    for name in ("memcached", "redis"):
        if f'package = "{name}' in text:
            need(name)
    if file == "memcached-behind-card.toml":
        return behind_a_card(EXAMPLES / file, tmp_path)
    example = shutil.copy(EXAMPLES / file, tmp_path)
    if "[tls]" in text:
        made = re.search(r"^#     (openssl .*?)\n#     hindmost", text, re.DOTALL | re.MULTILINE)
        assert made is not None
        subprocess.run(
            made[1].replace("\\\n#", ""), shell=True, cwd=tmp_path, check=True, capture_output=True
        )
    answer = measure(str(example), tmp_path / "study", *FEW)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    assert answer.result["counts"]["done"] > 0
    assert answer.result["counts"]["errors"] == 0
    assert (answer.result["connections"]["by_turns"]) == (file == "python-http.toml")
    return None


def behind_a_card(file: Path, folder: Path) -> None:
    """The example that needs two ports and a namespace: with a pair of virtual ones, under other names."""
    from namespaces import THERE, elsewhere

    if shutil.which("ip") is None:
        pytest.skip("ip is not installed (apt-get install iproute2)")
    with elsewhere() as there:
        text = file.read_text()
        for old, new in (('"served"', f'"{there.name}"'), ("10.9.0.1", THERE)):
            assert old in text
            text = text.replace(old, new)
        target = folder / file.name
        target.write_text(text)
        answer = measure(str(target), folder / "study", *FEW)
    assert answer.code in (0, 4, 6), answer.err
    assert answer.result["counts"]["done"] > 0
    assert THERE in answer.result["target"]["address"]


@pytest.mark.nginx
def test_a_capture_is_held_against_wire_latency_alone(tmp_path: Path) -> None:
    if shutil.which("tcpdump") is None:
        pytest.skip("tcpdump is not installed (apt-get install tcpdump)")
    answer = measure(str(nginx(tmp_path, 1)), tmp_path / "study", *FEW, "--verify-wire")
    accounts(answer)
    proof = answer.result["capture"]
    assert proof["fault"] is None, proof
    assert proof["answered"] == answer.result["counts"]["done"], "found on its own connection, each of them"
    assert "capture-differs" not in {reason["code"] for reason in answer.result["reasons"]}


@pytest.mark.nginx
def test_the_page_tells_of_connections(tmp_path: Path) -> None:
    answer = measure(str(nginx(tmp_path, 1)), tmp_path / "study", *FEW)
    made = answer.result["connections"]["made"]
    page = (tmp_path / "study" / "report.html").read_text()
    assert "From the attempt to connect to the connection" in page
    assert f"{made} made for" in page.replace("\u2009", "").replace("\u202f", "").replace("&thinsp;", "")
