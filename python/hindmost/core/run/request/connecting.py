"""How to connect: with or without TLS, with which login, and from which local addresses."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from hindmost import _engine
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.core.plan import MeasurePlan
    from hindmost.core.plan.login import Login
    from hindmost.core.plan.tls import Tls
    from hindmost.core.run.request import MeasureRequest
    from hindmost.core.targets import Attached, Managed


def tls_of(request: MeasureRequest, target: Attached | Managed) -> Tls | None:
    """Return the TLS settings of the target's file, overridden by options.

    Raises
    ------
    UsageError
        If TLS options are given for a target without TLS, or their files are invalid.
    """
    from hindmost.core.plan.protocols import ENTRIES
    from hindmost.core.plan.tls import HINTS, Tls

    files = {name: str(path.absolute()) for name in ("ca", "cert", "key") if (path := getattr(request, name))}
    given: dict[str, str | bool] = {**files}
    if request.sni is not None:
        given["sni"] = request.sni
    if request.insecure:
        given["insecure"] = True
    if request.resumption == "off":
        given["resumption"] = False
    own = target.spec.tls if target.managed else (Tls() if target.secured else None)
    if own is None:
        if given:
            flag = f"--{next(iter(given))}"
            scheme = ENTRIES[target.protocol].tls_scheme
            hint = "add [tls] to the target file" if target.managed else f"write {scheme}://..."
            raise UsageError(
                "unsupported", f"{flag} needs TLS, and {target.name} does not use it", hint=hint, option=flag
            )
        return None
    tls = own.model_copy(update=given)
    if target.managed or not target.endpoints:  # several servers have their own names
        tls = tls.for_host(target.spec.host if target.managed else target.host)
    if not target.managed:
        if tls.sni is not None and tls.sni.startswith("/"):
            raise UsageError(
                "missing-argument",
                f"TLS to {target.name} needs --sni: a Unix socket has no host name to check the"
                " certificate against",
                hint="--sni NAME, a name in the server's certificate",
                option="--sni",
            )
        try:
            _engine.check_tls(tls.text(), target.address, target.protocol)
        except _engine.EngineError as error:
            code, message = error.args
            raise UsageError(
                code,
                f"{target.name}: {message}",
                hint=HINTS[code],
                **(getattr(error, "fields", None) or {}),
            ) from None
    return tls


def login_of(request: MeasureRequest, target: Attached | Managed) -> Login | None:
    """Return the login of the URL or the target's file, overridden by options.

    Raises
    ------
    UsageError
        If login options are given for a protocol without one.
    """
    from hindmost.core.plan.login import Login
    from hindmost.core.plan.protocols import ENTRIES

    own = target.spec.login if target.managed else target.login
    given = {name: value for name in ("user", "password", "database") if (value := getattr(request, name))}
    if not given:
        return own
    if not ENTRIES[target.protocol].logs_in:
        known = [entry.name for entry in ENTRIES.values() if entry.logs_in]
        raise UsageError(
            "unsupported",
            f"--{next(iter(given))}: {target.protocol} has no login",
            hint=f"leave it out; protocols with a login: {', '.join(known)}",
            option=f"--{next(iter(given))}",
            protocol=target.protocol,
            known=known,
        )
    return Login(**((own or Login()).model_dump(exclude_none=True) | given))


def endpoints_of(sharding: str, target: Attached | Managed) -> tuple[str, ...]:
    """Return all servers if there are several, else ().

    Raises
    ------
    UsageError
        If ``--sharding`` is given for a single server.
    """
    endpoints = () if target.managed else target.endpoints
    if not endpoints and sharding != "round-robin":
        raise UsageError(
            "bad-value",
            f"--sharding {sharding} needs several servers, but {target.name} is one",
            hint="name them all: memcached://HOST:PORT,HOST:PORT",
            option="--sharding",
            value=sharding,
        )
    return endpoints


def sources_of(text: str | None, target: Attached | Managed) -> tuple[str, ...]:
    """Read ``--source``.

    Raises
    ------
    UsageError
        If it names an address that is not one of this host's.
    """
    from hindmost.core.targets.procfs import is_local

    if text is None:
        return ()
    addresses: list[str] = []
    for part in text.split(","):
        try:
            address = str(ipaddress.ip_address(part.strip()))
        except ValueError:
            raise UsageError(
                "bad-value",
                f"--source {part.strip()!r} is not an IP address",
                hint="--source 10.0.0.2,10.0.0.3",
                option="--source",
                value=part.strip(),
            ) from None
        if address in addresses:
            raise UsageError(
                "duplicate-name",
                f"--source names {address} twice",
                hint="name each address once",
                option="--source",
                value=str(address),
            )
        if not is_local(address):
            raise UsageError(
                "unknown-name",
                f"--source {address} is not an address of this host",
                hint="ip -brief address; ip address add ...",
                option="--source",
                value=str(address),
            )
        addresses.append(address)
    if not target.managed and target.address.startswith("unix:"):
        raise UsageError(
            "unsupported",
            "--source does not work with a Unix socket, which has no addresses",
            hint="leave out --source",
            option="--source",
        )
    return tuple(addresses)


def check_capture(plan: MeasurePlan, target: Attached | Managed) -> None:
    """Refuse ``--verify-wire`` if packets do not show requests.

    Raises
    ------
    UsageError
        If connections use TLS, a Unix socket, or UDP.
    """
    from hindmost.core.plan.protocols import ENTRIES

    if not plan.verify_wire:
        return
    if plan.tls is not None:
        raise UsageError(
            "unsupported",
            "--verify-wire does not work with TLS, which hides requests in packets",
            hint="leave out --verify-wire; wire latency from kernel time stamps works with TLS",
            option="--verify-wire",
            transport="tls",
        )
    if ENTRIES[target.protocol].framing == "datagram":
        raise UsageError(
            "unsupported",
            f"--verify-wire works with TCP only, and {target.protocol} uses UDP",
            hint="leave out --verify-wire",
            option="--verify-wire",
            transport="udp",
        )
    if target.spec.socket if target.managed else target.address.startswith("unix:"):
        raise UsageError(
            "unsupported",
            "--verify-wire needs packets, and a Unix socket has none",
            hint="leave out --verify-wire",
            option="--verify-wire",
            transport="unix",
        )
