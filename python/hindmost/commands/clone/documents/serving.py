"""The documents of a clone that serves."""

from typing import Literal

from hindmost.core.store.engine import Certificate, ServerSummary
from hindmost.core.store.types import Count, Document


class CertificateDocument(Certificate):
    """Accuracy of a spin on this host: the service time from which it is accurate, null if none is."""

    schema: Literal["hindmost.certificate/1"]


class Serving(Document):
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
