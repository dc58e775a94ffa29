"""TLS to the server: whom we trust, who we are, and what to do where that cannot be agreed upon."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

HINTS = {
    "tls-file": "openssl x509 -noout -text -in FILE shows a certificate,"
    " openssl pkey -noout -text -in KEY a key",
    "tls-certificate": "--ca FILE with the CA that issued it, --sni NAME where it holds another name;"
    " --insecure measures whoever answers",
    "tls-plain": "write the target without TLS, or name the port that speaks it",
    "tls-off": "write the target without TLS, or switch it on in the server (PostgreSQL: ssl, ssl_cert_file,"
    " ssl_key_file of postgresql.conf)",
    "tls-version": "see which it speaks: openssl s_client -connect HOST:PORT",
    "tls-refused": "--cert FILE --key FILE where it asks for a client certificate; see the server's log",
    "tls": "see the server's log, and openssl s_client -connect HOST:PORT",
}
"""By the engine's code of a failure."""


class Tls(BaseModel):
    """How connections are secured: what ``--ca`` and its like say, or ``[tls]`` of a target file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    ca: str | None = Field(
        default=None,
        description="PEM file of the CAs that may have issued the server's certificate, or of that itself;"
        " default: those that this host trusts",
    )
    cert: str | None = Field(default=None, description="PEM file of the client's certificate")
    key: str | None = Field(default=None, description="PEM file of its private key")
    sni: str | None = Field(
        default=None,
        description="name that the server is asked for and its certificate must hold; default: its host",
    )
    insecure: bool = Field(default=False, description="the server's certificate is not verified")
    resumption: bool = Field(default=True, description="connections take up earlier sessions")

    def for_host(self, host: str) -> Tls:
        """The same for a server that is called `host` where nothing else is said."""
        return self if self.sni is not None else self.model_copy(update={"sni": host})

    def with_paths(self, read: Callable[[str], str]) -> Tls:
        """The same with its files named as `read` has them."""
        files = {name: path for name in ("ca", "cert", "key") if (path := getattr(self, name)) is not None}
        return self.model_copy(update={name: read(path) for name, path in files.items()})

    def absolute(self, folder: Path) -> Tls:
        """The same with its files found from `folder`, wherever we are."""
        return self.with_paths(lambda path: str((folder / path).absolute()))

    def engine(self) -> dict[str, Any]:
        """As the engine's plan has it."""
        return {
            "ca": self.ca,
            "certificate": self.cert,
            "key": self.key,
            "sni": self.sni,
            "resumption": self.resumption,
            "verify": not self.insecure,
        }

    def text(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.engine())
