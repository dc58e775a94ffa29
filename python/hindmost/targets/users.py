"""The user a server runs as."""

from __future__ import annotations

import grp
import os
import pwd
from dataclasses import dataclass

from hindmost.errors import TargetError, UsageError
from hindmost.targets.spec import TargetSpec


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
