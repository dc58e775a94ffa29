"""What a verb that was called in this process did to it is over when the next test begins."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

ALL = os.sched_getaffinity(0)


@pytest.fixture(scope="module")
def pinned() -> Iterator[threading.Thread]:
    """As a study that several tests share: made before any of them, and it started a thread."""
    over = threading.Event()
    os.sched_setaffinity(0, {min(ALL)})
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    thread = threading.Thread(target=over.wait)
    thread.start()
    yield thread
    over.set()
    thread.join()


@pytest.mark.skipif(len(ALL) < 2, reason="one processor is all of them")
def test_a_test_whose_fixture_pinned_the_process_has_all_processors_in_every_thread(pinned) -> None:
    assert os.sched_getaffinity(0) == ALL
    assert os.sched_getaffinity(pinned.native_id) == ALL


def test_an_ignored_interruption_is_heard_again(pinned) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
