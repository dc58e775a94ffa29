"""Pieces of a batch on lost and slow hosts, with a fake client: pieces are repeated, or the batch fails."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest
from messages import raises

pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from distributed import CancelledError
from distributed.scheduler import KilledWorker

from hindmost.core.fleet.dask import batch as batches
from hindmost.errors import ClientError

ITEMS = list(range(200))


@pytest.fixture(autouse=True)
def event_loop(monkeypatch):
    """Run an event loop in a thread, like Dask's client."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    monkeypatch.setattr(Client, "loop", SimpleNamespace(asyncio_loop=loop), raising=False)
    yield
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


class Host:
    name = "a"


class Future:
    """A future with a given outcome; it ends when a callback is added."""

    def __init__(self, outcome):
        self.outcome = outcome
        self.status = "error" if isinstance(outcome, Exception) else "finished"

    def add_done_callback(self, tell):
        if self.outcome is not None:
            tell(self)

    def result(self):
        raise self.outcome


class Client:
    """A fake client. `fate` decides how a piece ends, by its first item and the number of its submissions."""

    future = Future

    def __init__(self, fate, workers=("a", "b")):
        self.fate, self.submitted, self.workers = fate, [], list(workers)
        self.answers_are_lost = False

    async def gather(self, future, asynchronous):
        assert asynchronous, "a wait that cannot be cancelled"
        while self.answers_are_lost:  # until they are computed again
            await asyncio.sleep(0.01)
        return future.outcome

    def submit(self, timed, work, shared, piece, pure):
        assert not pure, "Dask would not compute a lost piece again"
        self.submitted.append(piece[0])
        outcome = self.fate(piece[0], self.submitted.count(piece[0]))
        return self.future(timed(work, shared, piece) if outcome == "done" else outcome)

    def scheduler_info(self, n_workers):
        return {"workers": dict.fromkeys(self.workers)}


def host_lost():
    return KilledWorker("task", Host(), 0)


def multiply(shared, piece):
    return [shared * item for item in piece]


def results(client, notes=None):
    batch = batches.Batch(client, multiply, 2, ITEMS, 2, (notes if notes is not None else []).append)
    answers_by_item = {}
    for first, answers in batch.results():
        assert first not in answers_by_item
        answers_by_item |= dict(enumerate(answers, first))
    return [answers_by_item[at] for at in range(len(answers_by_item))]


@pytest.mark.parametrize("times", [1, batches.LOSSES - 1])
def test_a_piece_on_a_lost_host_is_repeated_and_every_item_comes_once(times):
    notes = []
    client = Client(lambda first, nth: host_lost() if first == 16 and nth <= times else "done")
    assert results(client, notes) == [2 * item for item in ITEMS]
    assert client.submitted.count(16) == times + 1
    assert [(note.code, dict(note.values)) for note in notes] == [
        ("host-lost", {"host": "a", "points": 16, "of": 200})
    ] * times


def test_losses_of_different_pieces_are_counted_separately():
    client = Client(lambda first, nth: host_lost() if nth == 1 else "done")
    assert results(client) == [2 * item for item in ITEMS]


def test_repeated_host_losses_with_one_piece_end_the_batch():
    client = Client(lambda first, nth: host_lost() if first == 0 else "done")
    with raises(ClientError, "repeated-host-loss", host="a", points=16, of=200, losses=batches.LOSSES):
        results(client)
    assert client.submitted.count(0) == batches.LOSSES


def test_without_a_host_the_batch_ends_and_reports_its_progress():
    client = Client(None)

    def dying(first, nth):
        if first == 16:
            client.workers.clear()
            return host_lost()
        return "done"

    client.fate = dying
    with raises(ClientError, "no-host-left", reason="host-lost", host="a", of=200) as caught:
        results(client)
    assert 0 <= caught.value.fields["done"] < 200
    assert client.submitted.count(16) == 1, "no host is left to repeat the piece"


def test_the_batch_waits_while_a_host_is_left(monkeypatch):
    monkeypatch.setattr(batches, "LOOK_S", 0.01)
    client = Client(lambda first, nth: None)
    looks = []

    def scheduler_info(n_workers):
        looks.append(n_workers)
        return {"workers": {"a": {}} if len(looks) < 5 else {}}

    client.scheduler_info = scheduler_info
    with raises(ClientError, "no-host-left", reason="host-lost", done=0, of=200):
        results(client)
    assert len(looks) == 5


@pytest.mark.timeout(20)
def test_a_lost_answer_is_an_error_if_no_host_is_left(monkeypatch):
    monkeypatch.setattr(batches, "LOOK_S", 0.01)
    client = Client(lambda first, nth: "done")
    wait = batches.Batch._wait

    def dying(batch):
        """The host dies after the piece has ended and before its answer is fetched."""
        ended = wait(batch)
        client.workers.clear()
        client.answers_are_lost = True
        return ended

    monkeypatch.setattr(batches.Batch, "_wait", dying)
    with raises(ClientError, "no-host-left", reason="host-lost", done=0, of=200):
        results(client)


@pytest.fixture
def short_waits(monkeypatch):
    monkeypatch.setattr(batches, "LOOK_S", 0.01)
    monkeypatch.setattr(batches, "AWAY_S", 0.05)


@pytest.mark.timeout(20)
def test_a_piece_on_a_stalled_host_is_computed_by_another_host(short_waits):
    notes = []
    client = Client(lambda first, nth: None if first == 16 and nth == 1 else "done")
    assert results(client, notes) == [2 * item for item in ITEMS]
    assert client.submitted.count(16) == 2
    assert [(note.code, note.values["points"], note.values["of"]) for note in notes] == [
        ("slow-host", 16, 200)
    ]
    assert client.submitted.index(16, client.submitted.index(16) + 1) == len(client.submitted) - 1, (
        "other pieces come first"
    )


@pytest.mark.timeout(20)
def test_an_answer_from_two_hosts_is_used_once(short_waits):
    client, pending = Client(None), []

    def slow(first, nth):
        if first in (16, 32) and nth == 1:
            return None
        if first == 16:  # both hosts have it, and another piece is still outstanding
            pending[0].outcome = (0.0, [2 * item for item in ITEMS[16:32]])
            pending[0].tell(pending[0])
        return "done"

    class PendingFuture(Future):
        def add_done_callback(self, tell):
            if self.outcome is None:
                self.tell = tell
                pending.append(self)
            super().add_done_callback(tell)

    client.fate = slow
    client.future = PendingFuture
    assert results(client) == [2 * item for item in ITEMS]


@pytest.mark.timeout(20)
def test_an_answer_that_cannot_be_fetched_is_computed_by_another_host(short_waits):
    notes = []
    client = Client(lambda first, nth: "done")
    gather, late = client.gather, []

    async def stall_once(future, asynchronous):
        if not late:
            late.append(future)
            await asyncio.sleep(10)
        return await gather(future, asynchronous)

    client.gather = stall_once
    assert results(client, notes) == [2 * item for item in ITEMS]
    assert [(note.code, note.values["host"]) for note in notes] == [("slow-host", None)]


@pytest.mark.timeout(20)
def test_an_answer_that_never_arrives_is_a_timeout(monkeypatch):
    async def late(future, asynchronous):
        raise TimeoutError

    client = Client(lambda first, nth: "done")
    monkeypatch.setattr(client, "gather", late)
    with pytest.raises(TimeoutError):
        results(client)


def test_a_lost_scheduler_is_reported():
    with raises(ClientError, "no-host-left", reason="no-scheduler", done=0, of=200):
        results(Client(lambda first, nth: CancelledError("gone")))


def test_an_unreachable_scheduler_counts_as_lost_with_its_hosts(monkeypatch):
    monkeypatch.setattr(batches, "LOOK_S", 0.01)
    client = Client(lambda first, nth: None)

    def refuse(n_workers):
        raise OSError("gone")

    client.scheduler_info = refuse
    with raises(ClientError, "no-host-left", reason="host-lost"):
        results(client)
