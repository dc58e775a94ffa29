"""Ranking of counters in a ring that changed with latency, and the number of blocks it needs."""

import json
import time

import numpy as np
import pytest

from hindmost.cli import main
from hindmost.commands.watch.ranking import rank_or_wait
from hindmost.commands.watch.ring import Ring

BLOCK_S = 30
BEGIN = 1_800_000_000  # at the start of a block
FAST, SLOW = 700, 892  # bins three octaves apart
CHANGED_BLOCK = 5  # first block with more threads


def ring(slow):
    """Write one request per second, slow in the slow blocks; one metric of ten follows, another changes once."""
    rng = np.random.default_rng(3)
    seconds = np.arange(len(slow) * BLOCK_S)
    each = np.repeat(slow, BLOCK_S)
    metrics = rng.normal(1_000, 100, (len(seconds), 10)).astype(int)
    metrics[:, 1] += 1_000 * each
    metrics[:, 0] = np.where(seconds < CHANGED_BLOCK * BLOCK_S, 3, 4)
    names = ["app.threads", "psi.cpu_some_us", *(f"host.m{at}" for at in range(8))]
    # Blocks differ by more than the width of a bin.
    bins = np.where(each, SLOW, FAST) + np.repeat(rng.integers(0, 9, len(slow)), BLOCK_S)
    about = {"application": "a", "host": "b", "pid": 1, "boot": "c", "bins_an_octave": 64}
    at_s = BEGIN + seconds + 0.5
    return Ring(
        about,
        names,
        [False] * len(names),
        at_s,
        metrics,
        [],
        [(at, {int(number): 20}) for at, number in zip(at_s, bins, strict=True)],
        64,
        False,
    )


@pytest.fixture
def show_ring(monkeypatch, capsys):
    def show(slow):
        """Return document and text of a ring with an unfinished block after those of `slow`."""
        monkeypatch.setattr(
            "hindmost.commands.watch.ring.read_ring", lambda _: ring(np.array([*slow, slow[-1]]))
        )
        assert main(["watch", "show", "a.ring", "--block", "30s", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert main(["watch", "show", "a.ring", "--block", "30s"]) == 0
        return document, " ".join(capsys.readouterr().out.split())

    return show


def test_an_outage_is_compared_with_earlier_blocks(show_ring):
    change, bootstrap = (show_ring([False] * 66 + [True] * 10)[0][name] for name in ("change", "bootstrap"))
    assert (change["kind"], change["minutes"]) == ("anomaly", None)
    assert change["since_s"] == BEGIN + 67 * BLOCK_S
    assert 6 < change["low"] < bootstrap["low"] < 8 < bootstrap["high"] < change["high"] < 10


@pytest.mark.parametrize("begun", [1, 3, 5])
def test_a_recent_anomaly_shows_the_time_of_its_ranking(show_ring, begun):
    document, text = show_ring([False] * 40 + [True] * begun)
    assert document["moved"] == []
    wait = document["moved_wait"]
    assert (wait["have"], wait["need"], wait["of"]) == (begun, 6, "slow")
    # The end of the sixth slow block.
    assert wait["at_s"] == BEGIN + 46 * BLOCK_S
    assert wait["code"] == "few-slow-blocks"
    clock = time.strftime("%H:%M:%S", time.localtime(wait["at_s"]))
    assert clock in text
    assert f"{(6 - begun) * 30} s" in text
    assert "psi.cpu_some_us" not in text


def test_after_six_slow_blocks_the_related_counter_comes_first(show_ring):
    document, text = show_ring([False] * 40 + [True] * 6)
    assert document["moved_wait"] is None
    assert document["moved"][0]["name"] == "psi.cpu_some_us"
    assert "psi.cpu_some_us" in text


def test_earlier_slow_blocks_count_as_slow(show_ring):
    document, _ = show_ring([False] * 30 + [True] * 6 + [False] * 10 + [True])
    assert document["moved_wait"] is None
    assert document["moved"][0]["name"] == "psi.cpu_some_us"


def test_a_ring_without_slow_blocks_is_ranked(show_ring):
    document, _ = show_ring([False] * 40)
    assert document["moved_wait"] is None
    assert document["moved"]


def test_a_short_ring_reports_the_number_of_missing_blocks(show_ring):
    document, _ = show_ring([False] * 7)
    wait = document["moved_wait"]
    assert document["moved"] == []
    assert (wait["code"], wait["have"], wait["need"]) == ("few-blocks", 7, 20)
    assert wait["at_s"] == BEGIN + 20 * BLOCK_S


@pytest.mark.parametrize(("begun", "ranked"), [(6, False), (14, True)])
def test_an_anomaly_is_ranked_with_enough_earlier_blocks(show_ring, begun, ranked):
    # 6 of the last 20 blocks are slow; 14 of the last 46, which include the change of the threads.
    document, _ = show_ring([False] * 36 + [True] * begun)
    assert ("app.threads" in {one["name"] for one in document["moved"]}) == ranked


def test_a_slightly_slower_last_block_does_not_delay_the_ranking():
    blocks = 30
    ends = BEGIN + BLOCK_S * np.arange(1.0, blocks + 1)
    values = np.full(blocks, 100.0)
    values[-1] = 110.0
    moved, wait = rank_or_wait(ring(np.zeros(blocks, bool)), ends, values, BLOCK_S)
    assert wait is None
    assert moved
