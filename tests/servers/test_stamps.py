"""Kernel time stamps: selected by the user, each within its request, and a kernel that refuses them.

``tests/accuracy/test_parts_of_latency.py`` tests the percentiles that they give.
"""

import ctypes
import errno
import itertools
import platform
import shutil
import struct
from pathlib import Path

import pytest
from measuring import hindmost
from namespaces import other_namespace

pytestmark = [
    pytest.mark.memcached,
    pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is not installed"),
]
SHORT = ["--rate", "5k", "--runs", "1", "--duration", "0.5s", "--warmup", "0.2s", "-q", "--json"]

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
SETSOCKOPT = {"x86_64": 54, "aarch64": 208}
SO_TIMESTAMPING_OLD, SO_TIMESTAMPING_NEW = 37, 65


def refuse_stamps() -> None:
    """Let setsockopt(SO_TIMESTAMPING) fail with EPERM in this process and its children (seccomp(2))."""
    load_word, jump_if, give, allow, refuse = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000 | errno.EPERM
    number_at, name_at = 0, 32  # offsets in seccomp_data: nr, the low half of args[2]
    program = [
        (load_word, 0, 0, number_at),
        (jump_if, 0, 3, SETSOCKOPT[platform.machine()]),
        (load_word, 0, 0, name_at),
        (jump_if, 2, 0, SO_TIMESTAMPING_OLD),
        (jump_if, 1, 0, SO_TIMESTAMPING_NEW),
        (give, 0, 0, allow),
        (give, 0, 0, refuse),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *instruction) for instruction in program))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header):
        raise OSError(ctypes.get_errno(), "no filter")


def measure(
    tmp_path: Path, *flags: str, without_stamps: bool = False, target: str = "memcached"
) -> tuple[dict, str]:
    out = tmp_path / "study"
    command = ("measure", target, *SHORT, "--out", out, *flags)
    answer = hindmost(*command, study=out, preexec_fn=refuse_stamps if without_stamps else None)
    assert answer.out, answer.err
    return answer.result, answer.err


def reasons(doc: dict) -> dict[str, dict]:
    return {reason["code"]: reason for reason in doc["reasons"]}


def assert_stamped(doc: dict, study: Path) -> dict:
    """Assert that all requested stamps arrived, each within its request; returns the client's record of them."""
    stamps, done = stamps_of(doc), doc["counts"]["completed"]
    assert abs(stamps["requested"] - done / 4) <= 2, (stamps, done)
    assert stamps["received"] >= 0.99 * stamps["requested"], stamps
    assert "no-time-stamps" not in reasons(doc)
    pl = pytest.importorskip("polars")
    rows = pl.read_parquet(study / "runs/0001/samples-0.parquet").drop_nulls(["wire_out_ns", "wire_in_ns"])
    assert len(rows) >= 0.99 * stamps["received"] > 0
    moments = ["sent_ns", "wire_out_ns", "wire_in_ns", "completed_ns"]
    for earlier, later in itertools.pairwise(moments):
        assert (rows[earlier] < rows[later]).all(), f"{earlier} comes before {later}, however busy the host"
    return stamps


def stamps_of(doc: dict) -> dict:
    (client,) = doc["runs"][0]["clients"]
    return client["stamps"]


def test_a_link_to_another_host_is_stamped_like_loopback(tmp_path):
    with other_namespace() as remote, remote.memcached() as target:
        doc, _ = measure(tmp_path, "--clients", "1", "--stamps", "4", target=target)
        finding = doctor(target)
    stamps = assert_stamped(doc, tmp_path / "study")
    # A veth has no clock, so the kernel stamps; both commands report that.
    assert (stamps["every"], stamps["source"]) == (4, "software")
    assert (stamps["interface"], stamps["reason"]) == (remote.link, None)
    assert finding["mark"] == "fine"
    assert remote.link in finding["value"]


def doctor(target: str) -> dict:
    """The doctor's finding about stamps on the path to a server."""
    answer = hindmost("host", "doctor", target, "--spin", "10ms", "--json")
    (finding,) = [finding for finding in answer.result["findings"] if finding["id"] == "stamps"]
    return finding


@pytest.mark.skipif(
    platform.machine() not in SETSOCKOPT, reason="system call numbers of this machine unknown"
)
@pytest.mark.nightly  # tests/unit/test_verdict_stamps.py covers the reason, the engine's own tests the socket
def test_a_kernel_that_refuses_stamps_is_reported_and_the_rest_is_measured(tmp_path):
    doc, _ = measure(tmp_path, "--io", "io_uring", without_stamps=True)
    assert doc["wire_us"] is None
    reason = reasons(doc)["no-time-stamps"]
    assert (reason["level"], "--stamps off" in reason["hint"]) == ("note", True), reason
    counts = doc["counts"]
    assert counts["completed"] > 0.9 * counts["scheduled"] > 0
    assert (
        counts["scheduled"] == counts["completed"] + counts["errors"] + counts["timeouts"] + counts["unsent"]
    )
    assert doc["service_us"]["p50"]["value"] > 0.0
