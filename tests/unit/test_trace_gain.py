"""Predicted gains of advice, compared with simulated queues with and without the cause."""

from __future__ import annotations

import pytest

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.simulation import Design, simulate
from hindmost.core.tracing.advice import _predict
from hindmost.core.tracing.document import Cause, Figure, Part, Service, StageFigures, StageName

WORK_US, HELD_US, OFTEN = 100.0, 1_000.0, 0.02
"""A request's own work; by how much a culprit holds up one in fifty of them."""
RATE = 4_000.0


def mean_wait(services: list[tuple[float, float]]) -> float:
    """Return the simulated mean of waiting plus service, for services with their shares."""
    mixture = [{"weight": share, "law": {"kind": "deterministic", "us": us}} for us, share in services]
    clone = Clone.from_document({"schema": "hindmost.clone/1", "name": "queue", "service": mixture})
    result = simulate(clone, rate_per_s=RATE, design=Design(requests=400_000))
    return result.latency_us["mean"].value


def figure(value: float) -> Figure:
    return Figure(value=value, low=None, high=None)


def latency(variance_us2: float) -> StageFigures:
    return StageFigures(
        stage="latency",
        mean_us=figure(500.0),
        variance_us2=figure(variance_us2),
        c2=None,
        share_of_variance=None,
        share_of_mean=1.0,
    )


def service(variance_us2: float, occupied_us: float) -> Service:
    return Service(
        workers=1,
        rate_per_s=RATE,
        mean_us=WORK_US,
        variance_us2=variance_us2,
        occupied_us=occupied_us,
        c2=variance_us2 / occupied_us**2,
    )


def part(stage: StageName, cause: Cause, mean_us: float, sd_without_us: float) -> Part:
    return Part(
        stage=stage,
        cause=cause,
        who=None,
        mean_us=figure(mean_us),
        share_of_variance=None,
        sd_without_us=sd_without_us,
    )


@pytest.mark.parametrize("cause", ["run_queue", "interrupt"])
def test_the_predicted_gain_agrees_with_a_simulated_queue(cause: Cause) -> None:
    own = OFTEN * HELD_US
    variance = OFTEN * (1 - OFTEN) * HELD_US**2
    behind = 9_000.0  # waiting in the queue, which removing the cause leaves unchanged
    result = _predict(
        part("start_to_response", cause, own, behind**0.5),
        latency(behind + variance),
        service(variance, WORK_US + own),  # a thread that waits for a processor is occupied, too
    )
    assert result.queue_us is not None
    now, then = result.queue_us
    assert now == pytest.approx(mean_wait([(WORK_US, 1 - OFTEN), (WORK_US + HELD_US, OFTEN)]), rel=0.03)
    assert then == pytest.approx(mean_wait([(WORK_US, 1.0)]), rel=0.01)
    grown = result.service_may_grow_to_us
    assert grown is not None
    assert mean_wait([(grown, 1.0)]) == pytest.approx(now, rel=0.01), (
        "a service this long has the present latency"
    )


def test_time_outside_the_service_shortens_no_queue() -> None:
    result = _predict(part("tcp_to_read", "run_queue", 9.0, 50.0), latency(9e3), service(9e3, WORK_US))
    assert result.queue_us is None
    assert result.mean_us == (500.0, 491.0)
