"""A session's signature: a load host does what its controller says, and nobody else.

Every word to a host is one JSON text, signed (Ed25519, RFC 8032) with a key that the controller makes for the
session and that never leaves it. Hosts get its public half: through SSH, or at their first word of a
session (then they are that session's until it ends). A word names its session, its host, and a serial that
grows, so that none can be told twice or elsewhere.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

from hindmost.errors import HindmostError

PLAIN = "hindmost.fleet/1"


class Refused(HindmostError):
    """A word that did not come from the session's controller, or came twice."""


class Signer:
    """The controller's side."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self.session = secrets.token_hex(8)
        self._key = Ed25519PrivateKey.generate()
        self._serial = 0

    @property
    def public(self) -> str:
        """The half that hosts may know, in hexadecimal."""
        return self._key.public_key().public_bytes_raw().hex()

    def word(self, host: str, say: dict[str, Any]) -> tuple[str, str]:
        """A word to a host, and its signature."""
        self._serial += 1
        text = json.dumps(
            {"schema": PLAIN, "session": self.session, "host": host, "serial": self._serial, "say": say}
        )
        return text, self._key.sign(text.encode()).hex()


class Verifier:
    """A host's side: the word as it was meant, or a refusal.

    Parameters
    ----------
    public : str
        The controller's public key, in hexadecimal.
    host : str
        Who we are.
    """

    def __init__(self, public: str, host: str) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        self.public = public
        self._key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        self._host = host
        self._session: str | None = None
        self._heard: set[int] = set()

    def read(self, text: str, signature: str) -> dict[str, Any]:
        """What is said.

        Raises
        ------
        Refused
            If it was not signed by this controller, is for another host or session, or was heard before.
        """
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(bytes.fromhex(signature), text.encode())
        except (InvalidSignature, ValueError):
            raise self._refused("signature", "its controller did not sign") from None
        word = json.loads(text)
        self._session = self._session or word["session"]
        if word["schema"] != PLAIN or word["session"] != self._session or word["host"] != self._host:
            raise self._refused("recipient", "is meant for another host or session")
        # Words overtake each other (one listens while others are said): each once, in any order.
        if word["serial"] in self._heard:
            raise self._refused("repeated", f"has been executed before (serial {word['serial']})")
        self._heard.add(word["serial"])
        said: dict[str, Any] = word["say"]
        return said

    def _refused(self, reason: str, why: str) -> Refused:
        return Refused(
            "rejected-command",
            f"host {self._host} refused a command that {why}",
            host=self._host,
            reason=reason,
        )
