"""Packet captures next to a measurement, for load from any tool."""

from hindmost.capture.exchanges import Exchanges, read_exchanges
from hindmost.capture.run_capture import RunCapture, interface_for
from hindmost.capture.tcpdump import Capture, FinishedCapture, find_capture_fault

__all__ = [
    "Capture",
    "Exchanges",
    "FinishedCapture",
    "RunCapture",
    "find_capture_fault",
    "interface_for",
    "read_exchanges",
]
