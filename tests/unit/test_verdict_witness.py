"""Verdicts from packet captures: notes only for problems."""

from evidence import client, reasons, run
from partial_documents import partial
from rows import each_row

from hindmost.core.store.measure import Capture, CaptureComparison, Margin


def margin(value: float) -> Margin:
    return Margin(value=value, low=value - 0.1, high=value + 0.1, runs=10)


def comparison(goal: float, upto: str, **gaps: float) -> CaptureComparison:
    """Return Hindmost's latency and the capture's: 30 us at p50, three times that at p99.9."""
    result = {"p50": 30.0, "p95": 50.0, "p99": 70.0, "p99.9": 90.0}
    gap = {label.replace("_", "."): margin(value) for label, value in gaps.items()}
    judged = [one.value for label, one in gap.items() if result[label] <= result[upto]]
    return partial(
        CaptureComparison,
        gap_us=gap,
        capture_us={label: margin(result[label]) for label in gap},
        constancy_us=max(judged) - min(judged) if len(judged) > 1 else None,
        upto=upto,
        goal_us=goal,
    )


def proof(**changes: object) -> Capture:
    good = {"runs": 10, "of": 10, "dropped": 0, "fault": None, "hint": None}
    wire = comparison(1.0, "p99.9", p50=1.2, p95=1.3, p99=1.5, p99_9=1.1)
    service = comparison(2.0, "p99", p50=5.0, p95=6.0, p99=6.9, p99_9=8.0)
    return partial(Capture, **{**good, "wire": wire, "service": service, **changes})


def notes_of(**changes: object) -> dict[str, str]:
    """Return levels by code, or by the name of a latency that differs from the capture."""
    return {
        reason.values.get("latency", code): reason.level
        for code, reason in reasons(proof=proof(**changes)).items()
    }


def test_there_is_no_note_without_a_capture_or_a_problem():
    assert notes_of() == {}
    assert reasons(proof=None) == {}


def test_an_unavailable_proof_is_noted_without_effect_on_the_verdict():
    missing = {
        "code": "missing-program",
        "fault": "there is no tcpdump here",
        "hint": "apt-get install tcpdump",
    }
    ((code, one),) = reasons(proof=proof(runs=0, **missing)).items()
    assert (code, one.level, one.hint) == ("no-capture", "note", missing["hint"])
    assert one.values == {"runs": 10, "of": 10, "code": "missing-program"}
    assert missing["fault"] in one.text


def test_dropped_packets_invalidate_the_proof_of_a_run():
    one = reasons(proof=proof(runs=9, dropped=1234))["capture-incomplete"]
    assert one.level == "note"
    assert one.values == {"runs": 1, "of": 10, "dropped": 1234}


@each_row(
    ("p99", "p99_9", "level"),
    [
        (6.9, 8.0, None),
        (7.1, 8.0, "note"),  # above the goal of 2 us
        (6.9, 13.9, None),  # p99.9 is not part of the goal ...
        (6.9, 14.1, "invalid"),  # ... but a tenth of it is an error of the quantile
        (10.1, 8.0, "note"),  # 5.1 us more are beyond the floor, and less than a tenth of p99
        (12.1, 8.0, "invalid"),
    ],
)
def test_service_latency_is_judged_by_its_difference_beyond_a_constant(p99, p99_9, level):
    service = comparison(2.0, "p99", p50=5.0, p95=6.0, p99=p99, p99_9=p99_9)
    assert notes_of(service=service).get("service") == level


def test_only_wrong_quantiles_are_reported():
    service = comparison(2.0, "p99", p50=5.0, p95=6.0, p99=12.1, p99_9=8.0)
    assert reasons(proof=proof(service=service))["capture-differs"].labels == ("p99",)


@each_row(("p99", "level"), [(2.0, None), (2.2, "note"), (20.0, "note")])
def test_a_drift_of_wire_latency_is_reported(p99, level):
    wire = comparison(1.0, "p99.9", p50=1.1, p95=1.3, p99=p99, p99_9=1.1)
    assert notes_of(wire=wire).get("wire") == level


def test_too_few_requests_prove_nothing():
    assert notes_of(wire=None, service=comparison(2.0, "p99", p50=5.0)) == {}


def test_service_latency_with_connection_time_is_not_compared():
    counts = {"connects": {"made": 9, "failed": 0, "all": 9}, "reconnects": 9}
    service = comparison(2.0, "p99", p50=100.0, p95=300.0, p99=900.0)
    for by_turns, level in ((False, "invalid"), (True, None)):
        runs = [run(n, clients=[client(0, **counts, by_turns=by_turns)]) for n in range(1, 11)]
        one = reasons(proof=proof(service=service), runs=runs).get("capture-differs")
        assert (one.level if one else None) == level
    assert "capture-differs" not in reasons(proof=proof(service=service), plan={"requests_per_connection": 8})
