"""Packet captures: the witness next to a measurement, and what it saw, whatever tool sent the load."""

from hindmost.capture.exchanges import Exchanges, exchanges
from hindmost.capture.tcpdump import Capture, Caught, capture_fault
from hindmost.capture.witness import Witness, interface_of

__all__ = ["Capture", "Caught", "Exchanges", "Witness", "capture_fault", "exchanges", "interface_of"]
