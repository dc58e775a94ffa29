"""The measure plan: everything that decides what a study does, checked, in one record.

It is stored in the study's manifest, so that a resumed study goes on as it began, and turned into one
engine plan for each client of each run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from hindmost import _engine, laws
from hindmost.errors import UsageError
from hindmost.plan.batching import Batching, batching_document
from hindmost.plan.login import Login
from hindmost.plan.positions import Written, located
from hindmost.plan.secrets import reveal
from hindmost.plan.tls import Tls
from hindmost.plan.units import label
from hindmost.testing import default_of

WARMUP_LEAST_S, WARMUP_MOST_S = 2.0, 15.0
"""``--warmup auto``: MSER-5 needs twenty windows of 100 ms at least; a server that is not steady after a
quarter of a minute is reported instead of waited for."""

VERIFIED_SAMPLES, VERIFIED_EVERY = 200_000, 4
"""``--verify-wire``: so many requests of each run are captured and matched, of which the kernel stamps one in
so many, so that fifty lie beyond p99.9. Where there are more, fewer connections are captured: what a capture
costs the kernel is paid for each packet."""
WITNESSED_MOST = 128
"""Connections that a capture picks out of all: the kernel compares their ports one by one."""
MEDIAN_LEAST_RUNS = 6
"""Runs whose least and greatest enclose their median at 95 % (`stats.smallest_n_for_median`)."""
WAYS_OUT = {"batching": "leave out --batching, or the option that limits connections to one request"}
"""What to do about a field that the engine refuses; of others, `hindmost measure --help` tells."""
FLAT_OUT_PER_S = 250_000.0
"""Requests a second that one worker sends at most, flat out (docs/benchmarks.md)."""

KEPT_AT_MOST = 4
"""Room for kept requests, as a multiple of those that are expected: arrivals may come in bursts."""
Answer = TypeVar("Answer")


class MeasurePlan(BaseModel):
    """What ``hindmost measure`` was asked to do, all defaults filled in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str
    loop: Literal["open", "closed"] = "open"
    rate_per_s: float | None = 10_000.0
    arrivals: laws.Written = Field(default=laws.USUAL, description="a law's name, or an object with its kind")
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
        default=None, ge=1, le=2**32 - 1, description="requests that a connection carries before it is closed"
    )
    batching: Batching = Field(
        default="none", description="how due requests leave together; a number is an interval in seconds"
    )
    quick: bool = Field(default=False, description="a look of seconds, which promises no precision")
    runs: tuple[int, int] = (10, 30)
    precision: float = 0.05
    decide_on: Literal["isolated", "raw"] = Field(
        default="isolated", description="which latency decides where interference was seen"
    )
    remake: float = Field(
        default_factory=lambda: default_of("remake", 0.5),
        ge=0.0,
        description="runs made again, as a share of those asked for",
    )
    duration_s: float = 10.0
    asked_duration_s: float | None = Field(
        default=None, description="what was asked for, where runs end before, with their trace"
    )
    warmup: Literal["auto"] | float = "auto"
    calibration_s: float = Field(default_factory=lambda: default_of("calibration_s", 0.5))
    timeout_s: float = 2.0
    quantiles: tuple[float, ...] = (0.5, 0.95, 0.99, 0.999)
    aggregate: Literal["mean", "median"] = "mean"
    over_runs: Literal["median", "mean"] = Field(default="median", description="what intervals are about")
    seed: int = 1
    samples: int = 20_000
    worst: int = 1_000
    stamp_every: int = Field(default=16, ge=0, description="one request in so many is stamped; 0: none")
    sentinel: Literal["auto", "off"] = Field(
        default="auto", description="a thread on the server's processors that sees thefts"
    )
    verify_wire: bool = Field(default=False, description="a packet capture next to each run")
    trace: bool = Field(default=False, description="a trace of the server's stages next to each run")
    workload: dict[str, Any] = {"kind": "key-value"}
    notes: tuple[dict[str, Any], ...] = Field(
        default=(), description="what of the file of requests is not in the workload"
    )
    tls: Tls | None = Field(default=None, description="how connections are secured")
    login: Login | None = Field(default=None, description="who the client is, where the server asks")
    endpoints: tuple[str, ...] = Field(default=(), description="all servers, where there are several")
    sharding: Literal["round-robin", "ketama", "modulo"] = "round-robin"
    source: tuple[str, ...] = Field(
        default=(), description="addresses of ours that connections are made from"
    )
    fleet: dict[str, Any] | None = Field(
        default=None, description="load machines, as --fleet says; none: this one"
    )

    @property
    def server_host(self) -> str | None:
        """The host of the fleet on which the server is started, and set; None: this one."""
        host: str | None = (self.fleet or {}).get("target", {}).get("host")
        return host

    @property
    def connection_lifetime(self) -> int | None:
        """Requests on a connection before it is closed; None: as many as the server permits."""
        return self.requests_per_connection or (1 if self.workload.get("version") == "1.0" else None)

    @property
    def longest_run_s(self) -> float:
        """Seconds of warm-up, calibration and measurement of a run, at most."""
        warmup_s = WARMUP_MOST_S if self.warmup == "auto" else self.warmup
        return warmup_s + self.calibration_s + self.duration_s

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the asked quantiles."""
        return tuple(label(q) for q in self.quantiles)

    @property
    def middle(self) -> Literal["median", "mean"]:
        """What figures over runs are about; so few runs that the median has no interval give their mean.

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
        workload: tuple[str, Written] | None = None,
        *,
        tls: Tls | None = None,
        secrets: bool = False,
    ) -> str:
        """One client's plan for one run, as the engine's JSON, checked.

        Parameters as of `ask_engine`.
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
        workload: tuple[str, Written] | None = None,
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
            Counted from 1; decides the seed.
        index : int
            Which instance.
        workload : pair, optional
            What its workload was read from, with its name, for messages.
        tls : Tls, optional
            That of a server that runs; default: as it was asked for.
        secrets : bool
            Look up what it needs to log in, for a client; such a plan is never stored.

        Raises
        ------
        UsageError
            If the engine refuses it; names field and value.
        """
        share, rest = divmod(self.connections, self.clients)
        connections = max(share + (index < rest), 1)
        cpus = self.client_cpus[index] if index < len(self.client_cpus) else ()
        threads = [{"cpu": cpus[i % len(cpus)]} if cpus else {} for i in range(self.threads)]
        load: dict[str, Any] = {"loop": self.loop, "arrivals": self.arrivals}
        if self.rate_per_s is not None:
            load["rate_per_s"] = self.rate_per_s
        if self.schedule is not None:
            load["schedule"] = {"points": self.schedule}
        warmup: dict[str, Any] = (
            {"auto": {"min_s": WARMUP_LEAST_S, "max_s": WARMUP_MOST_S}}
            if self.warmup == "auto"
            else {"fixed": {"seconds": self.warmup}}
        )
        plan = {
            "schema": "hindmost.plan/1",
            "seed": self.run_seed(run),
            "instance": {"index": index, "of": self.clients},
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
            "keep": {"samples": -(-self._kept // self.clients), "worst": self.worst},
        }
        if self.verify_wire:
            plan["witnessed"] = self._witnessed(connections)
        text = ""
        try:
            text = json.dumps(plan, allow_nan=False)
            return question(text)
        except _engine.EngineError as error:
            raise _refused(error, text, workload) from None
        except ValueError as error:
            raise UsageError(
                "bad-value",
                f"the plan holds a number that is not finite: {error}",
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
        """What the law of arrivals says of itself at the rate asked for."""
        found = laws.law(self.arrivals, self.rate_per_s or 1.0)
        return found if self.schedule is None else found.scheduled()

    @property
    def captured_share(self) -> float:
        """The share of all requests that ``--verify-wire`` captures: that of the witnessed connections."""
        each = self.connections // self.clients or 1
        return (self._witnessed(each) or each) / each

    def _witnessed(self, connections: int) -> int | None:
        """Of a client's connections, those whose requests a packet capture sees; None for all."""
        wanted = max(1, round(connections * VERIFIED_SAMPLES / self._expected))
        most = max(1, WITNESSED_MOST // self.clients)
        return None if wanted >= connections else min(wanted, most)

    @property
    def _kept(self) -> int:
        """Single requests kept of each run: the engine reserves memory for them before it begins."""
        wanted = max(self.samples, VERIFIED_SAMPLES) if self.verify_wire else self.samples
        return min(wanted, math.ceil(KEPT_AT_MOST * self._expected))

    @property
    def _expected(self) -> float:
        """Requests of a run; at most, where it is flat out."""
        rate = self.rate_per_s or FLAT_OUT_PER_S * self.clients * self.threads
        return rate * self.duration_s

    def run_seed(self, run: int) -> int:
        """Seed of run `run` (from 1): the same study seed gives the same streams, run by run."""
        return self.seed + run - 1


def _refused(error: _engine.EngineError, plan: str, workload: tuple[str, Written] | None) -> UsageError:
    """Why the engine refuses a plan: by field and value, and by line of the workload file."""
    code, message = error.args
    fields = getattr(error, "fields", None) or {}
    if code != "plan":
        return UsageError(code, message, hint="hindmost measure --help", **fields)
    hint = WAYS_OUT.get(fields.get("field", ""), "hindmost measure --help")
    where, written = workload or ("workload", None)
    refusal = located(message, plan, where, written, "workload", fields)
    if written is None:
        return UsageError(refusal.code, message, hint=hint, **refusal.fields)
    if "line" in refusal.fields or "path" in refusal.fields:
        hint = "its keys and values: docs/reference/workload.md"
    return UsageError(refusal.code, refusal.text, hint=hint, **refusal.fields)
