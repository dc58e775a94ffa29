"""Certificates of one session: a new authority, and a certificate each for the controller and the hosts.

The authority's key is discarded after signing. A host gets its own certificate through SSH, on the standard
input of the process started there: it is in no file, command line or environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

VALID = timedelta(days=30)
"""Longer than any study, and too short to be worth keeping."""
SKEW = timedelta(days=1)
"""Allowance for differences between the clocks of hosts."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of one end, in PEM."""

    authority: str
    certificate: str
    key: str

    def security(self) -> Any:  # noqa: ANN401 (distributed has few types)
        """Return Dask's security settings: both ends need a certificate, and everything is encrypted."""
        from distributed.security import Security

        ends = {
            f"tls_{end}_{part}": text
            for end in ("scheduler", "worker", "client")
            for part, text in (("cert", self.certificate), ("key", self.key))
        }
        return Security(  # type: ignore[no-untyped-call]
            tls_ca_file=self.authority, require_encryption=True, **ends
        )


def credentials(names: Sequence[str]) -> list[Credentials]:
    """Create an authority and one certificate per name."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def builder(name: str, issuer: x509.Name, public: Any, *, authority: bool) -> x509.CertificateBuilder:  # noqa: ANN401
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(_x509_name(name))
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - SKEW)
            .not_valid_after(now + VALID)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )

    root = ec.generate_private_key(ec.SECP256R1())
    issuer = _x509_name("hindmost session")
    top = builder("hindmost session", issuer, root.public_key(), authority=True).sign(root, hashes.SHA256())
    signed_credentials = []
    for name in names:
        key = ec.generate_private_key(ec.SECP256R1())
        signed = builder(name, issuer, key.public_key(), authority=False).sign(root, hashes.SHA256())
        signed_credentials.append(
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
    return signed_credentials


def _x509_name(name: str) -> Any:  # noqa: ANN401
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
