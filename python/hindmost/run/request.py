"""What may be asked of a measurement: every option with its default, and the plan that follows on this host.

The fields of `MeasureRequest` are the options of ``hindmost measure``: name, type, default and help stand
here alone. The command line makes its options of them; study files, verifications and Python give them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from hindmost.errors import UsageError
from hindmost.laws import KINDS, LEAST_MEASURED_S, USUAL, Replay, law_text, parse_law, replay_of
from hindmost.run import quick
from hindmost.run.connecting import check_capture, endpoints_of, login_of, sources_of, tls_of
from hindmost.run.options import Option, declared

if TYPE_CHECKING:
    from hindmost.fleet.dask.hosts import Hosts
    from hindmost.plan import MeasurePlan
    from hindmost.plan.schedules import Points
    from hindmost.targets import Attached, Managed

DEFAULT_RATE_PER_S = 10_000.0


@dataclass(frozen=True, kw_only=True)
class MeasureRequest:
    """What is asked of ``hindmost measure``, as people write it.

    Examples
    --------
    >>> import hindmost
    >>> asked = hindmost.MeasureRequest(target="synth", rate="20k", runs="3..5")
    >>> plan = asked.plan()
    >>> plan.rate_per_s, plan.runs, plan.duration_s
    (20000.0, (3, 5), 10.0)
    """

    target: Annotated[
        str | None,
        Option(
            "Target",
            None,
            "A running server (memcached://HOST:PORT, redis://HOST:PORT, http://HOST:PORT/PATH), a preset"
            " that is started and restarted (memcached, redis, nginx, apache, synth), or a target file"
            " (TOML).",
        ),
    ] = None
    sharding: Annotated[
        Literal["round-robin", "ketama", "modulo"],
        Option(
            "Target",
            "HOW",
            "Which of several servers (HOST:PORT,HOST:PORT) a request goes to: in turn, or by its key as"
            " libmemcached decides.",
        ),
    ] = "round-robin"
    ca: Annotated[
        Path | None,
        Option(
            "Target", "FILE", "TLS: CAs that may have issued the server's certificate. [default: this host's]"
        ),
    ] = None
    cert: Annotated[Path | None, Option("Target", "FILE", "TLS: our certificate, for servers that ask.")] = (
        None
    )
    key: Annotated[Path | None, Option("Target", "FILE", "TLS: the private key of --cert.")] = None
    sni: Annotated[
        str | None,
        Option("Target", "NAME", "TLS: the name that its certificate must hold. [default: TARGET's host]"),
    ] = None
    insecure: Annotated[bool, Option("Target", None, "TLS: do not verify the server's certificate.")] = False
    resumption: Annotated[
        Literal["on", "off"],
        Option("Target", "HOW", "TLS: whether connections made anew take up earlier sessions."),
    ] = "on"
    user: Annotated[
        str | None, Option("Target", "NAME", "Who logs in: redis, PostgreSQL. [default: as TARGET says]")
    ] = None
    password: Annotated[
        str | None,
        Option("Target", "WHERE", "The password: env:VARIABLE or file:PATH; no document holds it."),
    ] = None
    database: Annotated[
        str | None, Option("Target", "NAME", "Number (redis) or name (PostgreSQL) of the database.")
    ] = None
    server_cpus: Annotated[
        str | None, Option("Target", "CPUS", "Processors of a server that is started here, like 0 or 0-3.")
    ] = None
    rate: Annotated[
        str | None,
        Option("Load", "RATE", "Requests a second of all clients together, like 50k. [default: 10k]"),
    ] = None
    workload: Annotated[
        Path | None,
        Option(
            "Load",
            "FILE",
            "JSON file with mix, sizes and popularity, or a published mix: facebook-etc, facebook-usr or"
            " facebook-var. [default: 90 % get, 200-byte values]",
        ),
    ] = None
    method: Annotated[
        str | None,
        Option("Load", "METHOD", "HTTP method of every request. [default: POST with --body, else GET]"),
    ] = None
    body: Annotated[
        str | None,
        Option(
            "Load",
            "TEXT|@FILE",
            "HTTP body of every request, or message of WebSocket; a text may have fields like {{int:1..1000}}"
            " or {{uuid}}.",
        ),
    ] = None
    header: Annotated[
        tuple[str, ...],
        Option(
            "Load",
            "'NAME: VALUE'",
            "HTTP header of every request, like 'Authorization: Bearer env:TOKEN'; may be repeated.",
        ),
    ] = ()
    requests: Annotated[
        Path | None,
        Option("Load", "FILE", "HTTP requests of a vegeta targets file, an OpenAPI document or a HAR file."),
    ] = None
    descriptors: Annotated[
        Path | None,
        Option(
            "Load",
            "FILE",
            "gRPC: descriptors of the protos (protoc --include_imports --descriptor_set_out), by which"
            " messages written as JSON become bytes.",
        ),
    ] = None
    accept: Annotated[
        str | None,
        Option(
            "Load",
            "CODES",
            "HTTP status codes that are a success, like 2xx,304; 404 and 410 are misses, all others errors."
            " [default: 2xx]",
        ),
    ] = None
    arrivals: Annotated[
        str,
        Option(
            "Load",
            "LAW",
            f"Law of the gaps between requests, with its parameters, like gamma:shape=2: {', '.join(KINDS)}.",
        ),
    ] = USUAL
    schedule: Annotated[
        str | None,
        Option(
            "Load",
            "SHAPE",
            "How the rate changes in each run, about --rate: sine:amplitude=0.5,period=10s, steps:1,3,1,"
            " ramp:1,2, Facebook's var, app or etc, or a CSV file of seconds and rates. [default: constant]",
        ),
    ] = None
    closed: Annotated[
        bool, Option("Load", None, "Closed loop, to see its bias; without --rate as fast as it goes.")
    ] = False
    timeout: Annotated[
        str, Option("Load", "TIME", "A request without reply for so long counts as infinitely late.")
    ] = "2s"
    seed: Annotated[int, Option("Load", "N", "Same seed, same requests.")] = 1
    clients: Annotated[
        int | None,
        Option(
            "Clients",
            "N",
            "Load instances. [default: one for each processor left for clients]",
            least=1,
            most=1024,
        ),
    ] = None
    threads: Annotated[int, Option("Clients", "N", "Worker threads of each instance.", least=1, most=256)] = 1
    connections: Annotated[
        int, Option("Clients", "N", "Connections of all instances together.", least=1, most=100_000)
    ] = 16
    source: Annotated[
        str | None,
        Option(
            "Clients",
            "ADDRESSES",
            "Own addresses to connect from, in turn: each has 28,000 ports towards one server.",
        ),
    ] = None
    client_cpus: Annotated[
        str | None, Option("Clients", "CPUS", "Processors of the clients. [default: all but the server's]")
    ] = None
    fleet: Annotated[
        str | None,
        Option(
            "Clients",
            "HOSTS",
            "Load machines: a TOML file that names hosts (SSH), or the address of a Dask scheduler,"
            " tls://HOST:8786. [default: this one]",
        ),
    ] = None
    pacing: Annotated[
        Literal["auto", "spin", "sleep"],
        Option("Clients", "HOW", "How clients wait; auto spins where each has a processor of its own."),
    ] = "auto"
    io: Annotated[
        Literal["epoll", "io_uring"],
        Option(
            "Clients", "HOW", "How clients ask the kernel; io_uring makes two calls a request (Linux 6.1)."
        ),
    ] = "epoll"
    in_flight: Annotated[
        int | None,
        Option(
            "Clients",
            "N",
            "Requests in flight on a connection at most, pipelined or in streams of their own; what is due"
            " beyond waits at the client, its latency counted from when it was due."
            " [default: as many as come; with --closed: 1]",
            least=1,
            most=4096,
        ),
    ] = None
    requests_per_connection: Annotated[
        int | None,
        Option(
            "Clients",
            "N",
            "Requests that each connection carries, one at a time, before it is closed and the next is made;"
            " the time to connect, with TLS and login, is in latency."
            " [default: as many as the server lets it]",
            least=1,
            most=2**32 - 1,
        ),
    ] = None
    batching: Annotated[
        str,
        Option(
            "Clients",
            "HOW",
            "Requests due on a connection leave each alone (none), by Nagle's algorithm (nagle), or together"
            " within an interval, like 100us; latency counts from when each was due.",
        ),
    ] = "none"
    quick: Annotated[
        bool,
        Option(
            "Procedure",
            None,
            "A first look in some 15 s: 3 short runs, wide intervals, no precision promised.",
        ),
    ] = False
    runs: Annotated[
        str | None,
        Option(
            "Procedure",
            "MIN..MAX",
            "Runs at least and at most, or just 5. [default: 10..30; 5..8 with --find-rate]",
            may_change=True,
        ),
    ] = None
    precision: Annotated[
        str | None,
        Option(
            "Procedure",
            "SHARE",
            "Stop when each percentile's interval is within this share of its value. [default: 5%]",
            may_change=True,
        ),
    ] = None
    remake: Annotated[
        str | None,
        Option(
            "Procedure",
            "SHARE",
            "Set aside runs that the host disturbed, and make so many more again, as a share of those asked"
            " for; 0: all runs count. [default: 50%]",
            may_change=True,
        ),
    ] = None
    duration: Annotated[str, Option("Procedure", "TIME", "Length of the measurement in each run.")] = "10s"
    warmup: Annotated[str, Option("Procedure", "TIME", "Length of the warm-up, or auto: until steady.")] = (
        "auto"
    )
    quantiles: Annotated[str, Option("Procedure", "LIST", "Percentiles to report.")] = "50,95,99,99.9"
    aggregate: Annotated[
        Literal["mean", "median"],
        Option("Procedure", "HOW", "How the percentiles of a run's instances make the run's."),
    ] = "mean"
    over_runs: Annotated[
        Literal["median", "mean"],
        Option(
            "Procedure",
            "HOW",
            "What intervals over runs are about: the median (what a run is like), or their mean.",
        ),
    ] = "median"
    stamps: Annotated[
        str,
        Option(
            "Procedure",
            "EVERY|off",
            "Wire latency by the kernel's stamps of one request in so many, or none.",
        ),
    ] = "16"
    sentinel: Annotated[
        Literal["auto", "off"],
        Option(
            "Procedure",
            "HOW",
            "A thread on the server's processors that sees when others have them, for calm latency; it takes"
            " up to 2 % of them.",
        ),
    ] = "auto"
    verify_wire: Annotated[
        bool,
        Option(
            "Procedure",
            None,
            "Capture packets beside each run (tcpdump) and lay our latencies beside theirs.",
        ),
    ] = False
    trace: Annotated[
        bool,
        Option(
            "Procedure",
            None,
            "Follow the server's requests through the kernel beside each run: stages, and who held them up.",
        ),
    ] = False
    samples: Annotated[
        int,
        Option("Output", "N", "Single requests kept of each run, beside the worst 1000.", most=10_000_000),
    ] = 20_000

    @classmethod
    def of(cls, options: Mapping[str, object]) -> MeasureRequest:
        """Read options by their names, as a file has them."""
        read: dict[str, Any] = {name: OPTIONS[name].read(value) for name, value in options.items()}
        if isinstance(arrivals := read.get("arrivals"), dict) and "kind" in arrivals:
            read["arrivals"] = law_text(arrivals)
        return cls(**read)

    def plan(self) -> MeasurePlan:
        """Everything that was asked for, checked before anything starts, for the processors of this host.

        Raises
        ------
        UsageError
            If something of it cannot be meant, or the engine refuses it.
        """
        from hindmost.fleet import allot
        from hindmost.plan import MeasurePlan, parse_duration, parse_quantiles, parse_rate
        from hindmost.plan.batching import parse_batching
        from hindmost.plan.secrets import conceal
        from hindmost.plan.workload import written_workload
        from hindmost.run.elsewhere import places_of
        from hindmost.targets import parse_target

        for one in OPTIONS.values():
            one.check(getattr(self, one.name))
        if self.quick:
            return quick.asked(self).plan().model_copy(update=quick.PLAN)
        stopping = self.stopping()
        if self.target is None:
            raise UsageError(
                "no target is named", hint="hindmost measure memcached, or hindmost measure --help"
            )
        target = parse_target(self.target)
        workload = conceal(self._workload(target))
        hosts = self._hosts(target)
        places = (
            allot(
                sorted(os.sched_getaffinity(0)),
                clients=self.clients,
                server=self._processors_of(target),
                client_cpus=self._cpus("client_cpus"),
                threads=self.threads,
            )
            if hosts is None
            else places_of(
                hosts,
                clients=self.clients,
                threads=self.threads,
                server=tuple(self._cpus("server_cpus") or ()),
            )
        )
        arrivals = parse_law(self.arrivals)
        if isinstance(arrivals, dict) and "file" in arrivals:
            arrivals["file"] = str(Path(arrivals["file"]).absolute())
        duration_s = parse_duration(self.duration, "duration", LEAST_MEASURED_S)
        schedule, own_rate = self._schedule(duration_s)
        replay = None if self.closed else replay_of(arrivals)
        usual = DEFAULT_RATE_PER_S if replay is None else replay.rate_per_s
        rate = None if self.closed else own_rate or usual
        plan = MeasurePlan(
            # A URL's password is in no plan: its login has a reference.
            target=self.target if target.managed else target.name,
            loop="closed" if self.closed else "open",
            rate_per_s=rate if self.rate is None else parse_rate(self.rate),
            arrivals=arrivals,
            schedule=schedule,
            clients=len(places.clients),
            threads=self.threads,
            connections=max(self.connections, len(places.clients) * self.threads),
            client_cpus=places.clients,
            server_cpus=places.server if target.managed else (),
            pacing=places.pacing if self.pacing == "auto" else self.pacing,
            io=self.io,
            in_flight=self.in_flight,
            requests_per_connection=self.requests_per_connection,
            batching=parse_batching(self.batching),
            duration_s=duration_s,
            warmup="auto" if self.warmup == "auto" else parse_duration(self.warmup, "warm-up"),
            timeout_s=parse_duration(self.timeout, "timeout", 0.001),
            quantiles=parse_quantiles(self.quantiles),
            aggregate=self.aggregate,
            over_runs=self.over_runs,
            seed=self.seed,
            samples=self.samples,
            stamp_every=_stamp_every(self.stamps),
            sentinel=self.sentinel,
            verify_wire=self.verify_wire,
            trace=self.trace,
            workload=workload,
            tls=tls_of(self, target),
            login=login_of(self, target),
            source=sources_of(self.source, target),
            fleet=None if hosts is None else hosts.model_dump(mode="json", exclude_defaults=True),
            endpoints=endpoints_of(self.sharding, target),
            sharding=self.sharding,
            **stopping,
        )
        if replay is not None and plan.rate_per_s is not None:
            replay.refuse_shorter_than(plan.longest_run_s, plan.rate_per_s)
            plan = _ending_with(replay, plan)
        check_capture(plan, target)
        if plan.pacing == "spin" and places.shared:
            raise UsageError(
                f"{plan.clients} clients cannot all spin on {len(set(sum(places.clients, ())))} processor(s)",
                hint="--pacing auto, or fewer --clients",
            )
        # The engine's own checks; what it returns has the workload's defaults filled in.
        written = None if self.workload is None else written_workload(self.workload)
        checked = json.loads(plan.engine_plan(1, 0, target.protocol, "127.0.0.1:1", written))
        return plan.model_copy(
            update={"workload": checked["workload"], "arrivals": checked["load"]["arrivals"]}
        )

    def stopping(self) -> dict[str, Any]:
        """How many runs, how precise, how many again, as far as it was said: what may change later."""
        from hindmost.plan import parse_percent, parse_runs, parse_share

        found: dict[str, Any] = {}
        if self.runs is not None:
            found["runs"] = parse_runs(self.runs)
        if self.precision is not None:
            found["precision"] = parse_percent(self.precision)
        if self.remake is not None:
            found["remake"] = parse_share(self.remake, "--remake")
        return found

    def fixed(self) -> list[str]:
        """Options that were given and that cannot change when a study goes on."""
        return [
            one.flag
            for one in OPTIONS.values()
            if not one.option.may_change and getattr(self, one.name) != one.default
        ]

    def _schedule(self, duration_s: float) -> tuple[Points | None, float | None]:
        from hindmost.plan.schedules import parse_schedule

        if self.schedule is None:
            return None, None
        if self.closed:
            raise UsageError(
                "--schedule does not go with --closed, whose replies decide when requests are due",
                hint="leave out --closed or --schedule",
            )
        return parse_schedule(self.schedule, duration_s)

    def _hosts(self, target: Attached | Managed) -> Hosts | None:
        if self.fleet is None:
            return None
        from hindmost.fleet.dask.hosts import parse_fleet
        from hindmost.run.elsewhere import refuse_unreachable

        if self.client_cpus is not None:
            raise UsageError("--client-cpus is for clients here", hint="cpus in the file of --fleet")
        if self.verify_wire:
            raise UsageError(
                "--verify-wire captures packets here, and clients are elsewhere", hint="leave it out"
            )
        hosts = parse_fleet(self.fleet)
        refuse_unreachable(hosts, target)
        return hosts

    def _workload(self, target: Attached | Managed) -> dict[str, Any]:
        from hindmost.plan import load_workload
        from hindmost.plan.protocols import ENTRIES

        mix = ENTRIES[target.protocol].mix
        given = [one for one in OF_HTTP if getattr(self, one) != OPTIONS[one].default]
        if self.descriptors is not None and target.protocol != "grpc":
            raise UsageError(
                f"--descriptors is about gRPC, and {target.name} speaks {target.protocol}",
                hint="leave out --descriptors, or measure a grpc:// target",
            )
        if given and not mix.paths:
            raise UsageError(
                f"{OPTIONS[given[0]].flag}: requests of {target.protocol} are none of HTTP",
                hint=f"leave out {OPTIONS[given[0]].flag}, or measure an http:// target",
            )
        sources = [
            one for one in ("workload", "requests", "method", "body") if getattr(self, one) is not None
        ]
        if len(set(sources) - {"body"}) > 1 or (len(sources) > 1 and "method" not in sources):
            one, other = (OPTIONS[name].flag for name in sources[:2])
            raise UsageError(
                f"{one} and {other} both say what is asked for", hint=f"leave out {one} or {other}"
            )
        asked = mix.workload(target.path) if self.workload is None else load_workload(self.workload)
        if given:
            asked = self._of_http(asked, target.path) if mix.name == "http" else self._of_messages(asked)
        return self._of_grpc(asked) if target.protocol == "grpc" else asked

    def _of_http(self, asked: dict[str, Any], path: str) -> dict[str, Any]:
        """A workload with what the options for HTTP say."""
        from hindmost.plan import http
        from hindmost.plan.codes import parse_codes

        if self.requests is not None:
            from hindmost.plan.sources import read_requests

            asked = read_requests(self.requests)
        elif self.method is not None or self.body is not None:
            asked = http.one_request(path, self.method, self.body)
        if self.header:
            asked = http.with_headers(asked, http.parse_headers(self.header))
        return asked if self.accept is None else asked | {"accept": parse_codes(self.accept)}

    def _of_messages(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A workload of messages, with what the options say of their text and of the opening."""
        from hindmost.plan import http

        for name in (one for one in OF_HTTP if one not in ("body", "header")):
            if getattr(self, name) != OPTIONS[name].default:
                raise UsageError(
                    f"{OPTIONS[name].flag} is about requests of HTTP, and messages of WebSocket are none",
                    hint=f"leave out {OPTIONS[name].flag}; --body is the message, --header of its opening",
                )
        if self.body is not None:
            asked = asked | {"requests": [{"send": http.read_text(self.body)}]}
        return http.with_headers(asked, http.parse_headers(self.header)) if self.header else asked

    def _of_grpc(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A workload whose requests are calls."""
        from hindmost.plan.grpc import with_calls

        for name in ("method", "accept"):
            if getattr(self, name) is not None:
                raise UsageError(
                    f"--{name} is about HTTP, and calls of gRPC have their own", hint=f"leave out --{name}"
                )
        return with_calls(asked, self.descriptors)

    def _processors_of(self, target: Attached | Managed) -> list[int] | None:
        """Processors of the server, as far as they are asked for or known; empty where it is elsewhere."""
        from hindmost.targets import cpu_affinity, local_owner

        asked = self._cpus("server_cpus")
        if target.managed:
            return list(target.spec.cpus) if asked is None and target.spec.cpus else asked
        if asked is not None:
            raise UsageError("--server-cpus is for servers that Hindmost starts", hint="taskset -cp CPUS PID")
        pid = local_owner(target.address)
        if pid is None:
            return []
        bound = cpu_affinity(pid)
        at_hand = sorted(os.sched_getaffinity(0))
        return bound if set(bound) < set(at_hand) else at_hand[: len(at_hand) // 2]

    def _cpus(self, name: str) -> list[int] | None:
        from hindmost.targets.cpus import parse_cpus

        text = getattr(self, name)
        try:
            return None if text is None else parse_cpus(text)
        except ValueError as error:
            raise UsageError(
                f"--{name.replace('_', '-')} {text!r}: {error}", hint="write it like 0-3,5"
            ) from None


OPTIONS = declared(MeasureRequest)
"""The fields by name."""
OF_HTTP = ("accept", "method", "body", "header", "requests")
"""Those that say something of requests of HTTP."""


def _stamp_every(text: str) -> int:
    """Read ``--stamps``: one request in so many, or ``off``."""
    if text == "off":
        return 0
    if text.isdecimal() and 1 <= int(text) <= 1_000_000:
        return int(text)
    raise UsageError(
        f"--stamps {text!r} is neither off nor a whole number from 1 to 1000000",
        hint="--stamps 16 stamps one request in sixteen; --stamps off none",
    )


def _ending_with(replay: Replay, plan: MeasurePlan) -> MeasurePlan:
    """The plan whose runs end with their trace, where it says that they do."""
    if replay.end == "stop" and plan.schedule is not None:
        raise UsageError(
            "--schedule does not go with end=stop: it changes when a trace is over",
            hint="leave out --schedule, or end=again",
        )
    before_s = None if plan.warmup == "auto" else plan.warmup + plan.calibration_s
    assert plan.rate_per_s is not None
    measured_s = replay.measured_s(plan.duration_s, before_s, plan.rate_per_s)
    if measured_s == plan.duration_s:
        return plan
    return plan.model_copy(update={"duration_s": measured_s, "asked_duration_s": plan.duration_s})
