"""The application to watch: a process, a server's address, or a cgroup."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from hindmost.core.targets import Attached, Managed, parse_target
from hindmost.core.targets.procfs import is_local, local_owner, process_name, split_address
from hindmost.errors import TargetError, UsageError

CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Application:
    """The application to watch.

    Attributes
    ----------
    name : str
        Name for people.
    pid : int or None
        Its topmost process; None where a cgroup was named.
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
    """

    name: str
    pid: int | None
    cgroup: str | None = None
    address: str | None = None
    protocol: str | None = None
    host: str | None = None
    path: str = "/"
    secured: bool = False

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


def find_application(text: str) -> Application:
    """Find the application that TARGET names by process id, URL (``memcached://HOST:PORT``) or cgroup.

    Raises
    ------
    UsageError
        The text is none of these, or the application is on another machine.
    TargetError
        There is no such process or cgroup, or no process listens there.
    """
    if text.isdecimal():
        pid = int(text)
        if not Path(f"/proc/{pid}").is_dir():
            raise TargetError(
                "no-such-process", f"there is no process {pid}", hint="pgrep -a memcached", pid=pid
            )
        return Application(f"{process_name(pid)} ({pid})", pid)
    if "://" in text:
        return _address(text)
    folder = Path(text) if text.startswith("/") else CGROUPS / text
    if (folder / "cgroup.procs").is_file():
        return Application(f"cgroup {folder.name}", None, cgroup=str(folder))
    raise UsageError(
        "bad-value",
        f"{text!r} is not a process id, an address or a cgroup",
        hint=f"a number, memcached://127.0.0.1:11211, or a folder below {CGROUPS}",
        value=text,
    )


def _address(text: str) -> Application:
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
    pid = local_owner(target.address)
    if pid is None:
        raise TargetError(
            "not-listening",
            f"no process that this user can see listens on {target.address}",
            hint="run as root, or give a process id",
            host=host,
            port=port,
        )
    return Application(f"{process_name(pid)} ({pid})", pid).with_target(target)
