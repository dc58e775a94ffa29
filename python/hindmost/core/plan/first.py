"""The first request of a plan, to check the server before the load."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from hindmost import _engine
from hindmost.core.plan.codes import Codes, accepted_at_first
from hindmost.core.plan.http import request_name
from hindmost.core.plan.measure import MeasurePlan
from hindmost.core.plan.protocols import ENTRIES


@dataclass(frozen=True, slots=True)
class FirstRequest:
    """One request of the load, or what a connection of the load begins with.

    Attributes
    ----------
    request : bytes
        The whole request. It includes credentials, so it is never shown. Empty if a connection's opening
        shows enough.
    accept : sequence of int and str
        Status codes that count as success.
    timeout_s : float
        Seconds that its reply may take; 0 if a greeting may take as long.
    opening : str
        A plan of the engine whose connections open in this way, never shown either; empty if requests show
        more.
    """

    request: bytes = field(repr=False)
    accept: Codes = ()
    timeout_s: float = 0.0
    opening: str = field(default="", repr=False)

    @property
    def method(self) -> str:
        """The HTTP method, such as ``POST``."""
        return self.request.partition(b" ")[0].decode("ascii", "replace")

    @property
    def path(self) -> str:
        """The path with its query."""
        if self.opening:
            return str(json.loads(self.opening)["workload"]["paths"][0])
        return self.request.split(b" ", 2)[1].decode("latin-1")

    @property
    def is_repeatable(self) -> bool:
        """Whether sending it twice has the same effect as sending it once (RFC 9110, 9.2.2)."""
        return self.method not in ("POST", "PATCH")


def first_request(plan: MeasurePlan, protocol: str, address: str) -> FirstRequest | None:
    """Return the first request of a plan; None if the protocol's own greeting shows as much.

    Raises
    ------
    UsageError
        If credentials cannot be found.
    """
    workload = plan.workload
    entry = ENTRIES[protocol]
    if entry.mix.paths and entry.framing == "opening":
        return FirstRequest(b"", opening=plan.engine_plan(1, 0, protocol, address, secrets=True))
    # A single HTTP/2 frame cannot be sent alone, so its requests are not checked before the load.
    if protocol != "http" or not any(workload.get(key) for key in ("requests", "headers", "version")):
        return None
    name, request = plan.ask_engine(_engine.first_request, 1, 0, protocol, address, secrets=True)
    own = next(
        (each.get("accept") for each in workload.get("requests", ()) if request_name(each) == name), None
    )
    accept = accepted_at_first(workload, own or workload.get("accept") or ["2xx"])
    return FirstRequest(request, accept, plan.timeout_s)
