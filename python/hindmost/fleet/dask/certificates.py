"""Certificates of one session: an authority made for it, and one certificate each for controller and hosts.

The authority's key is forgotten as soon as all are signed. A host's own reaches it through SSH, on the
standard input of the process that is started there: it stands in no file, no command line and no environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

VALID = timedelta(days=30)
"""Longer than any study, and short enough that nobody keeps one."""
SKEW = timedelta(days=1)
"""Clocks of hosts may differ."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What one end needs, in PEM."""

    authority: str
    certificate: str
    key: str

    def security(self) -> Any:  # noqa: ANN401 (distributed has few types)
        """As Dask wants it; both ends are asked for a certificate, and nothing goes in clear."""
        from distributed.security import Security

        ends = {
            f"tls_{end}_{what}": text
            for end in ("scheduler", "worker", "client")
            for what, text in (("cert", self.certificate), ("key", self.key))
        }
        return Security(  # type: ignore[no-untyped-call]
            tls_ca_file=self.authority, require_encryption=True, **ends
        )


def credentials(names: Sequence[str]) -> list[Credentials]:
    """Make an authority and one certificate a name."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def made(name: str, issuer: x509.Name, public: Any, *, authority: bool) -> x509.CertificateBuilder:  # noqa: ANN401
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - SKEW)
            .not_valid_after(now + VALID)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )

    root = ec.generate_private_key(ec.SECP256R1())
    issuer = _named("hindmost session")
    top = made("hindmost session", issuer, root.public_key(), authority=True).sign(root, hashes.SHA256())
    found = []
    for name in names:
        key = ec.generate_private_key(ec.SECP256R1())
        signed = made(name, issuer, key.public_key(), authority=False).sign(root, hashes.SHA256())
        found.append(
            Credentials(
                top.public_bytes(serialization.Encoding.PEM).decode(),
                signed.public_bytes(serialization.Encoding.PEM).decode(),
                key.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.PKCS8,
                    serialization.NoEncryption(),
                ).decode(),
            )
        )
    return found


def _named(name: str) -> Any:  # noqa: ANN401
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
