"""A network namespace for a replica, in which shapers and receive processing are tried.

::

    host  hmPIDa 198.18.N.1 ===== hmPIDb 198.18.N.2  replica     the pair belongs to the replica (ip-netns(8))
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hindmost.core.interventions.changes import SuspectGone
from hindmost.core.interventions.session import Session
from hindmost.core.knobs import steps
from hindmost.core.knobs.steps import Step
from hindmost.core.targets import TargetSpec
from hindmost.core.targets.users import account
from hindmost.errors import HostUnfit

PORT = 21_800
"""Port in a namespace with no other server."""


@dataclass(frozen=True, slots=True)
class Network:
    """A namespace connected to the host by a pair of interfaces."""

    namespace: str
    here: str
    there: str
    address: str
    gateway: str
    name: str = "the replica's network"
    description: str = "a network namespace with a pair of interfaces"

    @property
    def undo(self) -> list[Step]:
        """Steps that remove the namespace and all processes in it."""
        return [steps.disconnect(self.namespace, self.here)]

    def inside(self, spec: TargetSpec) -> TargetSpec:
        """Return the spec with a command that starts the server inside and changes the user there."""
        user = account(spec)
        become = ["setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"] if user else []
        command = ["ip", "netns", "exec", self.namespace, *become, *spec.command]
        update = {"command": command, "host": self.address, "port": PORT, "user": None, "user_if_root": None}
        return spec.model_copy(update=update)


@contextmanager
def create_network(session: Session) -> Iterator[Network]:
    """Create a network for the replica, journalled first, and remove it at the end.

    Raises
    ------
    HostUnfit
        It cannot be created: no root rights, or no ip(8).
    """
    pid = os.getpid()
    part = pid % 250
    made = Network(
        f"hm{pid}", f"hm{pid % 10**7}a", f"hm{pid % 10**7}b", f"198.18.{part}.2", f"198.18.{part}.1"
    )
    with session.journal(made):
        for words in (
            f"ip netns add {made.namespace}",
            f"ip link add {made.here} type veth peer name {made.there} netns {made.namespace}",
            f"ip address add {made.gateway}/30 dev {made.here}",
            f"ip link set {made.here} up",
            f"ip -n {made.namespace} address add {made.address}/30 dev {made.there}",
            f"ip -n {made.namespace} link set {made.there} up",
            f"ip -n {made.namespace} link set lo up",
        ):
            try:
                done = subprocess.run(shlex.split(words), capture_output=True, text=True, check=False)
            except OSError as error:
                raise HostUnfit(
                    "missing-program",
                    f"cannot run ip: {error.strerror}",
                    hint="apt install iproute2",
                    name="ip",
                ) from None
            if done.returncode:
                raise HostUnfit(
                    "command-failed",
                    f"{words}: {done.stderr.strip()}",
                    hint="run as root",
                    command=words,
                    status=done.returncode,
                )
        yield made


@dataclass(frozen=True)
class NetworkChange:
    """A change of the replica's network by programs; it ends with the network.

    Attributes
    ----------
    on, off
        Programs with their arguments, and the standard input of each.
    """

    name: str
    description: str
    on: tuple[tuple[list[str], str], ...]
    off: tuple[tuple[list[str], str], ...]
    undo: list[Step] = field(default_factory=list)
    _state: list[bool] = field(default_factory=lambda: [False])

    def remove(self) -> None:
        """Add the suspect."""
        self._run(self.on)
        self._state[0] = True

    def give_back(self) -> None:
        """Remove the suspect."""
        if self._state[0]:
            self._run(self.off)
            self._state[0] = False

    def is_gone(self) -> bool:
        """Whether the suspect is present."""
        return self._state[0]

    def _run(self, programs: tuple[tuple[list[str], str], ...]) -> None:
        for words, text in programs:
            done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
            if done.returncode:
                command = shlex.join(words)
                raise SuspectGone("command-failed", f"{command}: {done.stderr.strip()}", command=command)


def shape_link(name: str, where: Network, rate: int, burst: int, limit: int) -> NetworkChange:
    """Build a token bucket of `rate` bytes/s on the replica's outgoing traffic."""
    root = ["dev", where.there, "root"]
    tc = ["tc", "-n", where.namespace, "qdisc"]
    bucket = f"tbf rate {rate * 8}bit burst {max(burst, rate // 250)} limit {limit}"
    return NetworkChange(
        name,
        f"shape the replica's outgoing traffic to {rate * 8 / 1e6:.3g} Mbit/s",
        (([*tc, "add", *root, *bucket.split()], ""),),
        (([*tc, "del", *root], ""),),
    )


def move_receive(name: str, where: Network, mask: str) -> NetworkChange:
    """Build a change that moves receive processing of both ends to the CPUs of `mask` (hexadecimal)."""
    here = f"/sys/class/net/{where.here}/queues/rx-0/rps_cpus"
    there = f"/sys/class/net/{where.there}/queues/rx-0/rps_cpus"

    def write(value: str) -> tuple[tuple[list[str], str], ...]:
        return (["tee", here], value), (["ip", "netns", "exec", where.namespace, "tee", there], value)

    return NetworkChange(name, f"handle the replica's packets on the CPUs {mask}", write(mask), write("0"))


def sent_bytes(device: str, namespace: str | None = None) -> int:
    """Return the bytes that an interface has sent so far."""
    path = f"/sys/class/net/{device}/statistics/tx_bytes"
    if namespace is None:
        return int(Path(path).read_text(encoding="ascii"))
    words = ["ip", "netns", "exec", namespace, "cat", path]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
