"""The measure plan: everything that decides what a study does, checked, in one record.

It is stored in the study's manifest, so that a resumed study continues unchanged, and turned into one engine
plan for each client of each run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from hindmost import _engine
from hindmost.core import laws
from hindmost.core.plan.batching import Batching, batching_document
from hindmost.core.plan.login import Login
from hindmost.core.plan.positions import SourceText, locate_refusal
from hindmost.core.plan.secrets import reveal
from hindmost.core.plan.sessions import think_time_s
from hindmost.core.plan.tls import Tls
from hindmost.core.plan.units import label
from hindmost.errors import UsageError
from hindmost.testing import default_of

WARMUP_LEAST_S, WARMUP_MOST_S = 2.0, 15.0
"""``--warmup auto``: MSER-5 needs at least twenty windows of 100 ms. A server that is not steady after 15 s
is reported, and the measurement starts."""

VERIFIED_SAMPLES, VERIFIED_EVERY = 200_000, 4
"""``--verify-wire``: the number of requests of each run that are captured and matched, and how many of them
share one kernel time stamp, so that fifty stamped ones lie beyond p99.9. At higher rates, fewer connections
are captured: a capture costs the kernel time for each packet."""
WITNESSED_MOST = 128
"""Most connections that a capture selects: the kernel compares their ports one by one."""
MEDIAN_LEAST_RUNS = 6
"""Runs whose minimum and maximum enclose their median at 95 % (`stats.smallest_n_for_median`)."""
WAYS_OUT = {"batching": "leave out --batching, or the option that limits connections to one request"}
"""Hints for fields that the engine refuses; for all others, `hindmost measure --help`."""
FLAT_OUT_PER_S = 250_000.0
"""Requests per second that one worker sends at most, without a rate (docs/benchmarks.md)."""

KEPT_AT_MOST = 4
"""Room for sampled requests, as a multiple of the expected number: arrivals may come in bursts."""
Answer = TypeVar("Answer")


class MeasurePlan(BaseModel):
    """The request to ``hindmost measure``, with all defaults filled in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str
    loop: Literal["open", "closed"] = "open"
    rate_per_s: float | None = 10_000.0
    arrivals: laws.LawDocument = Field(
        default=laws.DEFAULT_LAW, description="a law's name, or an object with its kind"
    )
    schedule: tuple[tuple[float, float], ...] | None = Field(
        default=None, description="seconds of the measurement, and the rate there, as a share of the mean"
    )
    clients: int = 1
    threads: int = Field(default=1, description="worker threads of each client")
    connections: int = Field(default=16, description="of all clients together")
    client_cpus: tuple[tuple[int, ...], ...] = ((),)
    server_cpus: tuple[int, ...] = ()
    pacing: Literal["spin", "sleep"] = "spin"
    io: Literal["epoll", "io_uring"] = "epoll"
    in_flight: int | None = Field(
        default=None, ge=1, le=4096, description="requests in flight on a connection at most"
    )
    requests_per_connection: int | None = Field(
        default=None, ge=1, le=2**32 - 1, description="requests on a connection before it is closed"
    )
    batching: Batching = Field(
        default="none",
        description="how scheduled requests are sent together; a number is an interval in seconds",
    )
    quick: bool = Field(default=False, description="a quick look without a promised precision")
    runs: tuple[int, int] = (10, 30)
    precision: float = 0.05
    decide_on: Literal["isolated", "raw"] = Field(
        default="isolated", description="latency that decides the verdict if there was interference"
    )
    remake: float = Field(
        default_factory=lambda: default_of("remake", 0.5),
        ge=0.0,
        description="repeats of excluded runs, as a share of the requested runs",
    )
    duration_s: float = 10.0
    asked_duration_s: float | None = Field(
        default=None, description="requested duration, if runs end earlier with their trace"
    )
    warmup: Literal["auto"] | float = "auto"
    calibration_s: float = Field(default_factory=lambda: default_of("calibration_s", 0.5))
    timeout_s: float = 2.0
    stream: bool = Field(default=False, description="times of the messages of streamed replies")
    quantiles: tuple[float, ...] = (0.5, 0.95, 0.99, 0.999)
    aggregate: Literal["mean", "median"] = "mean"
    over_runs: Literal["median", "mean"] = Field(default="median", description="what intervals are about")
    seed: int = 1
    samples: int = 20_000
    worst: int = 1_000
    stamp_every: int = Field(default=16, ge=0, description="stamp one request in this many; 0: none")
    sentinel: Literal["auto", "off"] = Field(
        default="auto", description="a thread on the server's CPUs that detects interference"
    )
    verify_wire: bool = Field(default=False, description="a packet capture next to each run")
    trace: bool = Field(default=False, description="a trace of the server's stages next to each run")
    live: bool = Field(default=False, description="a line of progress each second, also in the measurement")
    workload: dict[str, Any] = {"kind": "key-value"}
    notes: tuple[dict[str, Any], ...] = Field(
        default=(), description="parts of the request file that the workload leaves out"
    )
    tls: Tls | None = Field(default=None, description="how connections are secured")
    login: Login | None = Field(default=None, description="credentials of the client")
    endpoints: tuple[str, ...] = Field(default=(), description="all servers, if there are several")
    sharding: Literal["round-robin", "ketama", "modulo"] = "round-robin"
    source: tuple[str, ...] = Field(default=(), description="local addresses to connect from")
    fleet: dict[str, Any] | None = Field(default=None, description="load hosts of --fleet; null: this host")

    @property
    def server_host(self) -> str | None:
        """The host of the fleet that runs the server; None: this host."""
        host: str | None = (self.fleet or {}).get("target", {}).get("host")
        return host

    @property
    def connection_lifetime(self) -> int | None:
        """Requests on a connection before it is closed; None: as many as the server permits."""
        return self.requests_per_connection or (1 if self.workload.get("version") == "1.0" else None)

    @property
    def think_s(self) -> float | None:
        """The sum of a session's mean think times, in s; None if requests form no sessions."""
        return think_time_s(self.workload)

    @property
    def _warmup_bounds_s(self) -> tuple[float, float]:
        """Least and greatest length of an automatic warm-up, s.

        The requests of sessions reach their rate only after their think times. If these are exponential, 5 %
        of the requests are still missing after three times the mean.
        """
        least = max(WARMUP_LEAST_S, 3.0 * (self.think_s or 0.0))
        return least, least + WARMUP_MOST_S - WARMUP_LEAST_S

    @property
    def longest_run_s(self) -> float:
        """Longest duration of a run's warm-up, calibration and measurement, in s."""
        warmup_s = self._warmup_bounds_s[1] if self.warmup == "auto" else self.warmup
        return warmup_s + self.calibration_s + self.duration_s

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the requested quantiles."""
        return tuple(label(q) for q in self.quantiles)

    @property
    def middle(self) -> Literal["median", "mean"]:
        """The centre that figures over runs use. Too few runs for an interval of the median use the mean.

        A quick look promises no interval.
        """
        few = self.runs[1] < MEDIAN_LEAST_RUNS and not self.quick
        return "mean" if few else self.over_runs

    def engine_plan(
        self,
        run: int,
        index: int,
        protocol: str,
        address: str,
        workload: tuple[str, SourceText] | None = None,
        *,
        tls: Tls | None = None,
        secrets: bool = False,
    ) -> str:
        """Return one client's plan for one run as checked JSON of the engine.

        The parameters are those of `ask_engine`.
        """
        return self.ask_engine(
            _engine.check_plan, run, index, protocol, address, workload, tls=tls, secrets=secrets
        )

    def ask_engine(
        self,
        question: Callable[[str], Answer],
        run: int,
        index: int,
        protocol: str,
        address: str,
        workload: tuple[str, SourceText] | None = None,
        *,
        tls: Tls | None = None,
        secrets: bool = False,
    ) -> Answer:
        """Ask the engine about one client's plan for one run.

        Parameters
        ----------
        question : callable
            A function of the engine that takes a plan as JSON and checks it.
        run : int
            Number of the run, from 1; decides the seed.
        index : int
            Index of the client.
        workload : pair, optional
            Name and text of the workload file, for messages.
        tls : Tls, optional
            TLS settings of a running server; default: the requested ones.
        secrets : bool
            Resolve credentials, for a client; such a plan is never stored.

        Raises
        ------
        UsageError
            If the engine refuses it; names field and value.
        """
        share, remainder = divmod(self.connections, self.clients)
        connections = max(share + (index < remainder), 1)
        cpus = self.client_cpus[index] if index < len(self.client_cpus) else ()
        threads = [{"cpu": cpus[i % len(cpus)]} if cpus else {} for i in range(self.threads)]
        load: dict[str, Any] = {"loop": self.loop, "arrivals": self.arrivals}
        if self.rate_per_s is not None:
            load["rate_per_s"] = self.rate_per_s
        if self.schedule is not None:
            load["schedule"] = {"points": self.schedule}
        warmup: dict[str, Any] = (
            {"auto": dict(zip(("min_s", "max_s"), self._warmup_bounds_s, strict=True))}
            if self.warmup == "auto"
            else {"fixed": {"seconds": self.warmup}}
        )
        plan = {
            "schema": "hindmost.plan/1",
            "seed": self.run_seed(run),
            "client": {"index": index, "of": self.clients},
            "target": self._target(protocol, address, tls or self.tls, secrets),
            "load": load,
            "connections": connections,
            "threads": threads,
            "stamp_every": VERIFIED_EVERY if self.verify_wire else self.stamp_every,
            "pacing": self.pacing,
            "io": self.io,
            "in_flight": self.in_flight,
            "requests_per_connection": self.requests_per_connection,
            "batching": batching_document(self.batching),
            "workload": reveal(self.workload) if secrets else self.workload,
            "preload": self.workload["kind"] == "key-value" and self.workload.get("preload") is not False,
            "phases": {"warmup": warmup, "calibration_s": self.calibration_s, "measure_s": self.duration_s},
            "timeout_s": self.timeout_s,
            "stream": self.stream,
            "keep": {"samples": -(-self._kept_requests // self.clients), "worst": self.worst},
        }
        if self.verify_wire:
            plan["witnessed"] = self._captured_connections(connections)
        text = ""
        try:
            text = json.dumps(plan, allow_nan=False)
            return question(text)
        except _engine.EngineError as error:
            raise _explain(error, text, workload) from None
        except ValueError as error:
            raise UsageError(
                "bad-value",
                f"the plan has a number that is not finite: {error}",
                hint="correct the file given with --workload",
            ) from None

    def _target(self, protocol: str, address: str, tls: Tls | None, secrets: bool) -> dict[str, Any]:
        target: dict[str, Any] = {"protocol": protocol, "address": address}
        if self.endpoints:
            target |= {
                "address": self.endpoints[0],
                "endpoints": self.endpoints,
                "sharding": self.sharding,
            }
        if tls is not None:
            target["tls"] = tls.engine()
        if self.login is not None:
            target["login"] = self.login.engine(secrets=secrets)
        return target | ({"source": self.source} if self.source else {})

    @property
    def law(self) -> laws.Law:
        """The arrival law at the requested rate."""
        law = laws.law(self.arrivals, self.rate_per_s or 1.0)
        return law if self.schedule is None and self.think_s is None else law.without_properties()

    @property
    def captured_share(self) -> float:
        """The share of all requests, and of connections, that ``--verify-wire`` captures."""
        each = self.connections // self.clients or 1
        return (self._captured_connections(each) or each) / each

    def _captured_connections(self, connections: int) -> int | None:
        """Return how many of a client's connections a packet capture covers; None for all."""
        wanted = max(1, round(connections * VERIFIED_SAMPLES / self._expected_requests))
        most = max(1, WITNESSED_MOST // self.clients)
        return None if wanted >= connections else min(wanted, most)

    @property
    def _kept_requests(self) -> int:
        """Number of sampled requests of each run: the engine reserves memory for them before it begins."""
        wanted = max(self.samples, VERIFIED_SAMPLES) if self.verify_wire else self.samples
        return min(wanted, math.ceil(KEPT_AT_MOST * self._expected_requests))

    @property
    def _expected_requests(self) -> float:
        """Expected requests of a run; an upper bound without a rate."""
        rate = self.rate_per_s or FLAT_OUT_PER_S * self.clients * self.threads
        return rate * self.duration_s

    def run_seed(self, run: int) -> int:
        """Return the seed of run `run` (from 1): one study seed gives the same random streams, run by run."""
        return self.seed + run - 1


def _explain(error: _engine.EngineError, plan: str, workload: tuple[str, SourceText] | None) -> UsageError:
    """Turn the engine's refusal into an error with field, value and line of the workload file."""
    code, message = error.args
    fields = getattr(error, "fields", None) or {}
    if code != "plan":
        return UsageError(code, message, hint="hindmost measure --help", **fields)
    hint = WAYS_OUT.get(fields.get("field", ""), "hindmost measure --help")
    where, written = workload or ("workload", None)
    refusal = locate_refusal(message, plan, where, written, "workload", fields)
    if written is None:
        return UsageError(refusal.code, message, hint=hint, **refusal.fields)
    if "line" in refusal.fields or "path" in refusal.fields:
        hint = "its keys and values: docs/reference/workload.md"
    return UsageError(refusal.code, refusal.text, hint=hint, **refusal.fields)
