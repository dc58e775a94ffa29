"""``hindmost host doctor``: check whether this host is fit to measure, and what would distort results."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from hindmost import _engine
from hindmost.cli.options import OUTPUT, TARGET, Json, option, switch
from hindmost.core.exits import Exit
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.core.run.request import MeasureRequest

TARGET_HELP = (
    "Check the network interface that leads to this target: a running server (memcached://HOST:PORT,"
    " redis://HOST:PORT, http://HOST:PORT/PATH), a preset or a target file. [default: all interfaces except"
    " loopback]"
)


def doctor(
    target: Annotated[str | None, option(TARGET, None, TARGET_HELP)] = None,
    *,
    ca: Annotated[
        Path | None,
        option(TARGET, "FILE", "TLS: file of trusted CA certificates. [default: this host's]"),
    ] = None,
    cert: Annotated[
        Path | None, option(TARGET, "FILE", "TLS: client certificate, if the server requires one.")
    ] = None,
    key: Annotated[Path | None, option(TARGET, "FILE", "TLS: private key of --cert.")] = None,
    sni: Annotated[
        str | None,
        option(TARGET, "NAME", "TLS: name in the server's certificate. [default: TARGET's host]"),
    ] = None,
    insecure: Annotated[bool, switch(TARGET, "TLS: do not verify the server's certificate.")] = False,
    spin: Annotated[
        str, option(OUTPUT, "TIME", "Time to spin on each CPU to measure the noise floor.")
    ] = "1s",
    json_: Json = False,
) -> int:
    """Check this host for everything that distorts a measurement.

    With a target, the report also states what time-stamps packets on the route to it. The command exits with
    5 if something makes the host unfit.
    """
    from hindmost.commands.host.document import Doctor, Privilege
    from hindmost.commands.host.view import doctor_view
    from hindmost.core.knobs import left_finding
    from hindmost.core.plan import parse_duration
    from hindmost.core.privileges import NEEDS
    from hindmost.core.store.engine import Checkup
    from hindmost.core.store.estimates import encode
    from hindmost.core.tracing.support import check_tracing
    from hindmost.present.terminal import render_terminal

    seconds = parse_duration(spin, "spin", 0.01)
    if seconds > 60.0:
        raise UsageError(
            "bad-value",
            f"--spin {spin} is longer than one minute",
            hint="hindmost host doctor --spin 1s",
            option="--spin",
            value=spin,
            most=60.0,
            unit="s",
        )
    from hindmost.core.run.request import MeasureRequest

    secured: dict[str, Any] = {"ca": ca, "cert": cert, "key": key, "sni": sni, "insecure": insecure}
    if target is None and (given := [name for name, value in secured.items() if value]):
        raise UsageError(
            "missing-argument",
            f"--{given[0]} is a TLS option, but the command has no target",
            hint="hindmost host doctor TARGET",
            argument="TARGET",
            option=f"--{given[0]}",
        )
    server = _server(MeasureRequest(target=target, **secured)) if target is not None else None
    found = msgspec.json.decode(_engine.doctor("/", seconds, server), type=Checkup)
    report = Doctor(
        schema="hindmost.doctor/2",
        facts=found.facts,
        noise=found.noise,
        findings=[*found.findings, left_finding(), check_tracing()],
        privileges=[Privilege(met=need.is_met(), **asdict(need)) for need in NEEDS],
    )
    print(encode(report) if json_ else render_terminal(doctor_view(report)))
    unfit = any(finding.mark == "unfit" for finding in report.findings)
    return Exit.UNFIT if unfit else Exit.DONE


def _server(asked: MeasureRequest) -> str:
    """Return ``IP:PORT`` of a target.

    Raises
    ------
    UsageError
        If it is not a valid target, or its TLS options are inconsistent.
    TargetError
        If a running server does not answer, or speaks another protocol.
    """
    from hindmost.core.run.request.connecting import tls_of
    from hindmost.core.targets import first_answering, parse_target
    from hindmost.core.targets.procfs import join_address

    target = parse_target(asked.target or "")
    tls = tls_of(asked, target)
    if target.managed:
        return join_address(target.spec.host, target.spec.port)
    address, _ = first_answering(
        target.addresses,
        target.protocol,
        path=target.path,
        tls=tls and tls.for_host(target.host),  # the first of several
        login=target.login,
    )
    return address
