"""The start of a request (e4) as the server shows it: a function that it calls there, or a USDT probe."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.core.notes import Note
from hindmost.core.store.engine import TraceCounts
from hindmost.core.tracing.document import StartProbe
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.core.tracing.server import Server

MOST_AMISS = 0.01
"""Share of requests with missing or extra calls above which the function is reported as wrong."""
KNOWN = {
    "redis-server": "processCommand",
    "valkey-server": "processCommand",
    "nginx": "ngx_http_process_request",
    "apache2": "ap_process_async_request",
    "httpd": "ap_process_async_request",
    "postgres": "usdt:postgresql:query__start",
}
"""Functions and probes that run once per request, by program. Stripped builds still name them (seen in
Debian's)."""
USDT = "usdt:"
"""Prefix of a probe that the program's authors placed."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a program or of one of its libraries; ``usdt:PROVIDER:NAME`` is a USDT probe."""

    file: Path
    name: str

    @classmethod
    def parse(cls, text: str, server: Server) -> Function:
        """Parse ``PATH:FUNCTION``, or ``FUNCTION`` of the server's own program; the same with ``usdt:``.

        Raises
        ------
        UsageError
            The path is not a file, or the server's program is unknown.
        """
        path, name = _split_name(text)
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
            found = _path_for_server(server, Path(path).absolute())
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


def _path_for_server(server: Server, path: Path) -> Path:
    """Return the file that the server sees at this path; in a container it differs from ours."""
    own = Path(f"/proc/{server.pid}/root") / path.relative_to("/")
    with contextlib.suppress(OSError):
        if own.is_file() and not (path.is_file() and own.samefile(path)):
            return own
    return path


def _split_name(text: str) -> tuple[str, str]:
    """Split a specification into file and function; a USDT probe keeps both its names.

    Examples
    --------
    >>> _split_name("processCommand"), _split_name("/lib/a.so:call")
    (('', 'processCommand'), ('/lib/a.so', 'call'))
    >>> _split_name("usdt:postgresql:query__start"), _split_name("/bin/a:usdt:p:q")
    (('', 'usdt:postgresql:query__start'), ('/bin/a', 'usdt:p:q'))
    >>> _split_name("usdt:postgresql"), _split_name(":")
    (('', ''), ('', ''))
    """
    path, found, probe = text.rpartition(USDT)
    if found and (not path or path.endswith(":")):
        provider, _, name = probe.partition(":")
        return path.removesuffix(":"), f"{USDT}{probe}" if provider and name else ""
    path, _, name = text.rpartition(":")
    return path, name


def describe_begin(function: Function, counts: TraceCounts) -> StartProbe:
    """Describe the function's calls for the trace's document."""
    done = max(1, counts.done)
    return StartProbe(
        file=str(function.file.resolve()),
        function=function.name,
        share=1 - min(done, counts.not_begun) / done,
        astray=counts.astray / done,
    )


def begin_notes(begun: StartProbe) -> list[Note]:
    """Report a function that the server does not call once per request."""
    missed, astray, name = 1 - begun.share, begun.astray, begun.function
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
