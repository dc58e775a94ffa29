"""Serving a clone for real: over sockets until interrupted, or within the process without sockets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from hindmost import _engine
from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.refusals import refusal
from hindmost.core.laws import DEFAULT_LAW, LawDocument
from hindmost.core.store.engine import Certificate, ServerSummary
from hindmost.errors import HindmostError, UsageError

LOGGED = 1_000_000
"""Capacity of a log in requests, allocated before the first request."""


@dataclass(frozen=True, slots=True)
class Serving:
    """How a clone is served.

    Attributes
    ----------
    cpus : sequence of int, optional
        Processors of the threads, in turn.
    idle : str
        Whether a thread without a request sleeps (``block``) or polls (``spin``).
    occupy : str
        Whether a service takes time (``wall``) or CPU time (``cpu``).
    log : Path, optional
        File that records the true times of each request.
    """

    clone: Clone
    protocol: Literal["memcached", "http"] = "memcached"
    address: str = "127.0.0.1:0"
    cpus: Sequence[int] | None = None
    idle: Literal["block", "spin"] = "block"
    occupy: Literal["wall", "cpu"] = "wall"
    seed: int = 1
    log: Path | None = None

    def certificate(self) -> Certificate:
        """Measure how accurate spinning is on these processors (``hindmost.certificate/1``)."""
        with self._refusing():
            text = _engine.certify_spin(None if self.cpus is None else list(self.cpus))
        return msgspec.json.decode(text, type=Certificate)

    def over_sockets(self, listening: Callable[[str], None]) -> ServerSummary:
        """Serve until Ctrl-C and return the account.

        Parameters
        ----------
        listening : callable
            Called with the address once the server listens.

        Raises
        ------
        UsageError
            The engine refuses the configuration, for example an address in use.
        """
        with self._refusing():
            text = _engine.serve_synth(self._config(LOGGED), listening)
        return msgspec.json.decode(text, type=ServerSummary)

    def inside(
        self, requests: int, rate_per_s: float | None = None, law: LawDocument = DEFAULT_LAW
    ) -> ServerSummary:
        """Serve requests generated in the process, back to back or at a rate; return the account."""
        arrivals: dict[str, Any] = {"kind": "back_to_back"}
        if rate_per_s is not None:
            arrivals = {"kind": "open", "rate_per_s": rate_per_s, "law": law}
        work = json.dumps({"arrivals": arrivals, "requests": requests})
        with self._refusing():
            text = _engine.serve_inside(self._config(max(requests, LOGGED)), work)
        return msgspec.json.decode(text, type=ServerSummary)

    def _config(self, logged: int) -> str:
        config: dict[str, Any] = {
            "address": self.address,
            "protocol": self.protocol,
            "clone": self.clone.document,
            "cpus": None if self.cpus is None else list(self.cpus),
            "idle": self.idle,
            "occupy": self.occupy,
            "seed": self.seed,
        }
        if self.log is not None:
            config |= {"log": str(self.log), "log_requests": logged}
        return json.dumps(config)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Convert errors of the engine to errors with a hint."""
        try:
            yield
        except _engine.EngineError as error:
            code, message = error.args
            port = self.address.rpartition(":")[2]
            hints = {
                "cannot-listen": f"ss -ltnp | grep ':{port} ', or --address 127.0.0.1:0",
                "pin": "lscpu --extended lists the CPUs",
                "above-capacity": "hindmost clone show CLONE prints the capacity; give a lower --rate",
                "serving-failed": "hindmost clone serve --help",
            }
            if code not in hints:
                code, fields = refusal(message)
                raise UsageError(code, message, hint="hindmost clone serve --help", **fields) from None
            cpus = None if self.cpus is None else list(self.cpus)
            raise HindmostError(code, message, hint=hints[code], address=self.address, cpus=cpus) from None
