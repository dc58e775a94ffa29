"""Whether requests left as ordered: found where they did not, silent within chance."""

import dataclasses

import pytest
from evidence import instance, reasons, ten


def left(distance=0.0, dispersion=1.0, error=0.03):
    """Ten runs whose sends have these figures."""
    spans = ("1ms", "10ms", "100ms")
    arrivals = {
        "gaps": 100_000,
        "distance": distance,
        "low": 0.0,
        "high": 1.0,
        "anderson_darling": 1.0,
        "dispersion": dict.fromkeys(spans, dispersion),
        "dispersion_error": dict.fromkeys(spans, error),
    }
    return ten(instances=lambda: [dataclasses.replace(instance(i), arrivals=arrivals) for i in (0, 1)])


@pytest.mark.parametrize(
    ("figures", "level"),
    [
        ({}, None),
        ({"distance": 0.14}, None),  # what write calls of some microseconds make of 20,000/s
        ({"distance": 0.16}, "mind"),
        ({"distance": 0.41}, "invalid"),
        ({"dispersion": 1.06}, None),  # 5 % and three standard errors of twenty instances' mean
        ({"dispersion": 1.09}, "mind"),
        ({"dispersion": 12.0}, "mind"),
        ({"dispersion": 0.8}, "mind"),
        ({"dispersion": 0.8, "error": 0.3}, None),  # too few spans to tell
    ],
)
def test_arrivals_are_judged_by_distance_and_dispersion(figures, level):
    found = reasons(runs=left(**figures))
    assert (found["arrivals"].level if "arrivals" in found else None) == level


def test_equal_gaps_must_not_scatter():
    plan = {"arrivals": "deterministic"}
    assert "arrivals" in reasons(runs=left(dispersion=1.0), plan=plan)
    assert "arrivals" not in reasons(runs=left(dispersion=0.04), plan=plan)
