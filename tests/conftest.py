"""What every ring shares: skips are loud."""

from __future__ import annotations

import signal
from collections import defaultdict

import pytest

# Started in the background, as by nohup, these are ignored, and what the tests start would inherit that.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One table at the end: what was skipped, how often, and why."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        by_reason[reason.removeprefix("Skipped: ")].append(report.nodeid)
    if not by_reason:
        return
    terminalreporter.section("skipped: what is not shown by this session, and why", sep="-", yellow=True)
    for reason, tests in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        terminalreporter.write_line(f"{len(tests):4}  {reason}", yellow=True)
        for name in tests[:5]:
            terminalreporter.write_line(f"        {name}")
        if len(tests) > 5:
            terminalreporter.write_line(f"        ... and {len(tests) - 5} more")
