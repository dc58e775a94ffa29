"""Kernel stamps: chosen by the user, each within its request, and a kernel that has none.

What percentiles become of them is settled by ``tests/accuracy/test_parts_of_latency.py``.
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
    pytest.mark.skipif(shutil.which("memcached") is None, reason="there is no memcached"),
]
SHORT = ["--rate", "5k", "--runs", "1", "--duration", "0.5s", "--warmup", "0.2s", "-q", "--json"]

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
SETSOCKOPT = {"x86_64": 54, "aarch64": 208}
SO_TIMESTAMPING_OLD, SO_TIMESTAMPING_NEW = 37, 65


def no_stamps() -> None:
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
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in program))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header):
        raise OSError(ctypes.get_errno(), "no filter")


def measure(
    tmp_path: Path, *flags: str, filtered: bool = False, target: str = "memcached"
) -> tuple[dict, str]:
    out = tmp_path / "study"
    words = ("measure", target, *SHORT, "--out", out, *flags)
    done = hindmost(*words, study=out, preexec_fn=no_stamps if filtered else None)
    assert done.out, done.err
    return done.result, done.err


def reasons(doc: dict) -> dict[str, dict]:
    return {one["code"]: one for one in doc["reasons"]}


def assert_stamped(doc: dict, study: Path) -> dict:
    """As many stamps came as requests were to have them, each within its request; what the client says of them."""
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


def test_a_link_to_another_host_is_stamped_as_loopback_is(tmp_path):
    with other_namespace() as there, there.memcached() as target:
        doc, _ = measure(tmp_path, "--clients", "1", "--stamps", "4", target=target)
        judged = doctor(target)
    stamps = assert_stamped(doc, tmp_path / "study")
    # A veth has no clock of its own: that the kernel stamped in its stead is said by both.
    assert (stamps["every"], stamps["source"]) == (4, "software")
    assert (stamps["interface"], stamps["reason"]) == (there.link, None)
    assert judged["mark"] == "fine"
    assert there.link in judged["value"]


def doctor(target: str) -> dict:
    """What the doctor says of the stamps on the way to a server."""
    done = hindmost("host", "doctor", target, "--spin", "10ms", "--json")
    (found,) = [one for one in done.result["findings"] if one["id"] == "stamps"]
    return found


@pytest.mark.skipif(
    platform.machine() not in SETSOCKOPT, reason="system call numbers of this machine unknown"
)
@pytest.mark.nightly  # tests/unit/test_verdict_stamps.py has the reason, the engine's own tests the socket
def test_a_kernel_that_refuses_stamps_is_told_and_the_rest_is_measured(tmp_path):
    doc, _ = measure(tmp_path, "--io", "io_uring", filtered=True)
    assert doc["wire_us"] is None
    told = reasons(doc)["no-time-stamps"]
    assert (told["level"], "--stamps off" in told["hint"]) == ("note", True), told
    counts = doc["counts"]
    assert counts["completed"] > 0.9 * counts["scheduled"] > 0
    assert (
        counts["scheduled"] == counts["completed"] + counts["errors"] + counts["timeouts"] + counts["unsent"]
    )
    assert doc["service_us"]["p50"]["value"] > 0.0
