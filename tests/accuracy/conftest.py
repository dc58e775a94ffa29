"""The accuracy suite: claims that need real time, settled by several attempts on a host that is seen to be quiet.

A test asks for `claim` and ends with ``claim.settle(what, attempt)``. A broken claim fails. An undecided one is an
outcome of its own, neither passed nor skipped.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.accuracy import counters, limits, table
from tests.accuracy.claims import SESSION, UNDECIDED, Claim
from tests.accuracy.counters import Isolated
from tests.accuracy.judging import Host

TIMEOUT_S = 900
"""Every try of the longest claim, with the patience before each."""


def observe(work: Callable[[], object]) -> Isolated:
    """Read the host's counters around `work`, on the processors that this session may use."""
    before = counters.read()
    work()
    return counters.between(before, counters.read(), os.sched_getaffinity(0), os.getpid())


def look() -> Isolated:
    """Read the counters around a spin, and what the spin missed."""
    gaps: list[float] = []
    seen = observe(lambda: gaps.append(counters.spin(limits.LOOK_S)))
    return dataclasses.replace(seen, gaps=gaps[0])


@pytest.fixture(scope="session")
def host() -> Host:
    """One host for all claims, since they share its patience."""
    return Host(observe, look)


@pytest.fixture
def claim(host: Host, request: pytest.FixtureRequest) -> Claim:
    """What a test of this suite ends with."""
    return Claim(host, request.node.nodeid)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test time for several attempts."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Count undecided claims apart from skips."""
    if report.skipped and isinstance(report.longrepr, tuple) and UNDECIDED in report.longrepr[2]:
        return "undecided", "u", "UNDECIDED"
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of claims."""
    if SESSION:
        terminalreporter.section("accuracy: claims and findings")
        for line, important in table.lines(SESSION):
            terminalreporter.write_line(line, bold=important)
