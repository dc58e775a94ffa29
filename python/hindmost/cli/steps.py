"""Progress of long steps on standard error: one updated line on a terminal, a line every 10 s elsewhere."""

from __future__ import annotations

import sys
import threading

from hindmost.cli.streams import say
from hindmost.core.progress import Step

CLEAR = "\r\x1b[2K"
"""Control sequence that clears the terminal's line."""
SLOW_S, LINE_S, LIVE_S = 2.0, 10.0, 0.5
"""Seconds before a step is shown, and then between lines without a terminal and on one."""


def show_step(step: Step, ended: threading.Event) -> None:
    """Show a step that takes over 2 s: on a terminal in one updated line, elsewhere every 10 s."""
    live = sys.stderr.isatty()
    wait = SLOW_S
    while not ended.wait(wait):
        wait = LIVE_S if live else LINE_S
        say(f"{step} ..." if live else str(step), head=CLEAR if live else "", end="" if live else "\n")
    if live and wait != SLOW_S:
        say("", head=CLEAR, end="")
