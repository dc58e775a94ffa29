"""The broker: the Dask end on the controller's machine, a process without privileges.

Dask unpickles what its peers send, so every host of a fleet can run code in the process with the scheduler.
That process is this one, ``python -m hindmost.core.fleet.dask.broker``. If root starts it, it becomes an
unused user. It cannot execute files, can write only in its own folder, and can read only Python's files and
the system's (Landlock). It has no key except its own certificate's. The controller does not import Dask; the
two exchange lines of JSON::

    controller                                        broker
    {"id": 1, "do": "listen", "host": "..."}     ->
                                                 <-   {"id": 1, "ok": "..."} or {"id": 1, "error": {...}}

The broker passes a host's reply on as text, and the controller parses it (`replies.read_reply`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pkgutil
import signal
import sys
import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.core.fleet.dask import quiet
from hindmost.core.fleet.dask.certificates import Credentials
from hindmost.core.fleet.dask.replies import MOST_BYTES, error_document
from hindmost.core.fleet.dask.version import identity, refuse_other
from hindmost.core.notes import Note
from hindmost.core.targets.users import unused_id
from hindmost.errors import HindmostError, UsageError

CONNECT_S = 10.0
CLOSE_S = 10.0
READABLE = ("/etc", "/lib", "/lib64", "/proc", "/sys", "/usr", "/dev/null", "/dev/urandom")


class Broker:
    """The commands of the controller.

    Parameters
    ----------
    config : dict
        ``credentials`` for our own scheduler, or ``scheduler``, the address of a running one. ``folder``: for
        Dask's own files. ``work``: what workers compute, ``package.module:function``; or None.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        from distributed.security import Security

        self._own = config.get("credentials")
        self._where: str = config.get("scheduler", "")
        security = Credentials(**self._own).security() if self._own else Security()  # type: ignore[no-untyped-call]
        self._security = _load_certificates(security)
        self._work = pkgutil.resolve_name(config["work"]) if config.get("work") else None
        self._scheduler: Any = None
        self._starting = asyncio.Lock()
        self._client: Any = None
        self._by_host: dict[str, str] = {}
        """Addresses of the workers of a running scheduler."""
        self._stopped: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    # --- our own scheduler ----------------------------------------------------------------------

    async def listen(self, host: str) -> str:
        """Start the scheduler, or let it listen on another address; return the URL."""
        from distributed import Scheduler

        async with self._starting:
            if self._scheduler is None:
                self._scheduler = Scheduler(
                    protocol="tls",
                    host=host,
                    port=0,
                    dashboard=False,
                    dashboard_address="127.0.0.1:0",
                    security=self._security,
                )
                await self._scheduler
            elif host not in self._listening():
                bracketed = f"[{host}]" if ":" in host else host
                where = f"tls://{bracketed}:0"
                await self._scheduler.listen(
                    where, allow_offload=False, **self._security.get_listen_args("scheduler")
                )
        return self._listening()[host]

    def _listening(self) -> dict[str, str]:
        from distributed.comm.addressing import get_address_host

        urls = [listener.contact_address for listener in self._scheduler.listeners]
        return {get_address_host(url).strip("[]"): url for url in urls}

    async def set_resting(self, resting: bool) -> None:
        """Stop the scheduler's timers, or restart them."""
        if self._scheduler is not None:
            (quiet.pause if resting else quiet.resume)(self._scheduler)

    # --- a running scheduler --------------------------------------------------------------------

    async def workers(self) -> dict[str, str]:
        """Connect to the scheduler; return the address of each worker by name.

        Raises
        ------
        UsageError
            If there is no scheduler or no worker, or two workers have one name.
        """
        import dask
        from distributed import Client

        dask.config.set({"distributed.client.heartbeat": "1h"})
        try:
            self._client = await Client(  # type: ignore[no-untyped-call]
                self._where, security=self._security, asynchronous=True, timeout=CONNECT_S
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise self._no_scheduler(error) from None
        running = (await self._client.scheduler.identity(n_workers=-1))["workers"]
        if not running:
            raise self._no_workers()
        for address, worker in running.items():
            name = str(worker["name"])
            if name in self._by_host:
                raise UsageError(
                    "duplicate-name",
                    f"two workers of {self._where} are named {name!r}",
                    hint="dask worker --name",
                    address=self._where,
                    name=name,
                )
            self._by_host[name] = str(address)
        return self._by_host

    def _no_scheduler(self, error: Exception) -> UsageError:
        return UsageError(
            "no-scheduler",
            f"no scheduler answers at {self._where}: {error}",
            hint="dask scheduler, there; for tls:// both ends need certificates: distributed.comm.tls"
            " in Dask's configuration",
            address=self._where,
        )

    def _no_workers(self) -> UsageError:
        return UsageError(
            "no-workers",
            f"the scheduler at {self._where} has no workers",
            hint=f"on each load host: dask worker {self._where} --nthreads 1 --no-nanny --name HOST",
            address=self._where,
        )

    # --- both -----------------------------------------------------------------------------------

    async def command(
        self,
        host: str,
        text: str,
        signature: str,
        patience_s: float | None,
        address: str | None = None,
        public: str | None = None,
    ) -> dict[str, Any]:
        """Pass a signed command on to a host.

        Parameters
        ----------
        address : str, optional
            Address of its worker, for our own scheduler.
        public : str, optional
            Our public key, for a worker that does not know it yet.

        Returns
        -------
        dict
            `replies.HostReply`.
        """
        if address is None:
            call = self._run(host, text, signature, public)
        else:
            call = self._scheduler.rpc(address).hindmost(text=text, signature=signature)
        asked_ns = _engine.monotonic_ns()
        try:
            reply = await asyncio.wait_for(call, patience_s)
        except TimeoutError:
            return {"late": True}
        except OSError as error:  # distributed's CommClosedError is one
            return {"lost": str(error)[:200]}
        except (ImportError, AttributeError) as error:
            return {"missing": str(error)[:500]}
        return {"reply": str(reply), "asked_ns": asked_ns, "answered_ns": _engine.monotonic_ns()}

    async def _run(self, host: str, text: str, signature: str, public: str | None) -> Any:  # noqa: ANN401 (any value)
        from hindmost.core.fleet.dask.host import obey_within

        address = self._by_host[host]
        answers = await self._client.run(
            obey_within, host, public, text, signature, workers=[address], on_error="return"
        )
        answer = answers.get(address, OSError("the scheduler no longer has this worker"))
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def compute(self, number: int, shared: Any, items: list[Any], say: Callable[..., None]) -> None:  # noqa: ANN401
        """Let the workers compute a batch; send each piece and each note as it arrives."""
        await asyncio.to_thread(self._compute, number, shared, items, say)

    def _compute(self, number: int, shared: Any, items: list[Any], say: Callable[..., None]) -> None:  # noqa: ANN401
        from hindmost.core.fleet.dask.batch import Batch

        assert self._work is not None
        client, count = self._computing

        def forward(note: Note) -> None:
            say(note={"code": note.code, "text": str(note), "values": dict(note.values)})

        for first, answers in Batch(client, self._work, shared, items, count, forward).results():
            if number in self._stopped:
                return
            say(piece={"first": first, "answers": answers})

    async def stop(self, number: int) -> None:
        """Stop a batch."""
        self._stopped.add(number)

    async def computing(self) -> int:
        """Check the workers that will compute; return their number."""
        return (await asyncio.to_thread(lambda: self._computing))[1]

    @cached_property
    def _computing(self) -> tuple[Any, int]:
        """A client for batches, and the number of workers, all of our build."""
        from distributed import Client

        from hindmost.core.fleet.dask.batch import workers

        if self._own:
            self._where = next(iter(self._listening().values()))
        try:
            client = Client(self._where, security=self._security, timeout=CONNECT_S)  # type: ignore[no-untyped-call]
        except (OSError, TimeoutError, ValueError) as error:
            raise self._no_scheduler(error) from None
        running = workers(client)
        if not running:
            raise self._no_workers()
        names = {address: str(worker["name"]) for address, worker in running.items()}
        for address, said in client.run(identity, on_error="return").items():
            refuse_other(names.get(address, address), said)
        return client, len(running)

    async def close(self) -> None:
        """Leave the scheduler, or stop our own."""
        computing = self.__dict__.pop("_computing", None)
        if computing is not None:
            await asyncio.to_thread(computing[0].close)
        if self._client is not None:
            await self._client.close()
        if self._scheduler is not None:
            await self._scheduler.close()

    # --- lines ----------------------------------------------------------------------------------

    async def serve(self, say: Callable[[dict[str, Any]], None]) -> None:
        """Execute the commands on standard input until it ends."""
        reader = asyncio.StreamReader(limit=MOST_BYTES)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        while line := await reader.readline():
            task = asyncio.ensure_future(self._do(json.loads(line), say))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        threading.Timer(CLOSE_S, os._exit, (1,)).start()  # in case closing hangs
        with contextlib.suppress(Exception):
            await self.close()
        os._exit(0)  # do not join threads that wait for hosts

    async def _do(self, message: dict[str, Any], say: Callable[[dict[str, Any]], None]) -> None:
        number, name = message.pop("id"), message.pop("do")
        if name == "compute":
            message |= {"number": number, "say": lambda **more: say({"id": number, **more})}
        try:
            say({"id": number, "ok": await getattr(self, name)(**message)})
        except HindmostError as error:
            say({"id": number, "error": error_document(error)})
        except Exception as error:  # any error of Dask: the controller reports it
            say({"id": number, "failed": f"{type(error).__name__}: {error}"[:1000]})


def _load_certificates(security: Any) -> Any:  # noqa: ANN401 (distributed has few types)
    """Keep the certificates in memory: files cannot be read or written later."""
    from distributed.security import Security

    kinds = ("connection", "listen") if security.require_encryption or security.tls_ca_file else ()
    arguments = {
        (kind, role): getattr(security, f"get_{kind}_args")(role)
        for kind in kinds
        for role in ("client", "scheduler", "worker")
    }

    class InMemorySecurity(Security):
        def get_connection_args(self, role: str) -> Any:  # noqa: ANN401
            return arguments.get(("connection", role)) or super().get_connection_args(role)  # type: ignore[no-untyped-call]

        def get_listen_args(self, role: str) -> Any:  # noqa: ANN401
            return arguments.get(("listen", role)) or super().get_listen_args(role)  # type: ignore[no-untyped-call]

    return InMemorySecurity(require_encryption=bool(security.require_encryption))  # type: ignore[no-untyped-call]


def give_up_rights(folder: str) -> dict[str, Any]:
    """Restrict file access with Landlock and, if root, become another user.

    Parameters
    ----------
    folder : str
        The folder that stays writable.

    Returns
    -------
    dict
        `replies.Rights`.
    """
    package = Path(__file__).parents[3]
    ours = {sys.prefix, sys.base_prefix, *filter(None, sys.path), str(package)}
    readable = [path for path in (*READABLE, *sorted(ours)) if Path(path).exists()]
    confined = _engine.confine(readable, [folder])
    if os.geteuid() == 0 and (own := unused_id()) is not None:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        os.fchown(place, own, own)
        os.close(place)
        os.setgroups([])
        os.setresgid(own, own, own)
        os.setresuid(own, own, own)
    return {"user": os.geteuid(), "confined": confined}


def main() -> int:
    """Read the configuration, give up all privileges, and serve the controller."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the controller handles Ctrl-C
    with open(0, "rb", buffering=0, closefd=False) as pipe:
        line = pipe.readline(MOST_BYTES)
    if not line:
        return 1
    lock = threading.Lock()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # for output of Dask

    def say(message: dict[str, Any]) -> None:
        with lock:
            out.write(json.dumps(message).encode() + b"\n")
            out.flush()

    quiet.configure()
    # Import now what is needed later: another user may not be able to read it.
    import dask
    import distributed  # noqa: F401
    import tornado.platform.asyncio  # noqa: F401

    import hindmost.core.fleet.dask.batch
    import hindmost.core.fleet.dask.host  # noqa: F401

    identity()
    config = json.loads(line)
    dask.config.set({"temporary-directory": config["folder"]})
    broker = Broker(config)
    say({"id": 0, "ok": give_up_rights(config["folder"])})
    asyncio.run(broker.serve(say))
    return 0


if __name__ == "__main__":
    sys.exit(main())
