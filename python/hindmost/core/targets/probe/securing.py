"""TLS connections of the probe: verified by the engine, like those of the load, then used by Python."""

from __future__ import annotations

import re
import socket
import ssl

from hindmost import _engine
from hindmost.core.plan.protocols import Entry
from hindmost.core.plan.tls import HINTS, Tls
from hindmost.core.targets.probe.problems import Silent
from hindmost.core.targets.procfs import split_address
from hindmost.errors import TargetError

GRANTED = b"S"
"""PostgreSQL's reply to its SSLRequest (manual, 54.2.10)."""


def verify(address: str, tls: Tls, entry: Entry, timeout_s: float) -> None:
    """Make one handshake in the same way as the load, so that both have the same outcome.

    Raises
    ------
    TargetError
        If it fails: names the server, the file or name, and the reason.
    """
    try:
        _engine.try_tls(tls.text(), address, entry.name, timeout_s)
    except _engine.EngineError as error:
        code, message = error.args
        hint = HINTS[code].replace("HOST:PORT", address)
        raise TargetError(
            code, f"{entry.tls_scheme}://{address}: {message}", hint=hint, address=address
        ) from None


def wrap(connection: socket.socket, address: str, tls: Tls, entry: Entry) -> ssl.SSLSocket:
    """Add TLS to a connection; the engine has just verified the server's certificate.

    Raises
    ------
    TargetError
        If the server ends the session, or sends nothing within the connection's timeout.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if tls.cert is not None and tls.key is not None:
        context.load_cert_chain(tls.cert, tls.key)
    if entry.alpn:
        context.set_alpn_protocols([entry.alpn])
    try:
        if entry.tls_request:
            _request_tls(connection, address, entry)
        return context.wrap_socket(connection, server_hostname=tls.sni or split_address(address)[0])
    except TimeoutError:
        raise Silent(
            "no-answer",
            f"{address} accepted a second connection but sent nothing in the TLS handshake within"
            f" {connection.gettimeout() or 0.0:g} s; TLS worked on the first connection",
            hint="does it have only one worker, or a limit on connections? Try two at a time: openssl"
            f" s_client -connect {address}",
            address=address,
            limit=connection.gettimeout(),
            unit="s",
        ) from None
    except ssl.SSLError as error:
        raise session_ended(address, error) from None
    except ConnectionError as error:
        raise Silent(
            "second-connection-refused",
            f"{address} closed a second connection in the TLS handshake ({error.strerror or error}); the"
            " first connection had TLS",
            hint="does it have a limit on connections? see the server's log",
            address=address,
        ) from None


def _request_tls(connection: socket.socket, address: str, entry: Entry) -> None:
    """Request TLS, for protocols that start without it."""
    connection.sendall(entry.tls_request.encode("latin-1"))
    answer = connection.recv(1)
    if answer != GRANTED:
        reaction = f"answered {answer!r}" if answer else "hung up"
        raise TargetError(
            "second-connection-refused",
            f"{address} granted TLS to a first connection, but {reaction} when a second asked for it"
            f" ({GRANTED!r} grants it)",
            hint="are several servers behind this address, or is there a limit on connections? see its log",
            address=address,
            reply=answer.decode("latin-1"),
        )


def explain_refusal(refusal: TargetError, tls: Tls | None) -> TargetError:
    """Add a hint about client certificates to a login refused over TLS.

    PostgreSQL reports a missing certificate (28000), and for a certificate with another user's name a wrong
    password (28P01), whatever the password (manual, 21.12 and appendix A).
    """
    code = re.search(r"\bFATAL (28000|28P01): ", str(refusal.fields.get("reply", "")))
    if tls is None or code is None:
        return refusal
    if tls.cert is not None:
        refusal.hint = (
            f"{refusal.hint}; if pg_hba.conf says cert or clientcert=verify-full, the name (CN) in the"
            f" client's certificate has to be the user: openssl x509 -noout -subject -in {tls.cert}"
        )
    elif code[1] == "28000":
        refusal.hint = f"--cert FILE --key FILE if pg_hba.conf requires a client certificate; {refusal.hint}"
    return refusal


def session_ended(address: str, error: ssl.SSLError) -> TargetError:
    """Return the error of a server that ends the session after the handshake, often without a certificate."""
    words = (error.reason or str(error)).replace("_", " ").lower()
    return TargetError(
        "tls-refused",
        f"{address} ended the TLS session: {words}",
        hint=HINTS["tls-refused"],
        address=address,
        reason=words,
    )
