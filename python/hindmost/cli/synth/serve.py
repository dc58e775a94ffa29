"""``hindmost synth serve``: a real server that spends its time as a clone document says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, Json, option, switch, whole
from hindmost.cli.synth.load import check_counts
from hindmost.errors import HindmostError, UsageError


def serve(
    clone: Annotated[str, option(TARGET, None, "A document (.toml or .json), or an application's name.")],
    *,
    protocol: Annotated[Literal["memcached", "http"], option(TARGET, None, "What it speaks.")] = "memcached",
    address: Annotated[str, option(TARGET, "HOST:PORT", "Where it listens; port 0 takes a free one.")] = (
        "127.0.0.1:0"
    ),
    threads: Annotated[int | None, whole(TARGET, "Worker threads, instead of the document's.")] = None,
    cpus: Annotated[
        str | None, option(TARGET, "LIST", "Processors of the threads, in turn, like 0-3.")
    ] = None,
    idle: Annotated[
        Literal["block", "spin"], option(TARGET, None, "A thread without a request sleeps, or polls.")
    ] = "block",
    occupy: Annotated[
        Literal["wall", "cpu"], option(TARGET, None, "A service takes so much time, or so much CPU time.")
    ] = "wall",
    seed: Annotated[int, whole(PROCEDURE, "Seed of all random numbers.")] = 1,
    integrated: Annotated[
        bool, switch(LOAD, "Without sockets: requests are made in the process.", "--integrated")
    ] = False,
    rate: Annotated[
        str | None, option(LOAD, "RATE", "With --integrated: requests a second. [default: back to back]")
    ] = None,
    requests: Annotated[int, whole(LOAD, "With --integrated: so many.")] = 100_000,
    log: Annotated[
        Path | None, option(OUTPUT, "FILE", "Write the truth about each request here (CSV).")
    ] = None,
    certificate: Annotated[
        bool, switch(OUTPUT, "Only say how far a spin can be trusted on this host.", "--certificate")
    ] = False,
    json_: Json = False,
) -> int:
    """Serve a clone: a real server that spends its time as the document says.

    It ends with Ctrl-C, and then prints its account: the true service and queueing times, against which what
    a client claims can be checked, and what this host took away. With --json, both are one JSON object.
    """
    from hindmost import _engine
    from hindmost.models import load_clone
    from hindmost.plan.units import parse_rate
    from hindmost.report.serving.terminal import render_account, render_certificate
    from hindmost.targets.cpus import parse_cpus

    check_counts(requests, seed)
    if rate is not None and not integrated:
        raise UsageError(
            "--rate is for --integrated; over sockets, the client has the rate",
            hint=f"hindmost measure 'synth?clone={clone}' --rate {rate}",
        )
    loaded = load_clone(clone)
    if threads is not None:
        loaded = loaded.with_changes(threads=threads)
    try:
        chosen = None if cpus is None else parse_cpus(cpus)
    except ValueError as error:
        raise UsageError(f"--cpus {cpus}: {error}", hint="like 0-3 or 0,2") from None
    config: dict[str, Any] = {
        "address": address,
        "protocol": protocol,
        "clone": loaded.document,
        "cpus": chosen,
        "idle": idle,
        "occupy": occupy,
        "seed": seed,
    }
    if log is not None:
        config |= {"log": str(log), "log_requests": max(requests, 1_000_000) if integrated else 1_000_000}
    outside = loaded.document["outside_us"]
    try:
        faith = json.loads(_engine.certify_spin(chosen))
        if not json_ or not certificate:
            print(render_certificate(faith, loaded.mean_busy_us), end="", file=sys.stderr)
        if outside and not certificate:
            print(
                f"outside_us = {outside:g} is not served: kernel and network take their own time, and without"
                " sockets there is none; simulate adds it",
                file=sys.stderr,
            )
        if certificate:
            if json_:
                print(json.dumps({"schema": "hindmost.certificate/1", **faith}, allow_nan=False))
            return 0
        if integrated:
            arrivals: dict[str, Any] = {"kind": "back_to_back"}
            if rate is not None:
                arrivals = {"kind": "poisson", "rate_per_s": parse_rate(rate)}
            inside = {"arrivals": arrivals, "requests": requests}
            account = json.loads(_engine.serve_inside(json.dumps(config), json.dumps(inside)))
        else:
            where = f"{loaded.name}, {loaded.threads} thread(s), {protocol}"
            account = json.loads(
                _engine.serve_synth(
                    json.dumps(config),
                    lambda at: print(f"{where} at {at}; Ctrl-C ends it", file=sys.stderr, flush=True),
                )
            )
    except _engine.EngineError as error:
        raise _refused(error, address) from None
    if json_:
        head = {"schema": "hindmost.serve/1", "clone": loaded.name, "seed": seed, "outside_us": outside}
        print(json.dumps({**head, "account": account, "certificate": faith}, allow_nan=False))
    else:
        print(render_account(account), end="")
    return 0


def _refused(error: Exception, address: str) -> HindmostError:
    """Say what to do about what the engine refuses."""
    code, message = error.args
    hints = {
        "cannot listen": f"ss -ltnp | grep ':{address.rpartition(':')[2]} ', or --address 127.0.0.1:0",
        "cannot pin": "lscpu --extended shows which processors there are",
        "is above what": "hindmost synth show CLONE tells the capacity; give a lower --rate",
    }
    hint = next((hint for start, hint in hints.items() if start in message), "hindmost synth serve --help")
    return HindmostError(message, hint=hint) if code == "synth" else UsageError(message, hint=hint)
