"""Values that people write are parsed correctly, and CPUs are allotted by the rule."""

import json
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hindmost import MeasurePlan
from hindmost.core.fleet import allot
from hindmost.core.fleet.cpus import free_cpus
from hindmost.core.plan import (
    parse_duration,
    parse_percent,
    parse_quantiles,
    parse_rate,
    parse_runs,
    parse_term,
)
from hindmost.core.plan.units import format_us, label
from hindmost.errors import HindmostError

PARSERS = (parse_rate, parse_duration, parse_percent, parse_quantiles, parse_runs, parse_term)


@given(st.floats(min_value=1e-3, max_value=8.6e10))
def test_microseconds_are_read_back_as_they_were_written(us):
    assert parse_duration(format_us(us, 6)) == pytest.approx(us / 1e6, rel=1e-5)


@given(st.floats(min_value=1e-3, max_value=1e8))
def test_rates_are_read_back(rate):
    assert parse_rate(repr(rate)) == rate
    assert parse_rate(f"{rate / 1e3!r}k") == pytest.approx(rate)


@given(st.lists(st.integers(1, 99_999), min_size=1, max_size=9))
def test_percentiles_are_read_back_from_their_labels(thousandths):
    levels = tuple(sorted({round(n / 1e5, 12) for n in thousandths}))
    assert parse_quantiles(",".join(label(level) for level in levels)) == levels


@given(st.integers(1, 10**6 - 1), st.integers(1, 10**6 - 1))
def test_runs_are_read_back(a, b):
    low, high = sorted((a, b))
    assert parse_runs(f"{low}..{high}") == (low, high)


@given(st.text(max_size=30))
def test_any_text_is_parsed_or_refused_with_a_hint(text):
    refusals = []
    for parse in PARSERS:
        try:
            parse(text)
        except HindmostError as error:
            refusals.append(error)
    assert all(one.exit_code == 2 and one.hint for one in refusals)


@given(st.from_regex(r"\A[-+]?[0-9.e]{1,12}[a-zµ%]{0,3}\Z"))
def test_every_parsed_value_is_finite_and_in_range(text):
    for parse, most in ((parse_rate, 1e8), (parse_duration, 86_400.0), (parse_percent, 1.0)):
        try:
            value = parse(text)
        except HindmostError:
            continue
        assert math.isfinite(value)
        assert 0.0 <= value <= most


HOSTS = st.sets(st.integers(0, 255), min_size=1, max_size=32)


@given(HOSTS, st.none() | st.integers(1, 64), st.integers(1, 4), st.data())
def test_two_clients_never_spin_on_one_cpu(cpus, clients, threads, data):
    server = data.draw(st.none() | st.lists(st.sampled_from(sorted(cpus)), unique=True), label="server")
    client_cpus = data.draw(st.none() | st.lists(st.sampled_from(sorted(cpus)), unique=True), label="clients")
    allotment = allot(sorted(cpus), clients=clients, server=server, client_cpus=client_cpus, threads=threads)
    used = [cpu for each in allotment.clients for cpu in each]
    assert set(used) <= cpus
    assert set(allotment.server) <= cpus
    assert all(len(each) == threads for each in allotment.clients)
    if clients is not None:
        assert len(allotment.clients) == clients
    if server is not None:
        assert allotment.server == tuple(server)
    if client_cpus:
        assert set(used) <= set(client_cpus)
    if allotment.pacing == "spin":
        assert len(set(used)) == len(used)
        assert not set(used) & set(allotment.server)
    if allotment.beside_server:
        assert set(allotment.server) & set(client_cpus or cpus) or not set(cpus) - set(allotment.server)


@given(HOSTS)
def test_by_default_every_cpu_goes_to_the_server_a_client_or_helpers(cpus):
    assume(len(cpus) > 1)
    allotment = allot(sorted(cpus))
    used = [cpu for each in allotment.clients for cpu in each]
    free = free_cpus([[cpu] for cpu in cpus], {*allotment.server, *used})
    assert sorted([*allotment.server, *used, *free]) == sorted(cpus)
    assert len(free) <= 1, "one core is left for helpers"
    assert allotment.pacing == "spin"


@given(st.integers(1, 64), st.integers(1, 500), st.integers(0, 50_000), st.integers(0, 2**40))
def test_clients_share_connections_and_seed(clients, connections, samples, seed):
    plan = MeasurePlan(
        target="memcached", clients=clients, connections=connections, samples=samples, seed=seed
    )
    plans = [json.loads(plan.engine_plan(1, index, "memcached", "h:1")) for index in range(clients)]
    each = [one["connections"] for one in plans]
    assert sum(each) == max(connections, clients)
    assert max(each) - min(each) <= 1
    assert {one["seed"] for one in plans} == {seed}
    assert sum(one["keep"]["samples"] for one in plans) >= samples
