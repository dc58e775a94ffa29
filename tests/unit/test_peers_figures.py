"""Figures that the benches compute from measurements: shares of a CPU, medians, ratios and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from rows import each_row

from benches.peers import ghz
from benches.peers.claims import Claim
from benches.peers.compare import ContestRows, cost_us, error_us, middle, of_right, per_core
from benches.peers.contest import Contest, Setting, SettingDiffers, load
from benches.peers.freeze import right_answer
from benches.peers.launch import Tick, share_of_load
from benches.peers.registry import ABSENT, PEERS
from benches.peers.rounds import steps
from benches.peers.samples import figures
from benches.peers.table import page

SETTING = Setting(2.0, 16, 0, 1)


def row(number: int, peer: str, mode: str, **more: Any) -> dict[str, Any]:
    report = {"requests": 1000, "per_s": 500.0, "errors": 0, "latency_us": {}, "others_us": {}}
    report |= {"busy_s": None, "cpu_s": None}
    found = {
        "key": [number, "http", mode, peer],
        "round": number,
        "protocol": "http",
        "mode": mode,
        "peer": peer,
    }
    found |= {"requested_per_s": None, "seconds": 2.0, "frozen_s": None, "cpu_share": 0.5, "noise_p99_ns": []}
    return found | {"report": report | more.pop("report", {})} | more


def test_start_up_and_reporting_do_not_count_as_load() -> None:
    # A second of start-up at full speed, keys, a pause, a load at 30 % of a CPU, then a second of sorting.
    cpu = np.cumsum([0, *[100] * 10, 100, *[0] * 5, *[30] * 20, *[100] * 10]) * 1_000_000
    sent = np.cumsum([0, *[0] * 10, 900, *[0] * 5, *[1000] * 20, *[0] * 10])
    ticks = [Tick(100_000_000 * i, int(c), int(b)) for i, (c, b) in enumerate(zip(cpu, sent, strict=True))]
    assert share_of_load(ticks) == pytest.approx(0.3)


def test_an_unobserved_load_has_no_share() -> None:
    assert np.isnan(share_of_load([]))
    assert np.isnan(share_of_load([Tick(0, 0, 0), Tick(1, 1, 0), Tick(2, 2, 5)]))


def test_ratios_are_paired_by_round() -> None:
    # The host is twice as fast in round 2. Only pairs show that our CPU use is half of wrk's in both rounds.
    rows = [row(n, "hindmost", "flat", cpu_share=0.25 / n) for n in (1, 2)]
    rows += [row(n, "wrk", "flat", cpu_share=0.5 / n) for n in (1, 2)] + [
        row(3, "wrk", "flat", cpu_share=0.001)
    ]
    found = ContestRows(rows).ratio("http", "hindmost", "wrk", "flat", per_core)
    assert (found.value, found.low, found.high, found.n) == (2.0, 2.0, 2.0, 2)


def test_cpu_time_of_a_request() -> None:
    assert cost_us(row(1, "wrk", "flat", cpu_share=0.8)) == pytest.approx(1600.0)
    assert cost_us(row(1, "wrk", "flat", cpu_share=None)) is None


def test_an_error_is_the_reported_minus_the_captured_latency() -> None:
    measured = row(
        1, "oha", "10%", report={"latency_us": {"p99": 90.0}}, wire={"latency_us": {"p99": 60.0, "p50": 1.0}}
    )
    assert error_us("latency", "p99")(measured) == 30.0
    assert error_us("latency", "p50")(measured) is None, "p50 is not reported"


def test_the_right_answer_to_a_freeze_agrees_with_a_simulated_open_loop() -> None:
    frozen, total, rate, capacity, usual = 0.1, 4.0, 2000.0, 40_000.0, 100e-6
    scheduled = np.arange(0.0, total, 1.0 / rate)
    free, completed = 0.0, np.empty(scheduled.size)
    for i, at in enumerate(scheduled):
        begin = max(at, free)
        if 2.0 <= begin < 2.0 + frozen:
            begin = 2.0 + frozen
        free = begin + 1.0 / capacity
        completed[i] = begin + usual
    simulated = figures((completed - scheduled) * 1e6)
    for name, value in right_answer(frozen, total, rate, capacity, usual * 1e6).items():
        assert simulated[name] == pytest.approx(value, rel=0.005)


def test_a_peer_is_compared_with_the_right_answer_to_a_freeze() -> None:
    measured = row(
        1, "wrk", "freeze", frozen_s=0.1, seconds=4.0, report={"latency_us": {"p50": 0.0, "p99": 30_000.0}}
    )
    assert of_right("p99", 50_000.0)(measured) == pytest.approx(0.5)


def test_a_median_of_nothing_is_none() -> None:
    assert middle([None, float("nan")]).n == 0


def test_each_round_has_every_peer_in_its_own_order() -> None:
    blocks = list(steps(PEERS, 2, 1, seed=3))
    keys = [step.key for block in blocks for step in block]
    assert len(keys) == len(set(keys))
    assert {peer for _, _, _, peer in keys} == {peer.name for peer in PEERS}
    assert {number for number, _, mode, _ in keys if mode == "freeze"} == {1}
    orders = [[step.key[1:] for step in block if step.mode != "freeze"] for block in blocks]
    assert orders[0] != orders[3], "the order is drawn anew"


def test_an_interrupted_contest_resumes(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    Contest(path, SETTING, {}, {"host": "here", "versions": {}})
    whole = path.read_text()
    path.write_text(
        whole + '{"key": [1, "http", "flat", "wrk"], "peer": "wrk"}\n' + '{"key": [1, "http", "fl'
    )
    resumed = Contest(path, SETTING, {}, {})
    assert [row["peer"] for row in resumed.rows] == ["wrk"]
    assert load(path)[1] == resumed.rows
    with pytest.raises(SettingDiffers):
        Contest(path, Setting(3.0, 16, 0, 1), {}, {})


def test_the_tables_include_failed_and_absent_peers() -> None:
    peers = [peer for peer in PEERS if peer.protocol == "http"]
    rows = [row(1, "hindmost", "flat"), row(1, "wrk", "flat", cpu_share=1.0)]
    rows.append(
        {
            "key": [1, "http", "flat", "oha"],
            "round": 1,
            "mode": "flat",
            "peer": "oha",
            "failure": "it crashed",
        }
    )
    text = page({"about": {"host": "a host", "versions": {"wrk": "4"}}}, rows, peers, ABSENT)
    for name in [peer.name for peer in peers] + list(ABSENT):
        assert name in text
    assert "it crashed" in text
    assert "| http | wrk | 500 | 2.00 | 2000.00 |" in text


@each_row(
    ("ratios", "verdict"),
    [([1.2, 1.1, 1.3], "held"), ([0.8, 1.05, 1.0], "broken"), ([1.0, 1.2, 1.1], "undecided")],
)
def test_a_claim_is_decided_only_if_all_rounds_agree(ratios: list[float], verdict: str) -> None:
    row = Claim("redis", "redis-benchmark", ratios, 1.1).row()
    assert row.endswith(f"| 1.1 | {verdict} |")
    assert f"{sorted(ratios)[1]:.2f} [{min(ratios):.2f}, {max(ratios):.2f}]" in row


GHZ = """{"date":"2026-11-25T04:46:33Z","endReason":"timeout","count":208,"total":1059977067,"average":76100914,
"rps":196.23066052616778,"errorDistribution":{},"statusCodeDistribution":{"OK":208},"details":[]}"""
"""The report of ghz 0.93.0 on a server of a busy host, without latencies."""


def test_failed_calls_in_a_report_of_ghz_are_refused() -> None:
    assert ghz.read(GHZ) == 208
    for report in (
        GHZ.replace('"OK":208', '"OK":200,"Unavailable":8'),
        GHZ.replace('"OK":208', ""),
        "rpc error",
    ):
        with pytest.raises(SystemExit):
            ghz.read(report)


def test_ghz_sends_the_same_request_as_hindmost() -> None:
    message = json_format.Parse('{"id": 7}', _order())
    assert message.SerializeToString() == ghz.MESSAGE
    assert bytes.fromhex(ghz.CALL["body"]["hex"]) == b"\0\0\0\0\x02" + ghz.MESSAGE


def _order() -> Any:
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(ghz.descriptors()).file:
        pool.Add(file)
    method = pool.FindServiceByName(ghz.SERVICE).methods_by_name[ghz.METHOD]
    return message_factory.GetMessageClass(method.input_type)()
