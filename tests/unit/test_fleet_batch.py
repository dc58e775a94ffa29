"""Pieces of a batch whose hosts are lost, in orders that no real host can be made to keep: asked again, or an error."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest
from messages import raises

pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from distributed import CancelledError
from distributed.scheduler import KilledWorker

from hindmost.errors import ClientError
from hindmost.fleet.dask import batch as batches

ITEMS = list(range(200))


@pytest.fixture(autouse=True)
def turning(monkeypatch):
    """An event loop in a thread, as Dask's client has one."""
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
    """Ended as soon as anybody asks; how, the client has decided."""

    def __init__(self, outcome):
        self.outcome = outcome
        self.status = "error" if isinstance(outcome, Exception) else "finished"

    def add_done_callback(self, tell):
        if self.outcome is not None:
            tell(self)

    def result(self):
        raise self.outcome


class Client:
    """The scheduler's client: pieces end as `fate` says by their first item and how often they were asked."""

    future = Future

    def __init__(self, fate, workers=("a", "b")):
        self.fate, self.asked, self.workers = fate, [], list(workers)
        self.answers_are_lost = False

    async def gather(self, future, asynchronous):
        assert asynchronous, "a wait that nobody could end"
        while self.answers_are_lost:  # until they are computed anew
            await asyncio.sleep(0.01)
        return future.outcome

    def submit(self, timed, work, shared, piece, pure):
        assert not pure, "a piece that was lost would not be computed again"
        self.asked.append(piece[0])
        ended = self.fate(piece[0], self.asked.count(piece[0]))
        return self.future(timed(work, shared, piece) if ended == "done" else ended)

    def scheduler_info(self, n_workers):
        return {"workers": dict.fromkeys(self.workers)}


def lost():
    return KilledWorker("task", Host(), 0)


def doubled(shared, piece):
    return [shared * one for one in piece]


def results(client, said=None):
    batch = batches.Batch(client, doubled, 2, ITEMS, 2, (said if said is not None else []).append)
    found = {}
    for first, answers in batch.results():
        assert first not in found
        found |= dict(enumerate(answers, first))
    return [found[at] for at in range(len(found))]


@pytest.mark.parametrize("times", [1, batches.LOSSES - 1])
def test_a_piece_whose_host_was_lost_is_asked_again_and_no_item_is_missing_or_told_twice(times):
    said = []
    client = Client(lambda first, nth: lost() if first == 16 and nth <= times else "done")
    assert results(client, said) == [2 * one for one in ITEMS]
    assert client.asked.count(16) == times + 1
    assert [(note.code, dict(note.values)) for note in said] == [
        ("host-lost", {"host": "a", "points": 16, "of": 200})
    ] * times


def test_losses_of_different_pieces_are_not_thrown_together():
    client = Client(lambda first, nth: lost() if nth == 1 else "done")
    assert results(client) == [2 * one for one in ITEMS]


def test_a_piece_that_hosts_are_lost_with_time_after_time_ends_the_batch():
    client = Client(lambda first, nth: lost() if first == 0 else "done")
    with raises(ClientError, "repeated-host-loss", host="a", points=16, of=200, losses=batches.LOSSES):
        results(client)
    assert client.asked.count(0) == batches.LOSSES


def test_without_a_host_the_batch_ends_with_how_far_it_came():
    client = Client(None)

    def dying(first, nth):
        if first == 16:
            client.workers.clear()
            return lost()
        return "done"

    client.fate = dying
    with raises(ClientError, "no-host-left", reason="host-lost", host="a", of=200) as caught:
        results(client)
    assert 0 <= caught.value.fields["done"] < 200
    assert client.asked.count(16) == 1, "there is nobody to ask again"


def test_silence_is_waited_out_while_a_host_is_left_and_is_an_error_when_none_is(monkeypatch):
    monkeypatch.setattr(batches, "LOOK_S", 0.01)
    client = Client(lambda first, nth: None)
    looks = []

    def found(n_workers):
        looks.append(n_workers)
        return {"workers": {"a": {}} if len(looks) < 5 else {}}

    client.scheduler_info = found
    with raises(ClientError, "no-host-left", reason="host-lost", done=0, of=200):
        results(client)
    assert len(looks) == 5


@pytest.mark.timeout(20)
def test_an_answer_on_a_host_that_died_is_given_up_where_no_host_is_left(monkeypatch):
    monkeypatch.setattr(batches, "LOOK_S", 0.01)
    client = Client(lambda first, nth: "done")
    wait = batches.Batch._wait

    def dying(batch):
        """The piece has ended, and its answer has not been fetched."""
        ended = wait(batch)
        client.workers.clear()
        client.answers_are_lost = True
        return ended

    monkeypatch.setattr(batches.Batch, "_wait", dying)
    with raises(ClientError, "no-host-left", reason="host-lost", done=0, of=200):
        results(client)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(batches, "LOOK_S", 0.01)
    monkeypatch.setattr(batches, "AWAY_S", 0.05)


@pytest.mark.timeout(20)
def test_what_a_host_that_stands_still_has_is_asked_of_another_and_taken_once(impatient):
    said = []
    client = Client(lambda first, nth: None if first == 16 and nth == 1 else "done")
    assert results(client, said) == [2 * one for one in ITEMS]
    assert client.asked.count(16) == 2
    assert [(note.code, note.values["points"], note.values["of"]) for note in said] == [
        ("slow-host", 16, 200)
    ]
    assert client.asked.index(16, client.asked.index(16) + 1) == len(client.asked) - 1, "others come first"


@pytest.mark.timeout(20)
def test_an_answer_that_comes_of_two_hosts_is_told_once(impatient):
    client, held = Client(None), []

    def slow(first, nth):
        if first in (16, 32) and nth == 1:
            return None
        if first == 16:  # both hosts have it, and something else is still away
            held[0].outcome = (0.0, [2 * one for one in ITEMS[16:32]])
            held[0].tell(held[0])
        return "done"

    class Kept(Future):
        def add_done_callback(self, tell):
            if self.outcome is None:
                self.tell = tell
                held.append(self)
            super().add_done_callback(tell)

    client.fate = slow
    client.future = Kept
    assert results(client) == [2 * one for one in ITEMS]


@pytest.mark.timeout(20)
def test_an_answer_that_stays_where_it_is_is_asked_of_another_host(impatient):
    said = []
    client = Client(lambda first, nth: "done")
    gather, late = client.gather, []

    async def once_never(future, asynchronous):
        if not late:
            late.append(future)
            await asyncio.sleep(10)
        return await gather(future, asynchronous)

    client.gather = once_never
    assert results(client, said) == [2 * one for one in ITEMS]
    assert [(note.code, note.values["host"]) for note in said] == [("slow-host", None)]


@pytest.mark.timeout(20)
def test_a_host_that_does_not_hand_its_answer_over_is_no_reason_to_ask_without_end(monkeypatch):
    async def late(future, asynchronous):
        raise TimeoutError

    client = Client(lambda first, nth: "done")
    monkeypatch.setattr(client, "gather", late)
    with pytest.raises(TimeoutError):
        results(client)


def test_a_scheduler_that_goes_is_told():
    with raises(ClientError, "no-host-left", reason="no-scheduler", done=0, of=200):
        results(Client(lambda first, nth: CancelledError("gone")))


def test_a_scheduler_that_does_not_answer_counts_as_gone_with_its_hosts(monkeypatch):
    monkeypatch.setattr(batches, "LOOK_S", 0.01)
    client = Client(lambda first, nth: None)

    def refuse(n_workers):
        raise OSError("gone")

    client.scheduler_info = refuse
    with raises(ClientError, "no-host-left", reason="host-lost"):
        results(client)
