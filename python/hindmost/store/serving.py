"""Documents with what Rust reports about a host and about a serving clone."""

from typing import Literal, NotRequired, TypedDict

from hindmost.store.engine import Certificate, Checkup, ServerSummary
from hindmost.store.types import Count


class Privilege(TypedDict):
    """Rights that a command needs: capabilities(7), root's files (``owner``); ``met``: it has them."""

    command: str
    capabilities: list[str]
    owner: bool
    why: str
    met: bool


class Doctor(Checkup):
    """What on this host distorts a measurement, and which commands have the rights that they need."""

    schema: Literal["hindmost.doctor/1"]
    privileges: NotRequired[list[Privilege]]


class CertificateDocument(Certificate):
    """Accuracy of a spin on this host: the service time from which it is accurate, null if none is."""

    schema: Literal["hindmost.certificate/1"]


class Serving(TypedDict):
    """A clone that served, and the counts of its requests.

    The clone's ``outside_us`` is not served: kernel and network take their own time, and without sockets
    there is none. Added to ``sojourn``, it gives the latency of ``hindmost clone simulate``.
    """

    schema: Literal["hindmost.serve/1"]
    clone: str
    seed: Count
    outside_us: float
    account: ServerSummary
    certificate: Certificate
