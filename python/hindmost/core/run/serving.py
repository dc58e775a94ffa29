"""The server of one run: found if it runs already, started and stopped if it is managed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.core.fleet import HERE, Fleet, RemoteServer, Setting
from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.codes import accepted_at_first
from hindmost.core.plan.first import first_request
from hindmost.core.plan.tls import Tls
from hindmost.core.targets import Attached, Managed, ManagedServer, cpu_affinity, greet, local_owner
from hindmost.errors import ClientError, TargetError, UsageError

GONE = ("server-gone", "connect")
"""Codes of a client whose server stopped answering."""
ServerContext = Callable[[ManagedServer], AbstractContextManager[None]]
"""Returns the context in force while a server started here runs, from before the load until after it."""


def no_context(_: ManagedServer) -> AbstractContextManager[None]:
    """Return a context that changes nothing."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Server:
    """Address, TLS and process of a server; ``document``: what ``run.json`` says about it."""

    address: str
    pid: int | None
    document: dict[str, Any]
    managed: ManagedServer | None
    tls: Tls | None = None

    def explain_failure(self, error: ClientError, number: int) -> ClientError | TargetError:
        """Return a client's failure in run `number`, with what is known about the server."""
        managed = self.managed
        fields = {**error.fields, "run": number}
        alone = ClientError(error.code, f"run {number}: {error.message}", hint=error.hint, **fields)
        alone.shows = "silent" if error.code in GONE else None
        if managed is None or error.code not in (*GONE, "full", "preload"):
            return alone
        report = None
        for _ in range(20):  # connections may end shortly before the exit can be seen
            report = managed.exit_report()
            if report is not None:
                break
            time.sleep(0.05)
        if report is None:
            return alone
        log = f"\nits last words:\n  {report.log.strip()[-1000:]}" if report.log.strip() else ""
        died = TargetError(
            "server-died",
            f"run {number}: {self.document['name']} {report.describe()} in mid-run ({error.message}){log}",
            hint="start it by hand to see why; finished runs are kept",
            run=number,
            name=self.document["name"],
            client_error=error.code,
        )
        died.shows = "silent"
        return died


@contextmanager
def serving(
    target: Attached | Managed,
    plan: MeasurePlan,
    folder: Path,
    context: ServerContext = no_context,
    fleet: Fleet = HERE,
    settings: Sequence[Setting] = (),
) -> Iterator[Server]:
    """Provide a server that answers.

    Raises
    ------
    TargetError
        If it cannot be started or reached.
    """
    if isinstance(target, Attached):
        yield _greet_attached(target, plan)
        return
    if fleet.serves:
        if plan.tls is not None:
            raise UsageError(
                "unsupported",
                "Hindmost cannot start a server with TLS on another host",
                hint="start it there with its certificate, and name it as TARGET; leave out [target]",
                option="tls",
            )
        if plan.login not in (None, target.spec.login):
            raise UsageError(
                "unsupported",
                "a server that Hindmost starts on another host accepts only the login of its target file",
                hint="start it there, and name it as TARGET; or leave out --user, --password and --database",
                option="login",
            )
        with fleet.serve(plan.target, plan.server_cpus, settings) as remote:
            document = _document(target, remote) | {"host": remote.host}
            yield Server(remote.address, None, document, None, None)
        return
    overrides = {name: value for name in ("tls", "login") if (value := getattr(plan, name)) is not None}
    spec = target.spec.model_copy(update=overrides)
    starting = ManagedServer(spec, cpus=plan.server_cpus, log=folder / "server.log")
    with starting as server, context(server):
        yield Server(server.address, server.pid, _document(target, server), server, server.tls)


def _document(target: Managed, server: ManagedServer | RemoteServer) -> dict[str, Any]:
    return {
        "name": target.name,
        "protocol": target.protocol,
        "address": server.address,
        "managed": True,
        "command": list(server.command),
        "cpus": list(server.cpus),
        "server_version": server.server_version,
    }


def _greet_attached(target: Attached, plan: MeasurePlan) -> Server:
    accept = accepted_at_first(plan.workload)
    address, version = greet(
        target,
        accept=accept,
        tls=plan.tls,
        first=first_request(plan, target.protocol, target.address),
        login=plan.login,
    )
    pid = local_owner(address)
    document = {
        "name": target.name,
        "protocol": target.protocol,
        "address": address,
        "managed": False,
        "command": None,
        "cpus": list(cpu_affinity(pid)) if pid is not None else None,
        "server_version": version,
    }
    return Server(address, pid, document, None, plan.tls)
