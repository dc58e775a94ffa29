"""The laws of arrivals: the engine's table, and how laws are written."""

from __future__ import annotations

import math

import pytest
from messages import raises
from rows import each_row

from hindmost.core.laws import DEFAULT_LAW, KINDS, law, law_text, parse_law, replay_of
from hindmost.errors import UsageError

LAWS = [
    "exponential",
    "deterministic",
    "uniform",
    "uniform:spread=0.5",
    "gamma:shape=0.25",
    "hyperexponential:c2=20",
    "pareto",
    "pareto:c2=3.5,ratio=1000",
    "bursts:ratio=8,share=0.2,length_ms=5",
    "trace:file=times.csv,unit=ms,column=2",
    "trace:file=times.csv,end=refuse",
]


def test_every_law_is_tested_and_the_default_is_a_poisson_process() -> None:
    assert {text.partition(":")[0] for text in LAWS} == set(KINDS)
    assert DEFAULT_LAW == "exponential"


@each_row("text", LAWS)
def test_a_law_is_parsed_and_formatted(text: str) -> None:
    assert law_text(parse_law(text)) == text
    assert (law(parse_law(text), 10_000.0).dispersion is None) == text.startswith("trace")


def test_a_single_parameter_needs_no_name() -> None:
    assert parse_law("gamma:2") == parse_law("gamma:shape=2")
    assert parse_law("bursts:10,share=0.3") == parse_law("bursts:ratio=10,share=0.3")


@each_row(
    ("text", "code", "fields"),
    [
        ("gama:2", "unknown-name", {"name": "gama", "known": list(KINDS)}),
        ("gamma", "missing-argument", {"key": "shape"}),
        ("gamma:shap=2", "unknown-key", {"key": "shap", "known": ["shape"]}),
        ("gamma:shape=2,shape=3", "duplicate-name", {"key": "shape"}),
        ("uniform:0.5", "bad-value", {"value": "0.5"}),
        ("exponential:rate=2", "unknown-key", {"key": "rate", "known": []}),
    ],
)
def test_a_misspelt_law_is_refused(text: str, code: str, fields: dict[str, object]) -> None:
    with raises(UsageError, code, option="--arrivals", **fields):
        parse_law(text)


def test_hints_name_valid_laws() -> None:
    for kind in KINDS:
        with raises(UsageError, "unknown-key", key="nonsense") as caught:
            parse_law(f"{kind}:nonsense=1")
        law(parse_law(caught.value.hint.removeprefix("--arrivals ")))


@each_row(
    ("text", "dispersion"),
    [("exponential", 1.0), ("gamma:4", 0.25), ("hyperexponential:20", 20.0), ("uniform", 1 / 3)],
)
def test_the_dispersion_of_independent_gaps_is_their_c2(text: str, dispersion: float) -> None:
    assert law(parse_law(text)).dispersion == pytest.approx(dispersion)


def test_the_gaps_of_a_law_are_a_distribution() -> None:
    x = [0.0, 1e-9, 0.5, 1.0, 20.0]
    with_gaps = [parsed for text in LAWS if (parsed := law(parse_law(text))).gaps]
    assert with_gaps
    for distribution in with_gaps:
        for below, log_above in zip(distribution.below(x), distribution.log_above(x), strict=True):
            assert below + math.exp(log_above) == pytest.approx(1.0)


def test_a_law_without_a_gap_distribution_is_refused() -> None:
    with pytest.raises(ValueError, match="deterministic"):
        law("deterministic").below([1.0])


def test_a_trace_shorter_than_a_run_is_refused_unless_it_repeats(tmp_path) -> None:
    (tmp_path / "times").write_text("".join(f"{at}\n" for at in range(1001)))
    repeated, once = (
        replay_of(parse_law(f"trace:{tmp_path}/times,end={end}")) for end in ("again", "refuse")
    )
    assert (once.count, once.rate_per_s) == (1001, 1.0)
    repeated.refuse_shorter_than(1e9, 1.0)
    # Up to half a second passes from warm-up to calibration, and requests are scheduled in it.
    once.refuse_shorter_than(1001.0 / 500.0 - 0.5, 500.0)
    with raises(
        UsageError,
        "short-trace",
        path=str(tmp_path / "times"),
        count=1001,
        rate_per_s=500.0,
        have=2.002,
        need=pytest.approx(2.1),
    ) as caught:
        once.refuse_shorter_than(1.6, 500.0)
    assert "end=again" in caught.value.hint
    with raises(UsageError, "bad-value", option="--arrivals", value=f"trace:file={tmp_path}/times,end=halt"):
        replay_of(parse_law(f"trace:{tmp_path}/times,end=halt"))


def test_a_trace_that_ends_shortens_the_measurement(tmp_path) -> None:
    (tmp_path / "times").write_text("".join(f"{at}\n" for at in range(1001)))
    repeated, stopping = (
        replay_of(parse_law(f"trace:{tmp_path}/times,end={end}")) for end in ("again", "stop")
    )
    assert stopping.measured_s(10.0, 0.5, 100.0) == pytest.approx(9.01)
    assert stopping.measured_s(8.5, 0.5, 100.0) == 8.5, "the trace is longer"
    assert repeated.measured_s(1e9, None, 100.0) == 1e9
    stopping.refuse_shorter_than(1e9, 100.0)
    with raises(UsageError, "missing-argument", option="--warmup") as caught:
        stopping.measured_s(10.0, None, 100.0)
    assert caught.value.hint == "--warmup 2s"
    with raises(UsageError, "short-trace", count=1001, have=10.01, need=pytest.approx(10.0)):
        stopping.measured_s(10.0, 9.5, 100.0)
