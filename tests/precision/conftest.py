"""The ring of precision: claims that need real time, settled by several attempts on a host that is seen to be calm.

A test asks for `claim` and ends with ``claim.settle(what, attempt)``. Broken is red; undecided is an outcome of its own,
neither passed nor skipped. ``HINDMOST_PRECISION_HISTORY=FILE`` keeps every outcome as JSON lines, and makes a claim red
that was undecided in ten sessions in a row.
"""

from __future__ import annotations

import dataclasses
import datetime
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.precision import counters, history, limits, table
from tests.precision.claims import SESSION, UNDECIDED, Claim
from tests.precision.counters import Calm
from tests.precision.judging import Host

TIMEOUT_S = 900
"""Every try of the longest claim, with the patience before each."""
HISTORY = "HINDMOST_PRECISION_HISTORY"


def observe(work: Callable[[], object]) -> Calm:
    """The host's counters around `work`, on the processors that this session may use."""
    before = counters.read()
    work()
    return counters.between(before, counters.read(), os.sched_getaffinity(0), os.getpid())


def look() -> Calm:
    """The counters around a spin, and what the spin missed."""
    gaps: list[float] = []
    seen = observe(lambda: gaps.append(counters.spin(limits.LOOK_S)))
    return dataclasses.replace(seen, gaps=gaps[0])


@pytest.fixture(scope="session")
def host() -> Host:
    """One for all claims, since patience and time are theirs together."""
    return Host(observe, look)


@pytest.fixture
def claim(host: Host, request: pytest.FixtureRequest) -> Claim:
    """What a test of this ring ends with."""
    hurried = not request.node.get_closest_marker("nightly")
    return Claim(host, request.node.nodeid, hurried, again=request.config.getoption("lf", default=False))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Several attempts take longer than one; and files whose claims wait longest for a decision come first.

    The ring's time may be over before all were tried. Among equals (all, where no history is kept) the lot decides, so
    that none is always the last.
    """
    ours = [item for item in items if item.path.parent == Path(__file__).parent]
    for item in ours:
        item.add_marker(pytest.mark.timeout(TIMEOUT_S))
    place = os.environ.get(HISTORY)
    waiting = history.undecided(history.read(Path(place))) if place else {}
    # All processes of one session draw the same lots.
    lot = random.Random(os.environ.get("PYTEST_XDIST_TESTRUNUID")).random
    order = history.order([(item.path.name, item.nodeid) for item in ours], waiting, lot)
    ours.sort(key=lambda item: order[item.path.name])
    items[:] = [item for item in items if item not in ours] + ours


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Undecided is no skip: it is counted apart."""
    if report.skipped and isinstance(report.longrepr, tuple) and UNDECIDED in report.longrepr[2]:
        return "undecided", "u", "UNDECIDED"
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table, and whether anybody would notice a claim that is never decided."""
    if not SESSION:
        return
    terminalreporter.section("precision: what is claimed, and what was found")
    for line, important in table.lines(SESSION):
        terminalreporter.write_line(line, bold=important)
    place = os.environ.get(HISTORY)
    terminalreporter.write_line(table.kept(Path(place) if place else None, HISTORY))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep the outcomes, and call what was never decided by its name."""
    place = os.environ.get(HISTORY)
    if not place or not SESSION:
        return
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    history.append(
        Path(place),
        (history.line(at, one.what, one.test, one.decided, one.attempts) for one in SESSION),
    )
    here = {one.test for one in SESSION}
    never = [test for test in history.stale(history.read(Path(place))) if test in here]
    if never:
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        for test in never if reporter else ():
            reporter.write_line(
                f"\nundecided in {limits.STALE_RUNS} sessions in a row, which is red: {test}", red=True
            )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
