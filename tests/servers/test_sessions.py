"""Sessions of requests in order, at a server that records them: order, data rows, think times, failures."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from http_recorder import record_requests
from measuring import Answer, assert_counts_add_up, measure

THINK_S, STEPS = 0.05, ("/login", "/cart", "/pay")
FEW = ("--clients", "1", "--connections", "20", "--timeout", "10s", "--rate", "300")


def measure_sessions(
    folder: Path,
    *options: str,
    think_s: object = THINK_S,
    law: str = "constant",
    statuses: dict[str, int] | None = None,
    runs: int = 1,
) -> tuple[Answer, list[str]]:
    """Measure sessions of three requests; return the answer and the paths that the client requested."""
    (folder / "users.csv").write_text("user\n" + "".join(f"u{number}\n" for number in range(100_000)))
    workload = {
        "kind": "http",
        "data": {"file": "users.csv", "order": "sequential"},
        "session": {"think_s": think_s, "law": law},
        "requests": [
            {
                "name": step[1:],
                "path": f"{step}?user={{{{data.user}}}}",
                "method": "PUT" if index == 1 else "GET",
            }
            for index, step in enumerate(STEPS)
        ],
    }
    file = folder / "workload.json"
    file.write_text(json.dumps(workload))
    with record_requests(statuses) as log:
        url = f"http://127.0.0.1:{log.port}/"
        answer = measure(url, folder / "study", *FEW, "--runs", runs, "--workload", file, *options)
        return answer, [request.path for request in log.load_requests]


def test_each_user_makes_every_request_in_order_with_think_times_between(tmp_path: Path) -> None:
    answer, paths = measure_sessions(tmp_path, "--duration", "1s", "--warmup", "0.5s")
    assert answer.code in (0, 4, 6), answer.err
    result = answer.result
    assert_counts_add_up(result)
    by_user: dict[str, list[str]] = {}
    for path in paths:
        step, _, user = path.partition("?user=")
        by_user.setdefault(user, []).append(step)
    assert len(by_user) > 100
    # The end of the load cuts sessions off.
    assert all(tuple(steps) == STEPS[: len(steps)] for steps in by_user.values())
    assert Counter(map(len, by_user.values()))[3] > 20
    found = result["sessions"]
    assert found["completed"] > 20, found
    assert found["begun"] == found["completed"] + found["failed"] + found["cut_off"]
    assert result["session_us"]["p50"]["value"] / 1e6 >= 2 * THINK_S
    # A third of the requests begin sessions; 100 are expected, with a standard deviation of 10.
    assert 50 <= result["by_kind"]["login"]["counts"]["scheduled"] <= 150


def test_a_failed_request_ends_its_session(tmp_path: Path) -> None:
    answer, paths = measure_sessions(
        tmp_path, "--duration", "1s", "--warmup", "0.5s", law="exponential", statuses={"PUT": 500}
    )
    assert answer.code in (0, 4, 6), answer.err
    found = answer.result["sessions"]
    assert found["begun"] > 20
    assert found["completed"] == 0
    assert found["failed"] + found["cut_off"] == found["begun"]
    assert found["failed"] > 0
    assert not any(path.startswith("/pay") for path in paths)
    assert answer.result["session_us"]["p50"]["value"] == "inf"


def test_sessions_longer_than_half_the_measurement_are_cut_off_and_said_to_be(tmp_path: Path) -> None:
    answer, _ = measure_sessions(tmp_path, "--duration", "0.5s", "--warmup", "2.1s", think_s=[0.01, 2.0])
    found = answer.result["sessions"]
    assert (found["completed"], found["cut_off"] > 10) == (0, True)
    reasons = {reason["code"]: reason for reason in answer.result["reasons"]}
    assert reasons["cut-sessions"]["values"]["count"] == found["cut_off"]


def test_limits_on_sessions_are_judged_by_their_durations(tmp_path: Path) -> None:
    answer, _ = measure_sessions(
        tmp_path, *("--duration", "1s", "--warmup", "0.5s", "--require", "session p50<10s"), runs=2
    )
    (limit,) = answer.result["limits"]
    assert (limit["figure"], limit["unit"]) == ("session p50", "us")
    assert 2e6 * THINK_S <= limit["value"] <= 1e7


@pytest.mark.parametrize(
    ("options", "code", "values"),
    [
        (("--warmup", "0.05s"), "bad-value", {"option": "--warmup", "least": 0.1}),
        (("--closed",), "bad-value", {"key": "session"}),
    ],
    ids=["short warm-up", "closed loop"],
)
def test_what_sessions_cannot_be_measured_with_is_refused(
    tmp_path: Path, options: tuple[str, ...], code: str, values: dict[str, object]
) -> None:
    answer, _ = measure_sessions(tmp_path, *options)
    answer.assert_error(2, code, **values)
