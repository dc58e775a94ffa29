"""Instances on this machine: started together, warm together, measuring together, ended together.

::

    we         start ─────────────── go ──────────────────── measure ──────────────── collect
    instance         connect, load ▸ ready   warm up ▸ warm          calibrate, measure ▸ done

No instance measures before all are warm, and all measure over the same time of one clock.
"""

from __future__ import annotations

import json
import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hindmost import _engine
from hindmost.errors import InstanceError
from hindmost.fleet.instance import Instance
from hindmost.plan.protocols import PROTOCOLS

AHEAD_NS = 100_000_000
"""Orders name a moment this far ahead, so that every instance has heard them in time (it listens ten
times a second, and at once when something comes)."""
PREPARE_S = 120.0
"""Longest time for connecting and storing the keys."""

_AWAITED = {"start": "ready", "warm-up": "warm", "measure": "done", "collect": "ended"}
"""The word that ends each phase, once every instance has said it."""

_HINTS = {
    "connect": "is the server running and reachable from here? try: hindmost doctor",
    "full": "does the server take so many? (memcached -c, redis maxclients, nginx worker_connections, its"
    " open files, its listen queue: sysctl net.core.somaxconn); or fewer --connections",
    "open_files": "sudo prlimit --pid $$ --nofile=65536, then again; or fewer --connections",
    "ports": "ss -s shows who has them (a closed connection keeps its port for a minute);"
    " sudo sysctl -w net.ipv4.ip_local_port_range='1024 65535'",
    "server_gone": "see server.log in the study's folder, and the server's own log",
    "garbage": "is this port the protocol that TARGET names? "
    + " or ".join(", ".join(f"{name}://" for name in PROTOCOLS).rsplit(", ", 1)),
    "closing": "let the server keep connections open (nginx: keepalive_requests, worker_connections)",
    "preload": "does the server have room for all keys (else fewer keys or smaller values in --workload),"
    " and is it the protocol that TARGET names?",
    "no_uring": "--io epoll; who forbids it: sysctl kernel.io_uring_disabled, a container's seccomp profile",
    "pin": "hindmost doctor lists the CPUs that this process may use; see --client-cpus",
    "write": "df -h and ls -ld on the study's folder",
    "panicked": "this is a bug of Hindmost: please report it with the study's manifest.json",
}


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a run stands: its phase, seconds since its load began, requests answered so far."""

    phase: Literal["start", "warm-up", "measure", "collect"]
    elapsed_s: float
    replies: int


class LocalFleet:
    """Runs instances on this machine.

    Parameters
    ----------
    cpus : sequence of sequence of int
        Processors of each instance.
    """

    def __init__(self, cpus: Sequence[Sequence[int]]) -> None:
        self.cpus = cpus

    def run(
        self,
        plans: Sequence[str],
        place: Path,
        phases_s: tuple[float, float],
        watch: Callable[[Moment], None] = lambda _: None,
        before_measuring: Callable[[Sequence[int]], None] = lambda _: None,
    ) -> list[dict[str, Any]]:
        """Run one instance a plan, to the end.

        Parameters
        ----------
        plans : sequence of str
            Engine plans.
        place : Path
            Folder for the instances' files.
        phases_s : (float, float)
            Seconds from the order to measure until the load ends, and the patience beyond that.
        watch : callable, optional
            Told where the run stands: about once a second until the measurement begins, then once, and
            once more when it is over. In between nothing here wakes up: it could disturb a client.
        before_measuring : callable, optional
            Called when all are warm, before the measurement is ordered; the load goes on meanwhile. Given the
            ports of the connections that the plans want witnessed (`MeasurePlan.witnessed`).

        Returns
        -------
        list of dict
            The instances' results (``hindmost.instance/1``).

        Raises
        ------
        InstanceError
            If one failed; then all are stopped.
        """
        with _started(plans, place, self.cpus) as instances, selectors.DefaultSelector() as selector:
            for one in instances:
                selector.register(one, selectors.EVENT_READ)
            self._follow(instances, selector, phases_s, watch, before_measuring)
            results = [_result(one, place) for one in instances]
        for index in range(len(plans)):
            (place / f"plan-{index}.json").unlink(missing_ok=True)
            (place / f"instance-{index}.err").unlink(missing_ok=True)
        return results

    def _follow(
        self,
        instances: Sequence[Instance],
        selector: selectors.BaseSelector,
        phases_s: tuple[float, float],
        watch: Callable[[Moment], None],
        before_measuring: Callable[[Sequence[int]], None],
    ) -> None:
        said: dict[str, set[int]] = {name: set() for name in ("ready", "warm", "done", "ended")}
        replies: dict[int, int] = {}
        ports: list[int] = []
        phase: Literal["start", "warm-up", "measure", "collect"] = "start"
        begun = time.monotonic()
        deadline = begun + PREPARE_S
        everyone = len(instances)
        while len(said["ended"]) < everyone:
            if time.monotonic() > deadline:
                late = sorted({one.index for one in instances} - said[_AWAITED[phase]])
                raise InstanceError(
                    f"instance {late[0]} is stuck in phase `{phase}` after {time.monotonic() - begun:.0f} s",
                    hint="hindmost doctor shows whether this host is overloaded",
                )
            for key, _ in selector.select(timeout=max(0.0, deadline - time.monotonic())):
                one: Instance = key.fileobj  # type: ignore[assignment]
                for event in one.hear():
                    name = event["event"]
                    said.setdefault(name, set()).add(one.index)
                    ports += event.get("ports", ())
                    replies[one.index] = event.get("replies", replies.get(one.index, 0))
                    if name == "ended":
                        selector.unregister(one)
                        if one.failure or one.exit_status() != 0:
                            raise _failure(one)
            if phase == "start" and len(said["ready"]) == everyone:
                phase, begun = "warm-up", time.monotonic()
                deadline = begun + 86_400.0  # the warm-up has its own bound, in the plan
                _order(instances, "go", "start_ns")
            elif phase == "warm-up" and len(said["warm"]) == everyone:
                before_measuring(ports)
                phase = "measure"
                deadline = time.monotonic() + phases_s[0] + phases_s[1]
                # First, as whoever looks now may run on a client's processor.
                watch(Moment(phase, time.monotonic() - begun, sum(replies.values())))
                _order(instances, "measure", "from_ns")
                continue
            elif phase == "measure" and len(said["done"]) == everyone:
                phase = "collect"
            watch(Moment(phase, time.monotonic() - begun, sum(replies.values())))


def _order(instances: Sequence[Instance], command: str, moment: str) -> None:
    at = _engine.monotonic_ns() + AHEAD_NS
    for one in instances:
        one.tell({command: {moment: at}})


@contextmanager
def _started(plans: Sequence[str], place: Path, cpus: Sequence[Sequence[int]]) -> Iterator[list[Instance]]:
    instances: list[Instance] = []
    try:
        for index, plan in enumerate(plans):
            instances.append(Instance(index, plan, place, cpus[index] if index < len(cpus) else ()))
        yield instances
    finally:
        for one in instances:
            one.stop()


def _failure(one: Instance) -> InstanceError:
    if one.failure:
        code, message = one.failure
        error = InstanceError(message, hint=_HINTS.get(code, "hindmost doctor shows this host's limits"))
        error.code = code
        return error
    words = one.last_words()
    status = one.exit_status()
    how = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
    return InstanceError(
        f"load instance {one.index} (pid {one.pid}) {how}" + (f":\n{words}" if words else ""),
        hint="who ended it? if memory was short: dmesg | tail" if status < 0 else _HINTS["panicked"],
    )


def _result(one: Instance, place: Path) -> dict[str, Any]:
    path = place / f"instance-{one.index}.json"
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InstanceError(
            f"the result of instance {one.index} cannot be read: {error}", hint=_HINTS["write"]
        ) from None
    return result
