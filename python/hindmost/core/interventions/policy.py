"""The policy: what a diagnosis may change, and when a watch may start one."""

from __future__ import annotations

import socket
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hindmost.core.documents import read_toml
from hindmost.core.notes import Note
from hindmost.errors import UsageError

Touch = Literal[
    "pause",
    "idle",
    "confine",
    "limit",
    "spread",
    "quota",
    "receive",
    "link",
    "clients",
    "frequency",
    "numa",
    "interrupts",
    "memory",
    "io",
    "compaction",
    "buffers",
    "clock",
]
TOUCHES: tuple[Touch, ...] = get_args(Touch)
ASKED_FOR: tuple[Touch, ...] = ("interrupts", "clock")
"""Changes that a policy must name explicitly: interrupts of a network card carry everyone's traffic, and
all programs read the clock."""
NEVER = ("systemd*", "init", "sshd*", "dbus*", "kubelet", "containerd*", "dockerd", "bash", "sh", "tmux*")
"""Names that are never paused or moved, whatever the policy says: operators need them to repair the host."""


class Policy(BaseModel):
    """A policy file (TOML).

    Attributes
    ----------
    may : list of str
        Permitted changes, from `TOUCHES`: pause a neighbour; run it at idle priority; confine it to other
        CPUs; limit it to a tenth of a CPU by its cgroup's quota; spread the application's threads; lift its
        quota; handle received packets on the CPUs where they arrive; widen a shaped link; pause clients of
        the application on this host; lift a frequency cap or allow turbo; run where its memory is; move
        device interrupts (not by default); lift its cgroup's memory.high; lift its disk limits; stop memory
        compaction for huge pages; let socket buffers grow; change the clock source (not by default).
    neighbours : list of str
        Name patterns of neighbours and clients that may be changed.
    except_ : list of str
        Name patterns of those that may not; ``except`` in the file.
    hours : list of int
        Hours of the local day in which changes are allowed.
    hosts : list of str
        Name patterns of the hosts on which changes are allowed.
    every_minutes : float
        Least time from one diagnosis that a watch starts to the next.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    may: list[Touch] = [touch for touch in TOUCHES if touch not in ASKED_FOR]
    neighbours: list[str] = ["*"]
    except_: Annotated[list[str], Field(alias="except")] = []
    hours: list[Annotated[int, Field(ge=0, le=23)]] = list(range(24))
    hosts: list[str] = ["*"]
    every_minutes: Annotated[float, Field(ge=1)] = 30.0

    def allows(self, touch: Touch, hour: int) -> Note | None:
        """Return why the policy forbids this change at this hour; None if it allows it.

        Examples
        --------
        >>> str(Policy(may=["confine"]).allows("pause", 3))
        'the policy does not allow pause'
        """
        if touch not in self.may:
            return Note("policy-forbids", f"the policy does not allow {touch}", {"touch": touch})
        return self.forbids_now(hour)

    def forbids_now(self, hour: int) -> Note | None:
        """Return why the policy forbids every change on this host at this hour; None if it does not."""
        host = socket.gethostname()
        if not any(fnmatchcase(host, pattern) for pattern in self.hosts):
            return Note("policy-host", f"the policy allows no change of the host {host}", {"host": host})
        if hour not in self.hours:
            return Note("policy-hours", f"the policy allows no change at {hour}:00", {"hour": hour})
        return None

    def spares(self, name: str) -> Note | None:
        """Return why a neighbour of that name is left alone; None if it may be touched."""
        values = {"name": name}
        if any(fnmatchcase(name, pattern) for pattern in NEVER):
            return Note(
                "protected-program", "it is never touched: operators need it to repair the host", values
            )
        if any(fnmatchcase(name, pattern) for pattern in self.except_):
            return Note("policy-excepts", "the policy excepts it", values)
        if not any(fnmatchcase(name, pattern) for pattern in self.neighbours):
            return Note("policy-omits", "the policy does not name it", values)
        return None


def read_policy(path: Path | None) -> Policy:
    """Read a policy. Without a file, everything may be changed except the programs in `NEVER`.

    Raises
    ------
    UsageError
    """
    if path is None:
        return Policy()
    try:
        return Policy.model_validate(read_toml(path))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UsageError(
            "unreadable-file" if isinstance(error, OSError) else "bad-file",
            f"cannot read policy {path}: {error}",
            option="--policy",
            path=str(path),
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(
            "unknown-key" if first["type"] == "extra_forbidden" else "bad-value",
            f"policy {path}: {place}: {first['msg']}",
            hint=f"may = {list(TOUCHES)}, neighbours = ['*']",
            path=str(path),
            key=place,
        ) from None
