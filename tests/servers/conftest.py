"""What tests of whole programs share.

One file runs on one worker (`--dist loadfile`), so its tests may share a study. What a host has only once, tests of
several files take by `exclusive`.
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
"""Whole programs on a busy host: what hangs is found by shorter patience within the tests."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test of this folder its timeout, unless it names its own."""
    for item in items:
        if item.path.parent == Path(__file__).parent and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Shorten what commands do; in this process too, but for nightly tests, which look at the plan as it is."""
    COMMANDS[VARIABLE] = json.dumps(QUICK_DEFAULTS)
    if item.get_closest_marker("nightly"):
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = COMMANDS[VARIABLE]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Leave tests of other folders as they are."""
    COMMANDS.clear()
    os.environ.pop(VARIABLE, None)


@pytest.fixture
def exclusive() -> Iterator[Callable[[str], None]]:
    """Take something that this host has only once, by name, until the test ends."""
    with contextlib.ExitStack() as held:

        def take(name: str) -> None:
            file = held.enter_context((Path(tempfile.gettempdir()) / f"hindmost-tests-{name}.lock").open("w"))
            fcntl.flock(file, fcntl.LOCK_EX)

        yield take


@pytest.fixture
def process_tracker() -> Iterator[ProcessTracker]:
    """Whoever asks for it ends with nothing left behind."""
    one = ProcessTracker()
    yield one
    try:
        one.assert_none_left()
    finally:
        one.close()
