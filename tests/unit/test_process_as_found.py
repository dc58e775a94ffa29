"""Changes that a command made to this process are undone before the next test."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

ALL_CPUS = os.sched_getaffinity(0)


@pytest.fixture(scope="module")
def pinned_thread() -> Iterator[threading.Thread]:
    """Like a shared study: it changed this process and started a thread before any test."""
    ended = threading.Event()
    os.sched_setaffinity(0, {min(ALL_CPUS)})
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    thread = threading.Thread(target=ended.wait)
    thread.start()
    yield thread
    ended.set()
    thread.join()


@pytest.mark.skipif(len(ALL_CPUS) < 2, reason="only one CPU")
def test_all_threads_have_all_cpus_after_a_fixture_pinned_the_process(pinned_thread) -> None:
    assert os.sched_getaffinity(0) == ALL_CPUS
    assert os.sched_getaffinity(pinned_thread.native_id) == ALL_CPUS


def test_an_ignored_interruption_is_handled_again(pinned_thread) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
