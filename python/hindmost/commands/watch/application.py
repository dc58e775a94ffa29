"""The application to watch: a process, a server's address, a systemd unit, a command line or a cgroup."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from hindmost.commands.watch.identity import Identity, identify
from hindmost.core.targets import Attached, Managed, parse_target
from hindmost.core.targets.procfs import is_local, process_name, split_address
from hindmost.errors import TargetError, UsageError

CGROUPS = Path("/sys/fs/cgroup")
BRIEF_WAIT = 60
"""Samples for which a watch waits for a process with the same command line, or for a process in the cgroup:
it is not sure that the application will return."""


@dataclass(frozen=True, slots=True)
class Application:
    """The application to watch.

    Attributes
    ----------
    name : str
        Name for people.
    pid : int or None
        Its topmost process; None where a cgroup was named, or where it is not known to run.
    cgroup : str or None
        The folder of its cgroup, if a cgroup was named.
    address : str or None
        ``HOST:PORT``, if an address was named.
    protocol : str or None
        The protocol at that address.
    host : str or None
        The server's name (http), if one was given.
    path : str
        The path to request (http).
    secured : bool
        Whether the address uses TLS.
    identity : Identity or None
        By what it is found after a restart; None if it is not followed, or by its cgroup.
    wait : int or None
        Samples for which a watch waits for its return; None without limit.
    """

    name: str
    pid: int | None
    cgroup: str | None = None
    address: str | None = None
    protocol: str | None = None
    host: str | None = None
    path: str = "/"
    secured: bool = False
    identity: Identity | None = None
    wait: int | None = 0

    def with_target(self, target: Attached) -> Application:
        """Return the same application with the address of `target`."""
        return replace(
            self,
            address=target.address,
            protocol=target.protocol,
            host=f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}",
            path=target.path,
            secured=target.secured,
        )


def parse_application(text: str) -> Application:
    """Parse the name of an application, which need not run now.

    Parameters
    ----------
    text : str
        A process id, URL (``memcached://HOST:PORT``), systemd unit (``nginx.service``), part of a command
        line (``command:gunicorn shop``) or cgroup.

    Raises
    ------
    UsageError
        The text is none of these, or the application is on another machine.
    """
    if text.isdecimal():
        return Application(text, int(text))
    if "://" in text:
        return _parse_url(text)
    if command := text.removeprefix("command:") if text.startswith("command:") else "":
        return Application(command, None, identity=Identity("command", command), wait=None)
    if re.fullmatch(r"[\w.@:\\-]+\.service", text, re.ASCII):
        return Application(text, None, identity=Identity("unit", text), wait=None)
    folder = CGROUPS / text  # an absolute path stays as it is
    if text.startswith("/") or folder.is_dir():
        return Application(f"cgroup {folder.name}", None, cgroup=str(folder), wait=BRIEF_WAIT)
    raise UsageError(
        "bad-value",
        f"{text!r} is not a process id, an address, a unit, a command or a cgroup",
        hint="a number, memcached://127.0.0.1:11211, nginx.service, command:'gunicorn shop', or a folder"
        f" below {CGROUPS}",
        value=text,
    )


def find_application(text: str) -> Application:
    """Find the running application that a text names. See `parse_application`.

    Raises
    ------
    UsageError
        The text names no application, or one on another machine.
    TargetError
        There is no such process, or no process listens there.
    """
    found = parse_application(text)
    if found.cgroup is not None:
        if not Path(found.cgroup, "cgroup.procs").is_file():
            raise UsageError(
                "bad-value", f"{found.cgroup} is not a cgroup", hint=f"a folder below {CGROUPS}", value=text
            )
        return found
    if found.pid is not None:
        return _identify(found.pid)
    assert found.identity is not None
    pid = found.identity.find()
    if pid is None:
        raise _not_found(text, found)
    return replace(found, name=f"{process_name(pid)} ({pid})", pid=pid)


def _identify(pid: int) -> Application:
    if not Path(f"/proc/{pid}").is_dir():
        raise TargetError("no-such-process", f"there is no process {pid}", hint="pgrep -a memcached", pid=pid)
    identity = identify(pid)
    wait = 0 if identity is None else BRIEF_WAIT if identity.kind == "command" else None
    return Application(f"{process_name(pid)} ({pid})", pid, identity=identity, wait=wait)


def _not_found(text: str, application: Application) -> TargetError:
    if application.address is None:
        return TargetError(
            "no-such-process",
            f"no process that this user can see belongs to {text}",
            hint="run as root, or give a process id",
            value=text,
        )
    host, port = split_address(application.address)
    return TargetError(
        "not-listening",
        f"no process that this user can see listens on {application.address}",
        hint="run as root, or give a process id",
        host=host,
        port=port,
    )


def _parse_url(text: str) -> Application:
    target = parse_target(text)
    if isinstance(target, Managed):
        raise UsageError(
            "needs-running-server",
            f"{text} is a server that Hindmost would start, but a watch needs a running server",
            hint="start the server, and give its address or process id",
            target=text,
        )
    host, port = split_address(target.address)
    if not is_local(host):
        raise UsageError(
            "remote-server",
            f"{text} is on another machine, and a watch sees only its own machine",
            hint=f"on {host}: hindmost watch {text.partition('://')[0]}://127.0.0.1:{port}",
            host=host,
            target=text,
        )
    identity = Identity("address", target.address)
    return Application(text, None, identity=identity, wait=None).with_target(target)
