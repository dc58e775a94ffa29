"""The probe's connections over TLS: verified by the engine, as the load's will be, then used by Python."""

from __future__ import annotations

import re
import socket
import ssl

from hindmost import _engine
from hindmost.errors import TargetError
from hindmost.plan.protocols import Entry
from hindmost.plan.tls import HINTS, Tls
from hindmost.targets.probe.problems import Silent
from hindmost.targets.procfs import split_address

GRANTED = b"S"
"""PostgreSQL's answer to its SSLRequest (manual, 54.2.10)."""


def verify(address: str, tls: Tls, entry: Entry, timeout_s: float) -> None:
    """Make one handshake as the load makes them, so that both come to the same.

    Raises
    ------
    TargetError
        If it fails: names the server, the file or the name, and why.
    """
    try:
        _engine.try_tls(tls.text(), address, entry.name, timeout_s)
    except _engine.EngineError as error:
        code, message = error.args
        hint = HINTS[code].replace("HOST:PORT", address)
        raise TargetError(
            code, f"{entry.tls_scheme}://{address}: {message}", hint=hint, address=address
        ) from None


def secured(connection: socket.socket, address: str, tls: Tls, entry: Entry) -> ssl.SSLSocket:
    """Secure a connection to a server whose certificate the engine has verified a moment ago.

    Raises
    ------
    TargetError
        If the server does not go along: it ends the session, or says nothing for the connection's timeout.
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
            _ask(connection, address, entry)
        return context.wrap_socket(connection, server_hostname=tls.sni or split_address(address)[0])
    except TimeoutError:
        raise Silent(
            "no-answer",
            f"{address} accepted a second connection but sent nothing in the TLS handshake within"
            f" {connection.gettimeout() or 0.0:g} s; the first connection was secured",
            hint="does it have only one worker, or a limit of connections? Try two at a time: openssl"
            f" s_client -connect {address}",
            address=address,
            limit=connection.gettimeout(),
            unit="s",
        ) from None
    except ssl.SSLError as error:
        raise ended(address, error) from None
    except ConnectionError as error:
        raise Silent(
            "second-connection-refused",
            f"{address} closed a second connection in the TLS handshake ({error.strerror or error}); the"
            " first connection was secured",
            hint="does it have a limit of connections? see the server's log",
            address=address,
        ) from None


def _ask(connection: socket.socket, address: str, entry: Entry) -> None:
    """Ask for TLS where a server speaks it only then."""
    connection.sendall(entry.tls_request.encode("latin-1"))
    answer = connection.recv(1)
    if answer != GRANTED:
        said = f"said {answer!r}" if answer else "hung up"
        raise TargetError(
            "second-connection-refused",
            f"{address} granted TLS to a first connection, but {said} when a second asked for it"
            f" ({GRANTED!r} grants it)",
            hint="are several servers behind this address, or is there a limit of connections? see its log",
            address=address,
            reply=answer.decode("latin-1"),
        )


def explained(refusal: TargetError, tls: Tls | None) -> TargetError:
    """Why a login was refused over TLS, with what a client certificate may have to do with it.

    PostgreSQL says that none came (28000), and where its name is another user's, that the password was wrong
    (28P01), whatever the password (manual, 21.12 and appendix A).
    """
    code = re.search(r"\bFATAL (28000|28P01): ", str(refusal.fields.get("reply", "")))
    if tls is None or code is None:
        return refusal
    if tls.cert is not None:
        refusal.hint = (
            f"{refusal.hint}; where pg_hba.conf says cert or clientcert=verify-full, the name (CN) in the"
            f" client's certificate has to be the user: openssl x509 -noout -subject -in {tls.cert}"
        )
    elif code[1] == "28000":
        refusal.hint = (
            f"--cert FILE --key FILE where pg_hba.conf asks for a client certificate; {refusal.hint}"
        )
    return refusal


def ended(address: str, error: ssl.SSLError) -> TargetError:
    """A server that ends the session after the handshake, as those do that miss a client certificate."""
    words = (error.reason or str(error)).replace("_", " ").lower()
    return TargetError(
        "tls-refused",
        f"{address} ended the TLS session: {words}",
        hint=HINTS["tls-refused"],
        address=address,
        reason=words,
    )
