"""Signatures of a session: a load host obeys only its controller.

Every command to a host is one JSON text, signed (Ed25519, RFC 8032) with a key that the controller generates
for the session and that never leaves it. Hosts get its public half through SSH, or with the first command of
a session (then they belong to that session until it ends). A command names its session, its host, and a
rising serial number, so it cannot be replayed or redirected.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

from hindmost.errors import HindmostError

PLAIN = "hindmost.fleet/1"


class RejectedCommand(HindmostError):
    """A command that the session's controller did not sign, or that was replayed."""


class Signer:
    """The controller's side."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self.session = secrets.token_hex(8)
        self._key = Ed25519PrivateKey.generate()
        self._serial = 0

    @property
    def public(self) -> str:
        """The public key, in hexadecimal."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, host: str, say: dict[str, Any]) -> tuple[str, str]:
        """Return a command to a host as text, and its signature."""
        self._serial += 1
        text = json.dumps(
            {"schema": PLAIN, "session": self.session, "host": host, "serial": self._serial, "say": say}
        )
        return text, self._key.sign(text.encode()).hex()


class Verifier:
    """A host's side: it verifies commands.

    Parameters
    ----------
    public : str
        The controller's public key, in hexadecimal.
    host : str
        Name of this host.
    """

    def __init__(self, public: str, host: str) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        self.public = public
        self._key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        self._host = host
        self._session: str | None = None
        self._heard: set[int] = set()

    def read(self, text: str, signature: str) -> dict[str, Any]:
        """Verify a command and return it.

        Raises
        ------
        RejectedCommand
            If it was not signed by this controller, is for another host or session, or was received before.
        """
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(bytes.fromhex(signature), text.encode())
        except (InvalidSignature, ValueError):
            raise self._reject("signature", "its controller did not sign") from None
        command = json.loads(text)
        self._session = self._session or command["session"]
        if command["schema"] != PLAIN or command["session"] != self._session or command["host"] != self._host:
            raise self._reject("recipient", "is meant for another host or session")
        # Commands may arrive out of order, because one listens while others are sent; each is executed once.
        if command["serial"] in self._heard:
            raise self._reject("repeated", f"has been executed before (serial {command['serial']})")
        self._heard.add(command["serial"])
        order: dict[str, Any] = command["say"]
        return order

    def _reject(self, reason: str, why: str) -> RejectedCommand:
        return RejectedCommand(
            "rejected-command",
            f"host {self._host} refused a command that {why}",
            host=self._host,
            reason=reason,
        )
