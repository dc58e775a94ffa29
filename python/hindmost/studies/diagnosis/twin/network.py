"""A network of a twin's own: shapers and receive processing are tried there, not on the host's interfaces.

::

    host  hmPIDa 198.18.N.1 ===== hmPIDb 198.18.N.2  twin     both ends are the twin's (ip-netns(8))
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hindmost.errors import HostUnfit
from hindmost.interventions.changes import SuspectGone
from hindmost.interventions.session import Session
from hindmost.knobs import steps
from hindmost.knobs.steps import Step
from hindmost.targets import TargetSpec
from hindmost.targets.users import account

PORT = 21_800
"""In a network with nobody else in it."""


@dataclass(frozen=True, slots=True)
class Network:
    """A namespace joined to the host by a pair of interfaces."""

    namespace: str
    here: str
    there: str
    address: str
    gateway: str
    name: str = "the twin's network"
    about: str = "a network namespace with a pair of interfaces"

    @property
    def undo(self) -> list[Step]:
        """It goes, with all processes in it."""
        return [steps.disconnect(self.namespace, self.here)]

    def inside(self, spec: TargetSpec) -> TargetSpec:
        """What starts a server in it; who it runs as is changed inside."""
        who = account(spec)
        become = ["setpriv", f"--reuid={who.uid}", f"--regid={who.gid}", "--clear-groups"] if who else []
        command = ["ip", "netns", "exec", self.namespace, *become, *spec.command]
        update = {"command": command, "host": self.address, "port": PORT, "user": None, "user_if_root": None}
        return spec.model_copy(update=update)


@contextmanager
def network(session: Session) -> Iterator[Network]:
    """Make one, journalled first, and take it away at the end.

    Raises
    ------
    HostUnfit
        It cannot be made: no root, or no ip(8).
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
class Inside:
    """A change of the twin's network by programs, on and off; it ends with the network.

    Attributes
    ----------
    on, off
        Programs with their arguments, and what each reads.
    """

    name: str
    about: str
    on: tuple[tuple[list[str], str], ...]
    off: tuple[tuple[list[str], str], ...]
    undo: list[Step] = field(default_factory=list)
    _state: list[bool] = field(default_factory=lambda: [False])

    def remove(self) -> None:
        """Bring the suspect there."""
        self._run(self.on)
        self._state[0] = True

    def give_back(self) -> None:
        """Take it away."""
        if self._state[0]:
            self._run(self.off)
            self._state[0] = False

    def is_gone(self) -> bool:
        """Whether it is there."""
        return self._state[0]

    def _run(self, programs: tuple[tuple[list[str], str], ...]) -> None:
        for words, given in programs:
            done = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
            if done.returncode:
                command = shlex.join(words)
                raise SuspectGone("command-failed", f"{command}: {done.stderr.strip()}", command=command)


def shaped(name: str, where: Network, rate: int, burst: int, limit: int) -> Inside:
    """A token bucket of `rate` bytes a second on what the twin sends."""
    root = ["dev", where.there, "root"]
    tc = ["tc", "-n", where.namespace, "qdisc"]
    bucket = f"tbf rate {rate * 8}bit burst {max(burst, rate // 250)} limit {limit}"
    return Inside(
        name,
        f"shape what the twin sends to {rate * 8 / 1e6:.3g} Mbit/s",
        (([*tc, "add", *root, *bucket.split()], ""),),
        (([*tc, "del", *root], ""),),
    )


def received(name: str, where: Network, mask: str) -> Inside:
    """Receive processing of both ends on the processors of `mask` (hexadecimal)."""
    here = f"/sys/class/net/{where.here}/queues/rx-0/rps_cpus"
    there = f"/sys/class/net/{where.there}/queues/rx-0/rps_cpus"

    def written(value: str) -> tuple[tuple[list[str], str], ...]:
        return (["tee", here], value), (["ip", "netns", "exec", where.namespace, "tee", there], value)

    return Inside(name, f"handle the twin's packets on the processors {mask}", written(mask), written("0"))


def sent_bytes(device: str, namespace: str | None = None) -> int:
    """What an interface has sent so far."""
    path = f"/sys/class/net/{device}/statistics/tx_bytes"
    if namespace is None:
        return int(Path(path).read_text(encoding="ascii"))
    words = ["ip", "netns", "exec", namespace, "cat", path]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
