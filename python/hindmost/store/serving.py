"""What Rust says of a host and of a clone that serves, as the documents in which Python hands it on.

History of the formats: ``hindmost.doctor/1``, ``hindmost.serve/1``, ``hindmost.certificate/1`` (0.1.0), the
first.
"""

from typing import Literal, NotRequired, TypedDict

from hindmost.store.engine import Certificate, Checkup, ServerSummary
from hindmost.store.types import Count


class Privilege(TypedDict):
    """What a command needs: capabilities(7), and files that are root's (``owner``); ``met``: had here."""

    command: str
    capabilities: list[str]
    owner: bool
    why: str
    met: bool


class Doctor(Checkup):
    """What on this host will distort a measurement, and which commands have the rights that they need."""

    schema: Literal["hindmost.doctor/1"]
    privileges: NotRequired[list[Privilege]]


class CertificateDocument(Certificate):
    """How far a spin can be trusted on this host: from which service time on, null where from none."""

    schema: Literal["hindmost.certificate/1"]


class Serving(TypedDict):
    """A clone that served, and what became of its requests.

    ``outside_us`` of the clone is not served: kernel and network take their own time, and without sockets
    there is none. Added to ``sojourn``, it is what ``hindmost clone simulate`` calls latency.
    """

    schema: Literal["hindmost.serve/1"]
    clone: str
    seed: Count
    outside_us: float
    account: ServerSummary
    certificate: Certificate
