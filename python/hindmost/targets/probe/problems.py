"""Why a server is not the one that is looked for."""

from __future__ import annotations

from hindmost.errors import TargetError


class Silent(TargetError):
    """No connection, or no answer: what every request would come to."""

    shows = "silent"


class NotListening(Silent):
    """Nothing accepts connections at the address (refused)."""


class NotReady(TargetError):
    """The server speaks the right protocol but does not serve yet."""


class WrongProtocol(TargetError):
    """Something else answers at the address."""


class HungUp(WrongProtocol):
    """It closed the connection without a word."""
