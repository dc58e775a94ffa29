"""Requests to the watch daemon, and what it asks its caller; the engine has its loop."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.commands.watch.application import Application
from hindmost.commands.watch.latency import LatencySource
from hindmost.commands.watch.response import Responder, Response
from hindmost.errors import HindmostError, TargetError

SLOWDOWN_BLOCK_MS = 30_000
"""Length of the blocks in which the daemon looks for a slowdown: those of `judge_ring`."""


@dataclass(frozen=True, slots=True)
class Service:
    """One application to watch.

    Attributes
    ----------
    name : str
        Its name on the page and in metrics.
    ring : Path or None
        File for the samples; None keeps no samples.
    ring_bytes : int
        Size of the ring file, bytes.
    response : Response or None
        What to do when latency becomes slow.
    """

    name: str
    application: Application
    ring: Path | None = None
    ring_bytes: int = 16 << 20
    latency: LatencySource | None = None
    response: Response | None = None

    def document(self, *, awaited: bool = False) -> dict[str, Any]:
        """Return the service as the engine reads it. An awaited one is found by the engine's `successor`."""
        application = self.application
        return {
            "name": self.name,
            "pid": None if awaited else application.pid,
            "cgroup": application.cgroup,
            "wait": None if awaited else application.wait,
            "ring": None if self.ring is None else str(self.ring),
            "ring_bytes": self.ring_bytes,
            "latency": None if self.latency is None else self.latency.document,
            "slowdown_block_ms": None if self.response is None else SLOWDOWN_BLOCK_MS,
        }


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What to watch, and how.

    Attributes
    ----------
    ring : Path or None
        File for the samples; None keeps no samples.
    ring_bytes : int
        Size of the ring file, bytes.
    period_s : float
        Time between samples, s.
    budget : float
        Fraction of one CPU that the collectors may use.
    port : int or None
        Loopback port for the page and Prometheus; 0 takes a free port.
    samples : int or None
        Number of samples to take; None watches until it is stopped.
    response : Response or None
        What to do when latency becomes slow.
    """

    application: Application
    ring: Path | None
    ring_bytes: int = 16 << 20
    period_s: float = 1.0
    budget: float = 0.0005
    latency: LatencySource | None = None
    port: int | None = None
    samples: int | None = None
    response: Response | None = None

    @property
    def service(self) -> Service:
        """The application as a service."""
        application = self.application
        return Service(application.name, application, self.ring, self.ring_bytes, self.latency, self.response)


@dataclass(frozen=True, slots=True)
class FolderRequest:
    """A folder of services to watch, and how.

    Attributes
    ----------
    read_services : callable
        Returns the services that the folder describes now.
    port : int
        Loopback port for the page and Prometheus; 0 takes a free port.
    """

    folder: Path
    read_services: Callable[[], Iterable[Service]]
    period_s: float = 1.0
    budget: float = 0.0005
    port: int = 0
    samples: int | None = None


class Callbacks:
    """Answers what the engine asks during a watch.

    Parameters
    ----------
    services : iterable of Service
        The services at the start.
    responder : Responder
        Starts diagnoses.
    on_ready : callable
        Called with the page's address (None without a page) before the first sample.
    on_failure : callable
        Called with the name of a service that cannot be watched, and the reason.
    read_services : callable
        Returns the services of the folder.
    """

    def __init__(
        self,
        services: Iterable[Service],
        responder: Responder,
        on_ready: Callable[[str | None], None],
        on_failure: Callable[[str, str], None] = lambda *_: None,
        read_services: Callable[[], Iterable[Service]] = tuple,
    ) -> None:
        self._services = {service.name: service for service in services}
        self._responder = responder
        self._on_ready = on_ready
        self._on_failure = on_failure
        self._read_services = read_services

    def ready(self, address: str | None) -> None:
        """Take note of the page's address."""
        self._on_ready(address)

    def successor(self, service: str) -> int | None:
        """Find the process of a service that is not running, as far as the engine knows."""
        identity = self._services[service].application.identity
        return None if identity is None else identity.find()

    def services(self) -> str:
        """Return the services to watch now, as JSON text."""
        self._services = {service.name: service for service in self._read_services()}
        return json.dumps([service.document(awaited=True) for service in self._services.values()])

    def slowed(self, service: str) -> None:
        """Respond to a latency that seems to have become slow."""
        self._responder.respond(self._services[service])

    def failed(self, service: str, code: str, message: str) -> None:
        """Report a service that cannot be watched."""
        self._on_failure(service, f"{REFUSALS.get(code, (code, None))[0]}: {message}")


def watch(request: WatchRequest, on_ready: Callable[[str | None], None] = lambda _: None) -> dict[str, Any]:
    """Watch until SIGINT or SIGTERM, or until the application ends.

    The watch continues with the application's successor after a restart, if it can tell which process that
    is. See `Application.wait`.

    Parameters
    ----------
    on_ready : callable
        Called with the page's address (None without a page) before the first sample.

    Returns
    -------
    dict
        ``samples``, ``ring_bytes``, ``cpu_us``, the reason it ``ended``, and the cost
        of each of its ``collectors``.

    Raises
    ------
    TargetError
        There is nothing to watch, or the latency source does not answer.
    HindmostError
        The ring cannot be created or written, or another watch writes it.
    """
    service = request.service
    document = {"services": [service.document()], "folder": None, **_common(request)}
    inbox = _engine.WatchInbox()
    with Responder(inbox) as responder:
        callbacks = Callbacks([service], responder, on_ready)
        return _run(
            document,
            callbacks,
            inbox,
            pid=request.application.pid,
            path=None if request.ring is None else str(request.ring),
        )


def watch_folder(
    request: FolderRequest,
    on_ready: Callable[[str | None], None] = lambda _: None,
    on_failure: Callable[[str, str], None] = lambda *_: None,
) -> dict[str, Any]:
    """Watch all services of a folder until SIGINT or SIGTERM. Changes of the folder take effect at once.

    Parameters
    ----------
    on_ready : callable
        Called with the page's address before the first sample.
    on_failure : callable
        Called with the name of a service that cannot be watched, and the reason.

    Returns
    -------
    dict
        As of `watch`.

    Raises
    ------
    HindmostError
        The folder does not exist, or the page cannot be served.
    """
    document = {"services": [], "folder": str(request.folder), **_common(request)}
    inbox = _engine.WatchInbox()
    with Responder(inbox) as responder:
        callbacks = Callbacks((), responder, on_ready, on_failure, request.read_services)
        return _run(document, callbacks, inbox, path=str(request.folder))


def _common(request: WatchRequest | FolderRequest) -> dict[str, Any]:
    return {
        "period_ms": round(request.period_s * 1000),
        "budget_us": round(request.budget * 1e6),
        "serve": request.port,
        "samples": request.samples,
    }


def _run(
    document: dict[str, Any],
    callbacks: Callbacks,
    inbox: _engine.WatchInbox,
    **fields: Any,  # noqa: ANN401 (as of HindmostError)
) -> dict[str, Any]:
    try:
        summary: dict[str, Any] = json.loads(_engine.watch(json.dumps(document), callbacks, inbox))
    except _engine.EngineError as error:
        raise translate_error(error, **fields) from None
    return summary


REFUSALS: dict[str, tuple[str, str | None]] = {
    "gone": ("no-such-process", None),
    "held": ("ring-in-use", "name another file: --ring FILE"),
    "ring": ("unwritable-file", "check free space (df -h), or name another file: --ring FILE"),
    "no-ring": ("bad-file", "hindmost watch show FILE.ring"),
    "latency": (
        "no-latency-source",
        "--probe 0 watches without a probe; --log FILE follows an access log",
    ),
    "folder": ("unreadable-file", "hindmost watch add NAME APPLICATION creates the folder"),
    "serve": ("cannot-listen", "--port 0 takes a free port"),
    "config": ("bad-value", None),
}
"""Code and hint for each error of the engine's watch, by the engine's own code."""


def translate_error(error: _engine.EngineError, **fields: Any) -> HindmostError:  # noqa: ANN401
    """Turn an error of the engine into an exception with a code, a hint, and these fields."""
    engine_code, message = error.args
    code, hint = REFUSALS.get(engine_code, (engine_code, None))
    kind = TargetError if engine_code in ("gone", "latency") else HindmostError
    return kind(code, message, hint=hint, **fields)
