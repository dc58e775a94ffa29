"""The Dask worker of a load host: ``python -m hindmost.core.fleet.dask.worker``, started through SSH.

Its configuration (name, certificates, settings) arrives as one JSON line on standard input, so that nothing
is on a command line or in a file. It ends, with everything it started, when its input or its scheduler does,
so a killed controller leaves nothing behind. A worker that measures takes no tasks: it has only the handlers
that Dask itself needs, and ours.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import threading
from typing import Any

from hindmost.core.fleet.dask import quiet
from hindmost.core.fleet.dask.places import make_place, sweep

ALLOWED_STREAMS = {"close", "worker-status-change", "remove-worker"}
ALLOWED = {"terminate", "ping", "identity", "connection_stream", "versions"}
"""Dask's handlers that do not run code of others."""
EXIT_PATIENCE_S = 15.0


async def _run(config: dict[str, Any], ended: asyncio.Event) -> None:
    from distributed import Worker

    from hindmost.core.fleet.dask.certificates import Credentials
    from hindmost.core.fleet.dask.host import Host
    from hindmost.core.fleet.dask.session import Verifier

    computes = config["computes"]
    sweep(config["folder"])
    place = make_place("dask", config["folder"])
    worker: Any = None
    host: Any = None
    try:
        worker = Worker(
            config["scheduler"],
            host=config["address"],
            name=config["host"],
            nthreads=1,
            memory_limit=0,
            dashboard=False,
            dashboard_address="127.0.0.1:0",
            local_directory=str(place),
            security=Credentials(**config["credentials"]).security(),
            death_timeout="20s",
        )
        host = Host(Verifier(config["public"], config["host"]), worker)
        if not computes:
            worker.blocked_handlers = [name for name in worker.handlers if name not in ALLOWED]
            worker.stream_handlers = {
                name: do for name, do in worker.stream_handlers.items() if name in ALLOWED_STREAMS
            }
        worker.handlers["hindmost"] = host.obey
        async with worker:
            _say("here", address=worker.address)
            ending = asyncio.ensure_future(ended.wait())
            await asyncio.wait(
                {ending, asyncio.ensure_future(worker.finished())}, return_when="FIRST_COMPLETED"
            )
            await host.close()
    finally:
        if host is not None:
            await host.close()
        shutil.rmtree(place, ignore_errors=True)


def _say(event: str, **more: object) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def main() -> int:
    """Read the configuration, and run the worker until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the controller handles Ctrl-C
    line = sys.stdin.readline()
    if not line:
        return 1
    config = json.loads(line)
    quiet.configure()
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    def wait_for_the_end() -> None:
        while os.read(0, 1 << 12):
            pass
        loop.call_soon_threadsafe(ended.set)
        # Even if something hangs, clients and servers end with this process.
        timer = threading.Timer(EXIT_PATIENCE_S, os._exit, (1,))
        timer.daemon = True
        timer.start()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    try:
        loop.run_until_complete(_run(config, ended))
    except Exception as error:  # the only channel that is left
        _say("failed", message=f"{type(error).__name__}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
