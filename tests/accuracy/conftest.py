"""The accuracy suite: claims that need real time, each settled by several attempts on a quiet host.

A test takes the fixture `claim` and ends with ``claim.settle(what, attempt)``. A broken claim fails. An undecided claim
is reported separately from passed and skipped tests.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from measuring import PR_SET_CHILD_SUBREAPER

from tests.accuracy import counters, limits, table
from tests.accuracy.claims import SESSION, UNDECIDED, Claim
from tests.accuracy.counters import HostActivity
from tests.accuracy.judging import Host

TIMEOUT_S = 900
"""Covers every attempt of the longest claim, and the wait for a quiet host before each."""


def observe(work: Callable[[], object]) -> HostActivity:
    """Read the host's counters around `work`, on the CPUs that this session may use."""
    before = counters.read()
    work()
    return counters.compare(before, counters.read(), os.sched_getaffinity(0), os.getpid())


def check() -> HostActivity:
    """Read the counters while spinning, and the time that the spinning threads lost."""
    gaps: list[float] = []
    activity = observe(lambda: gaps.append(counters.spin(limits.CHECK_S)))
    return dataclasses.replace(activity, gaps=gaps[0])


@pytest.fixture(scope="session")
def host() -> Host:
    """One host for all claims: they share its time limit for waiting.

    Programs of a claim that outlive their parents become children of this process, and so count as its own.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return Host(observe, check)


@pytest.fixture
def claim(host: Host, request: pytest.FixtureRequest) -> Claim:
    """Settles the claim of this test."""
    return Claim(host, request.node.nodeid)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test time for several attempts."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Report undecided claims separately from skips."""
    if report.skipped and isinstance(report.longrepr, tuple) and UNDECIDED in report.longrepr[2]:
        return "undecided", "u", "UNDECIDED"
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of claims."""
    if SESSION:
        terminalreporter.section("accuracy: claims and findings")
        for line, important in table.render_lines(SESSION):
            terminalreporter.write_line(line, bold=important)
