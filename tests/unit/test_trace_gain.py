"""Predicted gains of advice, compared with simulated queues with and without the cause."""

from __future__ import annotations

import pytest

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.simulation import Design, simulate
from hindmost.core.tracing.advice import Service, _predict

WORK_US, HELD_US, OFTEN = 100.0, 1_000.0, 0.02
"""A request's own work; by how much a culprit holds up one in fifty of them."""
RATE = 4_000.0


def mean_wait(services: list[tuple[float, float]]) -> float:
    """Return the simulated mean of waiting plus service, for services with their shares."""
    mixture = [{"weight": share, "law": {"kind": "deterministic", "us": us}} for us, share in services]
    clone = Clone.from_document({"schema": "hindmost.clone/1", "name": "queue", "service": mixture})
    result = simulate(clone, rate_per_s=RATE, design=Design(requests=400_000))
    return float(result["latency_us"]["mean"]["value"])


@pytest.mark.parametrize("cause", ["run_queue", "interrupt"])
def test_the_predicted_gain_agrees_with_a_simulated_queue(cause: str) -> None:
    own = OFTEN * HELD_US
    variance = OFTEN * (1 - OFTEN) * HELD_US**2
    # A thread that waits for a processor is occupied, too.
    service = Service(1, RATE, WORK_US, variance, WORK_US + own)
    behind = 9_000.0  # waiting in the queue, which removing the cause leaves unchanged
    latency = {"mean_us": {"value": 500.0}, "variance_us2": {"value": behind + variance}}
    part = {
        "stage": "start_to_response",
        "cause": cause,
        "mean_us": {"value": own},
        "sd_without_us": behind**0.5,
    }
    result = _predict(part, {"all": {"latency": latency}}, service)
    assert result["queue_us"] is not None
    now, then = result["queue_us"]
    assert now == pytest.approx(mean_wait([(WORK_US, 1 - OFTEN), (WORK_US + HELD_US, OFTEN)]), rel=0.03)
    assert then == pytest.approx(mean_wait([(WORK_US, 1.0)]), rel=0.01)
    grown = result["service_may_grow_to_us"]
    assert grown is not None
    assert mean_wait([(grown, 1.0)]) == pytest.approx(now, rel=0.01), (
        "a service this long has the present latency"
    )


def test_time_outside_the_service_shortens_no_queue() -> None:
    latency = {"mean_us": {"value": 500.0}, "variance_us2": {"value": 9e3}}
    part = {"stage": "tcp_to_read", "cause": "run_queue", "mean_us": {"value": 9.0}, "sd_without_us": 50.0}
    result = _predict(part, {"all": {"latency": latency}}, Service(1, RATE, WORK_US, 9e3, WORK_US))
    assert result["queue_us"] is None
    assert result["mean_us"] == [500.0, 491.0]
