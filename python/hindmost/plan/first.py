"""The first request of a plan, for a look at the server before the load."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from hindmost import _engine
from hindmost.plan.codes import Codes
from hindmost.plan.http import called
from hindmost.plan.measure import MeasurePlan
from hindmost.plan.protocols import ENTRIES


@dataclass(frozen=True, slots=True)
class First:
    """One request as the load makes it, or what a connection of the load begins with.

    Attributes
    ----------
    request : bytes
        All of it; holds what logs in, so it is never shown. Empty where a connection's beginning
        tells enough.
    accept : sequence of int and str
        Status codes that it takes for a success.
    opening : str
        A plan of the engine whose connections begin so, never shown either; empty where requests tell more.
    """

    request: bytes = field(repr=False)
    accept: Codes = ()
    opening: str = field(default="", repr=False)

    @property
    def method(self) -> str:
        """Such as ``POST``."""
        return self.request.partition(b" ")[0].decode("ascii", "replace")

    @property
    def path(self) -> str:
        """With its query."""
        if self.opening:
            return str(json.loads(self.opening)["workload"]["paths"][0])
        return self.request.split(b" ", 2)[1].decode("latin-1")

    @property
    def repeatable(self) -> bool:
        """Whether asking twice does what asking once does (RFC 9110, 9.2.2)."""
        return self.method not in ("POST", "PATCH")


def first_request(plan: MeasurePlan, protocol: str, address: str) -> First | None:
    """The first request of a plan; None where the protocol's own greeting tells as much.

    Raises
    ------
    UsageError
        If what it needs to log in is not found.
    """
    workload = plan.workload
    entry = ENTRIES[protocol]
    if entry.mix.paths and entry.framing == "opening":
        return First(b"", opening=plan.engine_plan(1, 0, protocol, address, secrets=True))
    # A frame of HTTP/2 means nothing by itself: its requests are not asked before the load.
    if protocol != "http" or not any(workload.get(key) for key in ("requests", "headers", "version")):
        return None
    name, request = plan.ask_engine(_engine.first_request, 1, 0, protocol, address, secrets=True)
    own = next((one.get("accept") for one in workload.get("requests", ()) if called(one) == name), None)
    return First(request, own or workload.get("accept") or ["2xx"])
