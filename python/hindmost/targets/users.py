"""The user a server runs as."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import secrets
from dataclasses import dataclass
from pathlib import Path

from hindmost.documents import read_kernel
from hindmost.errors import TargetError, UsageError
from hindmost.privileges import TO_SWITCH, capabilities
from hindmost.targets.spec import TargetSpec

DYNAMIC = "dynamic"
"""A new user for each start; ``nobody`` is shared by other servers of the host."""
DYNAMIC_IDS = range(61184, 65520)
"""Numbers that systemd keeps for such users (``systemd.exec(5)``, ``DynamicUser=``)."""


@dataclass(frozen=True)
class Account:
    """Numbers that the server's process takes before it is executed."""

    uid: int
    gid: int
    groups: tuple[int, ...]


def account(spec: TargetSpec) -> Account | None:
    """Return the account to switch to, or None to stay as we are.

    Raises
    ------
    UsageError
        If there is no such user.
    TargetError
        If only root could switch, and we are not root.
    """
    root = os.geteuid() == 0
    name = spec.user or (spec.user_if_root if root else None)
    if name is None:
        return None
    if root and (missing := sorted(set(TO_SWITCH) - capabilities())):
        raise TargetError(
            "needs-root",
            f"target {spec.name} should run as user {name}, but this root lacks {', '.join(missing)}",
            hint=f"run Hindmost with {', '.join(missing)}, or as another user",
            key="user",
            name=name,
            missing=missing,
        )
    if name == DYNAMIC and root:
        if (own := unused_id()) is not None:
            return Account(own, own, (own,))
        name = "nobody"  # a namespace of users that has none to spare
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        key = "user" if spec.user else "user_if_root"
        message = f'target {spec.name}: {key} = "{name}": there is no such user'
        raise UsageError("unknown-name", message, hint="getent passwd", key=key, name=name) from None
    if entry.pw_uid == os.geteuid():
        return None
    if not root:
        me = pwd.getpwuid(os.geteuid()).pw_name
        raise TargetError(
            "needs-root",
            f"target {spec.name} should run as user {name}, but Hindmost runs as {me}, and only root can"
            " switch users",
            hint="run Hindmost with sudo, or write user_if_root instead of user in the target file",
            key="user",
            name=name,
        )
    groups = {entry.pw_gid, *(group.gr_gid for group in grp.getgrall() if name in group.gr_mem)}
    return Account(entry.pw_uid, entry.pw_gid, tuple(sorted(groups)))


def unused_id() -> int | None:
    """Return a number of no user, group or process; None where our user namespace maps none."""
    mapped = [tuple(map(int, line.split())) for line in read_kernel("/proc/self/uid_map").splitlines()]
    free = [one for one in DYNAMIC_IDS if any(first <= one < first + count for first, _, count in mapped)]
    running = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            running.add(entry.stat().st_uid)
    while free:
        one = free.pop(secrets.randbelow(len(free)))
        if one not in running and not _known(one):
            return one
    return None


def _known(number: int) -> bool:
    for find in (pwd.getpwuid, grp.getgrgid):
        try:
            find(number)
        except KeyError:
            continue
        return True
    return False
