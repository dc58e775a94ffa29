"""What every ring shares: skips are loud, and go into the register."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from zlib import crc32

# Small problems: threads that wait for each other took a quarter of all processor time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import pytest

# Started in the background, as by nohup, these are ignored, and what the tests start would inherit that.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)


# A loaded host makes an example slow, not wrong.
hypothesis.settings.register_profile(
    "any host", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any host")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the slow ring be run by slices."""
    parser.addoption(
        "--slice", default="0/1", metavar="K/N", help="of the tests, the K-th of N parts (0/10 to 9/10)"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the slice. By the name alone, so that a new test moves no other one."""
    part, parts = map(int, config.getoption("--slice").split("/"))
    kept = [item for item in items if crc32(item.nodeid.encode()) % parts == part]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


_PROCESSORS = os.sched_getaffinity(0)
_HANDLERS = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}


def _as_found() -> None:
    """All processors for every thread, and signals as they were.

    A verb that is called in this process, by a test or by a fixture of many tests, pins it beside the load's
    processors, threads that libraries start meanwhile stay there, and an interrupted verb ignores signals.
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
    _as_found()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """After what the test did, and before the next one's fixtures."""
    _as_found()


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return told.removeprefix("Skipped: ")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One table at the end: what was skipped, how often, and why; the same for `setup/skips.py`."""
    skipped = terminalreporter.stats.get("skipped", [])
    by_reason: dict[str, list[str]] = defaultdict(list)
    for report in skipped:
        by_reason[_reason(report)].append(report.nodeid)
    if not by_reason:
        return
    if register := os.environ.get("HINDMOST_SKIPS"):
        with Path(register).open("a") as file:
            file.writelines(f"{one.nodeid}\t{' '.join(_reason(one).split())}\n" for one in skipped)
    terminalreporter.section("skipped: what is not shown by this session, and why", sep="-", yellow=True)
    for reason, tests in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        terminalreporter.write_line(f"{len(tests):4}  {reason}", yellow=True)
        for name in tests[:5]:
            terminalreporter.write_line(f"        {name}")
        if len(tests) > 5:
            terminalreporter.write_line(f"        ... and {len(tests) - 5} more")
