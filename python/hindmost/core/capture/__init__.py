"""Packet captures next to a measurement, for load from any tool."""

from hindmost.core.capture.exchanges import Exchanges, read_exchanges
from hindmost.core.capture.run_capture import RunCapture, interface_for
from hindmost.core.capture.tcpdump import Capture, FinishedCapture, find_capture_fault

__all__ = [
    "Capture",
    "Exchanges",
    "FinishedCapture",
    "RunCapture",
    "find_capture_fault",
    "interface_for",
    "read_exchanges",
]
