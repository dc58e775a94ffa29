"""The user a server runs as."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import secrets
from dataclasses import dataclass
from pathlib import Path

from hindmost.core.documents import read_kernel
from hindmost.core.privileges import TO_SWITCH, capabilities
from hindmost.core.targets.spec import TargetSpec
from hindmost.errors import TargetError, UsageError

DYNAMIC = "dynamic"
"""A new user for each start; other servers of the host share ``nobody``."""
DYNAMIC_IDS = range(61184, 65520)
"""User ids that systemd reserves for such users (``systemd.exec(5)``, ``DynamicUser=``)."""


@dataclass(frozen=True)
class Account:
    """User and group ids of the server's process."""

    uid: int
    gid: int
    groups: tuple[int, ...]


def account(spec: TargetSpec) -> Account | None:
    """Return the account to switch to, or None to keep ours.

    Raises
    ------
    UsageError
        If there is no such user.
    TargetError
        If switching needs root, and we are not root.
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
        name = "nobody"  # the user namespace has no unused id
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
    """Return an id of no user, group or process; None if our user namespace has none."""
    mapped = [tuple(map(int, line.split())) for line in read_kernel("/proc/self/uid_map").splitlines()]
    free = [uid for uid in DYNAMIC_IDS if any(first <= uid < first + count for first, _, count in mapped)]
    running = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            running.add(entry.stat().st_uid)
    while free:
        uid = free.pop(secrets.randbelow(len(free)))
        if uid not in running and not _exists(uid):
            return uid
    return None


def _exists(number: int) -> bool:
    for find in (pwd.getpwuid, grp.getgrgid):
        try:
            find(number)
        except KeyError:
            continue
        return True
    return False
