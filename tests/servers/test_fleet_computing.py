"""A sweep on many machines: whole though a host is lost, an error when none is left, and nothing stays there."""

from __future__ import annotations

import signal

import pytest
from machines import machines
from measuring import wait_for

pytest.importorskip("asyncssh", reason="hindmost[fleet] is not installed")
pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from hindmost.errors import InstanceError
from hindmost.fleet.dask import batch
from hindmost.fleet.dask.compute import computing
from hindmost.models import load_clone
from hindmost.models.batch import predicted, predictions
from hindmost.models.simulation import Design

WORKER = "hindmost.fleet.dask.worker"
DESIGN = Design(requests=1_000)


def points(count):
    return [{"set": {}, "load": {"utilisation": 0.2 + 0.6 * i / count}} for i in range(count)]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with machines(tmp_path_factory.mktemp("two"), 2) as found:
        yield found


def test_a_lost_hosts_points_are_asked_of_another_and_without_any_host_there_is_no_answer(two, monkeypatch):
    clone, said, killed = load_clone("silo"), [], []
    ask = batch.Batch._ask

    def stopping(*of):
        """Machine a, which is asked for pieces as the other is, stands still from the first on."""
        two.by_name["a"].kill(WORKER, signal.SIGSTOP)
        ask(*of)

    def killing(spread):
        """It dies when the first piece of the other is there."""

        def until_then(*of):
            for piece in spread(*of):
                if not killed:
                    killed.append("a")
                    two.by_name["a"].kill(WORKER)
                yield piece

        return until_then

    monkeypatch.setattr(batch.Batch, "_ask", stopping)
    with computing(str(two.hosts_file()), said.append) as spread:
        there = predictions(clone, points(400), DESIGN, None, killing(spread))
        assert there == predictions(clone, points(400), DESIGN)
        assert any(note.code == "host-lost" and note.values["host"] == "a" for note in said), said
        monkeypatch.undo()
        pieces = spread(predicted, (clone, DESIGN), points(4_000))
        _, first = next(pieces)
        two.by_name["b"].kill(WORKER)
        with pytest.raises(InstanceError, match=r"no host is left.* \d+ of 4,000 points") as caught:
            list(pieces)
        assert first
        assert "--fleet" in str(caught.value.hint)
    wait_for(lambda: not any(one.commands() for one in two.loads), "no process is left", 30.0)


def test_a_host_that_stands_still_holds_no_sweep_up(two, monkeypatch):
    clone, said = load_clone("silo"), []
    monkeypatch.setattr(batch, "AWAY_S", 3.0)

    def stopping(spread):
        def from_the_first_on(*of):
            for piece in spread(*of):
                two.by_name["a"].kill(WORKER, signal.SIGSTOP)
                yield piece

        return from_the_first_on

    with computing(str(two.hosts_file()), said.append) as spread:
        there = predictions(clone, points(2_000), DESIGN, None, stopping(spread))
        assert there == predictions(clone, points(2_000), DESIGN)
        assert any(note.code == "slow-host" for note in said), said
        two.by_name["a"].kill(WORKER)
    wait_for(lambda: not any(one.commands() for one in two.loads), "no process is left", 30.0)


@pytest.mark.nightly
def test_a_sweep_that_is_interrupted_leaves_nothing_on_hosts(two):
    def interrupted():
        with computing(str(two.hosts_file())) as spread:
            for _ in spread(predicted, (load_clone("silo"), DESIGN), points(4_000)):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    # The folder of a worker that was killed goes when another begins there.
    wait_for(lambda: not two.left(), "nothing is left", 30.0)
