"""Reasons why a server is not the expected one."""

from __future__ import annotations

from hindmost.errors import TargetError


class Silent(TargetError):
    """No connection, or no reply: every request would end like this."""

    shows = "silent"


class NotListening(Silent):
    """Nothing accepts connections at the address (refused)."""


class NotReady(TargetError):
    """The server speaks the right protocol but does not serve yet."""


class WrongProtocol(TargetError):
    """Something else answers at the address."""


class HungUp(WrongProtocol):
    """The server closed the connection without a reply."""
