"""Watching: which application, where its latency comes from, rings as arrays."""

import json
import os

import numpy as np
import pytest

from hindmost import _engine
from hindmost.errors import HindmostError, TargetError, UsageError
from hindmost.watch import Application, WatchRequest, find_application, latency_from, merge, read_ring, watch
from hindmost.watch.ring import bin_middle_us, merged_quantile_us

OWN = Application("this test", os.getpid())


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    place = tmp_path_factory.mktemp("watch") / "own.ring"
    log = place.with_suffix(".log")
    log.write_text("")
    source = latency_from(OWN, probe=None, log=log, log_latency="column:1/ms")
    request = WatchRequest(OWN, place, 1 << 20, period_s=0.02, latency=source, samples=25)
    done = watch(request, lambda _: log.write_text("2.0\n2.0\n8.0\n"))
    return place, done


def test_a_ring_has_every_counter_of_the_dictionary_at_each_sample(ring):
    place, done = ring
    read = read_ring(place)
    assert done["samples"] == len(read.at_s) == 25
    assert read.names == [name for name, _, _ in _engine.watch_counters()]
    assert read.column("app.threads").min() >= 1
    assert np.nansum(read.column("app.run_us")) > 0
    assert not read.cut
    assert read.about["pid"] == os.getpid()
    # What the watch used stands in its own samples.
    assert 0 < read.values[-1, read.names.index("own.cpu_us")] <= done["cpu_us"]


def test_latencies_of_a_log_are_in_the_ring_and_merge_over_hosts(ring):
    read = read_ring(ring[0])
    assert read.values[-1, read.names.index("latency.requests")] == 3
    (row,) = merge([read, read], batch_s=3600.0)
    assert row["requests"] == 6
    assert row["p50_us"] == pytest.approx(2000, rel=0.02)
    assert row["p99_us"] == pytest.approx(8000, rel=0.02)


def test_bins_of_the_ring_are_known_to_a_64th():
    assert bin_middle_us(100) == pytest.approx(0.1, rel=0.02)
    assert merged_quantile_us([{100: 1}, {100: 1, 300: 2}], 0.5) == bin_middle_us(100)
    assert np.isnan(merged_quantile_us([], 0.5))


def test_an_application_that_is_not_there_is_told_so():
    with pytest.raises(TargetError, match="there is no process 4194999"):
        find_application("4194999")
    with pytest.raises(UsageError, match="no process id, no address and no cgroup"):
        find_application("no-such-cgroup-here")
    with pytest.raises(TargetError, match="has no process"):
        watch(WatchRequest(Application("gone", 4194999), None))


def test_a_ring_that_cannot_be_written_is_refused_before_the_first_sample(tmp_path):
    with pytest.raises(HindmostError, match="cannot be made"):
        watch(WatchRequest(OWN, tmp_path / "no" / "such.ring", samples=1))
    other = tmp_path / "text.ring"
    other.write_text("no ring\n")
    with pytest.raises(HindmostError, match="is no ring"):
        read_ring(other)


@pytest.mark.parametrize("place", ["column:0", "json:", "last", "column:1/min"])
def test_a_place_in_a_log_that_is_none_is_refused(place, tmp_path):
    with pytest.raises(UsageError, match="no place of a latency"):
        latency_from(OWN, probe=None, log=tmp_path / "x", log_latency=place)


def test_a_protocol_that_no_probe_speaks_is_refused():
    with pytest.raises(UsageError, match="a probe speaks memcached, redis, http"):
        latency_from(OWN, probe="100/s", address="gopher://127.0.0.1:70")
    assert latency_from(OWN, probe="100/s") is None


def test_the_usual_verb_is_meant_where_none_is_named():
    from hindmost.cli.verbs import spelled_out

    assert spelled_out(["watch", "merge", "a"]) == ["watch", "merge", "a"]
    assert spelled_out(["watch", "--help"]) == ["watch", "--help"]
    assert spelled_out(["watch", "77"]) == ["watch", "start", "77"]
    assert spelled_out(["measure", "77"]) == ["measure", "77"]


def test_the_document_names_the_probe_in_numbers():
    source = latency_from(OWN, probe="50/s", address="memcached://localhost:11211")
    document = json.loads(WatchRequest(OWN, None, latency=source).document)
    assert document["latency"]["probe"]["address"].endswith(":11211")
    assert document["latency"]["probe"]["rate"] == 50
