"""Fixtures of tests that run whole programs.

All tests of a file run on one worker (`--dist loadfile`), so they may share a study. `exclusive` locks resources that a
host has only once.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from measuring import COMMANDS, QUICK_DEFAULTS, ProcessTracker

from hindmost.testing import VARIABLE

TIMEOUT_S = 400
"""For whole programs on a busy host; shorter limits within the tests find a hang."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test of this folder its timeout, unless it names its own."""
    for item in items:
        if item.path.parent == Path(__file__).parent and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Set quick defaults for commands, and also for this process except in nightly tests, which check the real plan."""
    COMMANDS[VARIABLE] = json.dumps(QUICK_DEFAULTS)
    if item.get_closest_marker("nightly"):
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = COMMANDS[VARIABLE]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Do not affect tests of other folders."""
    COMMANDS.clear()
    os.environ.pop(VARIABLE, None)


@pytest.fixture
def exclusive() -> Iterator[Callable[[str], None]]:
    """Lock a named resource of this host until the test ends."""
    with contextlib.ExitStack() as locks:

        def lock(name: str) -> None:
            file = locks.enter_context(
                (Path(tempfile.gettempdir()) / f"hindmost-tests-{name}.lock").open("w")
            )
            fcntl.flock(file, fcntl.LOCK_EX)

        yield lock


@pytest.fixture
def process_tracker() -> Iterator[ProcessTracker]:
    """Fail if a process is left behind after the test."""
    tracker = ProcessTracker()
    yield tracker
    try:
        tracker.assert_none_left()
    finally:
        tracker.close()
