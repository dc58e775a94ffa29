"""The probe's connections over TLS: verified by the engine, as the load's will be, then used by Python."""

from __future__ import annotations

import socket
import ssl

from hindmost import _engine
from hindmost.errors import TargetError
from hindmost.plan.protocols import Entry
from hindmost.plan.tls import HINTS, Tls
from hindmost.targets.procfs import split_address


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
        raise TargetError(f"{entry.tls_scheme}://{address}: {message}", hint=hint) from None


def secured(connection: socket.socket, address: str, tls: Tls, entry: Entry) -> ssl.SSLSocket:
    """Secure a connection to a server whose certificate the engine has verified a moment ago.

    Raises
    ------
    TargetError
        If the server does not go along.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if tls.cert is not None and tls.key is not None:
        context.load_cert_chain(tls.cert, tls.key)
    if entry.alpn:
        context.set_alpn_protocols([entry.alpn])
    try:
        if entry.tls_request:  # the engine has seen it granted
            connection.sendall(entry.tls_request.encode("latin-1"))
            connection.recv(1)
        return context.wrap_socket(connection, server_hostname=tls.sni or split_address(address)[0])
    except ssl.SSLError as error:
        raise ended(address, error) from None


def ended(address: str, error: ssl.SSLError) -> TargetError:
    """A server that ends the session after the handshake, as those do that miss a client certificate."""
    words = (error.reason or str(error)).replace("_", " ").lower()
    return TargetError(f"{address} ended the TLS session: {words}", hint=HINTS["tls_refused"])
