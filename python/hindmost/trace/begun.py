"""e4 as the server shows it: a function that it calls where it begins a request, or a USDT probe there."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.errors import UsageError
from hindmost.notes import Note

if TYPE_CHECKING:
    from hindmost.store.trace import StartProbe
    from hindmost.trace.server import Server

MOST_AMISS = 0.01
"""Share of requests with too few or too many calls above which the function is reported as wrong."""
KNOWN = {
    "redis-server": "processCommand",
    "valkey-server": "processCommand",
    "nginx": "ngx_http_process_request",
    "apache2": "ap_process_async_request",
    "httpd": "ap_process_async_request",
    "postgres": "usdt:postgresql:query__start",
}
"""Functions and probes met once a request, by program, which stripped builds still name (Debian's, seen)."""
USDT = "usdt:"
"""Before a probe that the program's authors put there."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a program or of a library that it uses; ``usdt:PROVIDER:NAME`` is a probe of it."""

    file: Path
    name: str

    @classmethod
    def parse(cls, text: str, server: Server) -> Function:
        """Read ``PATH:FUNCTION``, or ``FUNCTION`` of the server's own program; the same with ``usdt:``.

        Raises
        ------
        UsageError
            If the path is no file, or it is not known which program the server is.
        """
        path, name = _apart(text)
        known = KNOWN.get(server.name, "processCommand")
        if not name:
            raise UsageError(
                "bad-value",
                f"--probe-e4 {text!r} names no function",
                hint=f"--probe-e4 {known}",
                option="--probe-e4",
                value=text,
            )
        if path:
            found = _seen_by(server, Path(path).absolute())
            if not found.is_file():
                raise UsageError(
                    "no-such-file",
                    f"--probe-e4: there is no file {path}",
                    hint=f"--probe-e4 $(command -v PROGRAM):{name}",
                    option="--probe-e4",
                    path=path,
                )
            return cls(found, name)
        if server.pid is None:
            raise UsageError(
                "needs-root",
                f"--probe-e4 {name}: only root may see which program {server.name} is",
                hint=f"name the program: --probe-e4 /path/of/the/program:{name}; or run as root",
                option="--probe-e4",
                name=server.name,
            )
        return cls(Path(f"/proc/{server.pid}/exe"), name)


def _seen_by(server: Server, path: Path) -> Path:
    """The file that the server knows by this path: in a container it is another one than ours."""
    own = Path(f"/proc/{server.pid}/root") / path.relative_to("/")
    with contextlib.suppress(OSError):
        if own.is_file() and not (path.is_file() and own.samefile(path)):
            return own
    return path


def _apart(text: str) -> tuple[str, str]:
    """File and function; of a probe both its names.

    Examples
    --------
    >>> _apart("processCommand"), _apart("/lib/a.so:call")
    (('', 'processCommand'), ('/lib/a.so', 'call'))
    >>> _apart("usdt:postgresql:query__start"), _apart("/bin/a:usdt:p:q")
    (('', 'usdt:postgresql:query__start'), ('/bin/a', 'usdt:p:q'))
    >>> _apart("usdt:postgresql"), _apart(":")
    (('', ''), ('', ''))
    """
    path, found, probe = text.rpartition(USDT)
    if found and (not path or path.endswith(":")):
        provider, _, name = probe.partition(":")
        return path.removesuffix(":"), f"{USDT}{probe}" if provider and name else ""
    path, _, name = text.rpartition(":")
    return path, name


def begun_of(function: Function, counts: Mapping[str, int]) -> StartProbe:
    """What a trace's document says of it."""
    done = max(1, counts["done"])
    return {
        "file": str(function.file.resolve()),
        "function": function.name,
        "share": 1 - min(done, counts["not_begun"]) / done,
        "astray": counts["astray"] / done,
    }


def amiss(begun: StartProbe) -> list[Note]:
    """Report a function that the server does not call once for each request."""
    missed, astray, name = 1 - begun["share"], begun["astray"], begun["function"]
    if missed <= MOST_AMISS and astray <= MOST_AMISS:
        return []
    why = [f"it was not called for {missed:.1%} of the requests"] if missed > MOST_AMISS else []
    if astray > MOST_AMISS:
        why.append(f"it was called {astray:.2f} more times for each request")
    return [
        Note(
            "wrong-begin-function",
            f"{name} does not begin each request: {', and '.join(why)}. The stage read to start may be wrong:"
            " name another function, or leave out --probe-e4.",
            {"function": name, "missed": missed, "astray": astray},
        )
    ]
