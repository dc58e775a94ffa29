"""An extender of kube-scheduler on the command line: it answers until Ctrl-C or SIGTERM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hindmost.cli.streams import say
from hindmost.exits import Exit

if TYPE_CHECKING:
    from hindmost.kubernetes import Judge


def answered(
    judge: Judge, host: str, port: int, gauges: Callable[[], Mapping[str, float]], prefix: str
) -> int:
    """Answer by a judge, until Ctrl-C, or SIGTERM, by which Kubernetes ends a container.

    Raises
    ------
    UsageError
        Nobody can listen there.
    """
    import signal
    import threading

    from hindmost.errors import UsageError
    from hindmost.kubernetes import Extender

    if not 0 <= port <= 65_535:
        raise UsageError(
            "bad-value",
            f"--port {port} is not between 0 and 65535",
            hint="--port 0 uses any free port",
            option="--port",
            value=port,
            least=0,
            most=65_535,
        )
    try:
        server = Extender(judge, host=host, port=port, gauges=gauges, prefix=prefix)
    except OSError as error:
        raise UsageError(
            "cannot-listen",
            f"cannot listen at {host}:{port}: {error.strerror}",
            hint="--port 0 uses any free port",
            host=host,
            port=port,
            reason=error.strerror,
        ) from None
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with server:
        say(f"answering kube-scheduler at http://{server.address}; Ctrl-C ends it")
        ended.wait()
    return Exit.DONE
