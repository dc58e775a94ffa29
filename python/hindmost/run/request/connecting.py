"""How connections are made, as it was asked for: secured or not, and from which of our addresses."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from hindmost import _engine
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.plan import MeasurePlan
    from hindmost.plan.login import Login
    from hindmost.plan.tls import Tls
    from hindmost.run.request import MeasureRequest
    from hindmost.targets import Attached, Managed


def tls_of(asked: MeasureRequest, target: Attached | Managed) -> Tls | None:
    """How the target's connections are secured: as its file says, and the options above it.

    Raises
    ------
    UsageError
        If options are about TLS and the target is not, or their files are no use.
    """
    from hindmost.plan.protocols import ENTRIES
    from hindmost.plan.tls import HINTS, Tls

    files = {name: str(path.absolute()) for name in ("ca", "cert", "key") if (path := getattr(asked, name))}
    given: dict[str, str | bool] = {**files}
    if asked.sni is not None:
        given["sni"] = asked.sni
    if asked.insecure:
        given["insecure"] = True
    if asked.resumption == "off":
        given["resumption"] = False
    own = target.spec.tls if target.managed else (Tls() if target.secured else None)
    if own is None:
        if given:
            flag = f"--{next(iter(given))}"
            scheme = ENTRIES[target.protocol].tls_scheme
            way = "add [tls] to the target file" if target.managed else f"write {scheme}://..."
            raise UsageError("todo", f"{flag} is about TLS, and {target.name} is measured without", hint=way)
        return None
    tls = own.model_copy(update=given)
    if target.managed or not target.endpoints:  # of several servers each has its own name
        tls = tls.for_host(target.spec.host if target.managed else target.host)
    if not target.managed:
        if tls.sni is not None and tls.sni.startswith("/"):
            raise UsageError(
                "todo",
                f"{target.name} is a Unix socket, which has no name for a certificate to hold",
                hint="--sni NAME, a name in the server's certificate",
            )
        try:
            _engine.check_tls(tls.text(), target.address, target.protocol)
        except _engine.EngineError as error:
            code, message = error.args
            raise UsageError("todo", f"{target.name}: {message}", hint=HINTS[code]) from None
    return tls


def login_of(asked: MeasureRequest, target: Attached | Managed) -> Login | None:
    """Who the client is: as the URL or the target's file says, and the options above it.

    Raises
    ------
    UsageError
        If options are about a login and the protocol has none.
    """
    from hindmost.plan.login import Login
    from hindmost.plan.protocols import ENTRIES

    own = target.spec.login if target.managed else target.login
    given = {name: value for name in ("user", "password", "database") if (value := getattr(asked, name))}
    if not given:
        return own
    if not ENTRIES[target.protocol].logs_in:
        raise UsageError(
            "todo",
            f"--{next(iter(given))}: {target.protocol} does not ask who the client is",
            hint=f"leave it out; it is for {', '.join(one.name for one in ENTRIES.values() if one.logs_in)}",
        )
    return Login(**((own or Login()).model_dump(exclude_none=True) | given))


def endpoints_of(sharding: str, target: Attached | Managed) -> tuple[str, ...]:
    """All servers, where there are several.

    Raises
    ------
    UsageError
        If ``--sharding`` is given, and there is one.
    """
    endpoints = () if target.managed else target.endpoints
    if not endpoints and sharding != "round-robin":
        raise UsageError(
            "todo",
            f"--sharding {sharding} is for several servers, and {target.name} is one",
            hint="name them all: memcached://HOST:PORT,HOST:PORT",
        )
    return endpoints


def sources_of(text: str | None, target: Attached | Managed) -> tuple[str, ...]:
    """Read ``--source``.

    Raises
    ------
    UsageError
        If one of them is no address of this host.
    """
    from hindmost.targets.procfs import is_local

    if text is None:
        return ()
    found: list[str] = []
    for one in text.split(","):
        try:
            address = str(ipaddress.ip_address(one.strip()))
        except ValueError:
            raise UsageError(
                "todo", f"--source {one.strip()!r} is no IP address", hint="--source 10.0.0.2,10.0.0.3"
            ) from None
        if address in found:
            raise UsageError("todo", f"--source names {address} twice", hint="name each address once")
        if not is_local(address):
            raise UsageError(
                "todo",
                f"--source {address} is no address of this host",
                hint="ip -brief address; ip address add ...",
            )
        found.append(address)
    if not target.managed and target.address.startswith("unix:"):
        raise UsageError("todo", "--source does not go with a Unix socket", hint="leave out --source")
    return tuple(found)


def check_capture(plan: MeasurePlan, target: Attached | Managed) -> None:
    """Refuse a proof by packets where packets do not show requests.

    Raises
    ------
    UsageError
        If connections are secured, go through a Unix socket, or are none (UDP).
    """
    from hindmost.plan.protocols import ENTRIES

    if not plan.verify_wire:
        return
    if plan.tls is not None:
        raise UsageError(
            "todo",
            "--verify-wire finds requests in packets, and TLS hides them there",
            hint="leave out --verify-wire; wire latency by the kernel's stamps works under TLS",
        )
    if ENTRIES[target.protocol].framing == "datagram":
        raise UsageError(
            "todo",
            f"--verify-wire finds requests in streams of TCP, and {target.protocol} goes over UDP",
            hint="leave out --verify-wire",
        )
    if target.spec.socket if target.managed else target.address.startswith("unix:"):
        raise UsageError(
            "todo", "--verify-wire needs packets, and a Unix socket has none", hint="leave out --verify-wire"
        )
