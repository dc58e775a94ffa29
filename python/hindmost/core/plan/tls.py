"""TLS to the server: certificates, verification, and hints for failures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

HINTS = {
    "tls-file": "openssl x509 -noout -text -in FILE shows a certificate,"
    " openssl pkey -noout -text -in KEY a key",
    "tls-certificate": "--ca FILE with the CA that issued it, --sni NAME if its certificate has another name;"
    " --insecure accepts any server",
    "tls-plain": "write the target without TLS, or name the port that speaks it",
    "tls-off": "write the target without TLS, or switch it on in the server (PostgreSQL: ssl, ssl_cert_file,"
    " ssl_key_file of postgresql.conf)",
    "tls-version": "see which versions it supports: openssl s_client -connect HOST:PORT",
    "tls-refused": "--cert FILE --key FILE if it requires a client certificate; see the server's log",
    "tls": "see the server's log, and openssl s_client -connect HOST:PORT",
}
"""Hints by the engine's code of a failure."""


class Tls(BaseModel):
    """TLS settings: from options such as ``--ca``, or ``[tls]`` of a target file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    ca: str | None = Field(
        default=None,
        description="PEM file of the CAs that may have issued the server's certificate, or of that itself;"
        " default: the CAs that this host trusts",
    )
    cert: str | None = Field(default=None, description="PEM file of the client's certificate")
    key: str | None = Field(default=None, description="PEM file of its private key")
    sni: str | None = Field(
        default=None,
        description="server name to request, which its certificate must contain; default: its host",
    )
    insecure: bool = Field(default=False, description="the server's certificate is not verified")
    resumption: bool = Field(default=True, description="connections resume earlier sessions")

    def for_host(self, host: str) -> Tls:
        """Return the settings with `host` as the server name if none is set."""
        return self if self.sni is not None else self.model_copy(update={"sni": host})

    def with_paths(self, read: Callable[[str], str]) -> Tls:
        """Return the settings with file names converted by `read`."""
        files = {name: path for name in ("ca", "cert", "key") if (path := getattr(self, name)) is not None}
        return self.model_copy(update={name: read(path) for name, path in files.items()})

    def absolute(self, folder: Path) -> Tls:
        """Return the settings with absolute file names, relative to `folder` before."""
        return self.with_paths(lambda path: str((folder / path).absolute()))

    def engine(self) -> dict[str, Any]:
        """Return the form in the engine's plan."""
        return {
            "ca": self.ca,
            "certificate": self.cert,
            "key": self.key,
            "sni": self.sni,
            "resumption": self.resumption,
            "verify": not self.insecure,
        }

    def text(self) -> str:
        """Return this form as JSON text."""
        return json.dumps(self.engine())
