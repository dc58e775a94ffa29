"""Fixtures of all suites: processors and signals as they were before each test, and the quarantine."""

from __future__ import annotations

import datetime
import os
import signal
import tomllib
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

# Small problems: threads that wait for each other took a quarter of all processor time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import pytest
from _pytest.doctest import DoctestModule

# Started in the background, as by nohup, these are ignored, and what the tests start would inherit that.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)


# A loaded host makes an example slow, not wrong.
hypothesis.settings.register_profile(
    "any host", deadline=None, max_examples=40, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any host")


QUARANTINE = Path(__file__).parent / "quarantine.toml"
LONGEST_QUARANTINE = datetime.timedelta(days=30)


def quarantined(entries: list[dict[str, Any]], today: datetime.date) -> dict[str, str]:
    """Return the tests that are in quarantine today, with their reasons.

    Raises
    ------
    pytest.UsageError
        If an entry has no reason, or expires more than 30 days from today.
    """
    for entry in entries:
        if not entry.get("reason") or entry["expires"] > today + LONGEST_QUARANTINE:
            raise pytest.UsageError(
                f"quarantine of {entry['test']}: it needs a reason and ends within 30 days"
            )
    return {entry["test"]: entry["reason"] for entry in entries if today <= entry["expires"]}


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for no doctests below this folder: to find that there are none takes as long as all imports."""
    return [one for one in (yield) if not isinstance(one, DoctestModule)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Report a quarantined test's failure without failing the session, until its date."""
    entries = tomllib.loads(QUARANTINE.read_text()).get("quarantine", [])
    reasons = quarantined(entries, datetime.datetime.now(datetime.UTC).date())
    for item in items:
        if reason := reasons.get(item.nodeid):
            item.add_marker(pytest.mark.xfail(reason=f"quarantined: {reason}", strict=False))


_PROCESSORS = os.sched_getaffinity(0)
_HANDLERS = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}


def _restore() -> None:
    """Give every thread all processors again, and restore the signal handlers.

    A command that is called in this process, by a test or by a fixture of many tests, pins it beside the load's
    processors, threads that libraries start meanwhile stay there, and an interrupted command ignores signals.
    """
    for thread in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # ended meanwhile
            os.sched_setaffinity(int(thread.name), _PROCESSORS)
    for number, handler in _HANDLERS.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call() -> None:
    """After what the fixtures did."""
    _restore()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """After what the test did, and before the next one's fixtures."""
    _restore()
