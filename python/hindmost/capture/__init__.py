"""Packet captures: the witness beside a measurement, and what it saw, whatever tool sent the load."""

from hindmost.capture.exchanges import Exchanges, exchanges
from hindmost.capture.tcpdump import Capture, Caught, capture_fault

__all__ = ["Capture", "Caught", "Exchanges", "capture_fault", "exchanges"]
