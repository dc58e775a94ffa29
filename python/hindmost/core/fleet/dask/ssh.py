"""Starts a worker on a host through SSH; the worker ends when its input does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost import __version__
from hindmost.core.fleet.dask.hosts import Host, Ssh
from hindmost.core.fleet.dask.replies import bad_reply
from hindmost.errors import ClientError

CONNECT_S = 10.0
START_S = 60.0
"""Timeout in s, for Python and Dask on a slow disk."""
END_S = 8.0


@dataclass(slots=True)
class Connection:
    """An SSH connection to a host; `start_worker` starts its worker.

    Attributes
    ----------
    ours, theirs : str
        Addresses of the two ends.
    address : str
        Where the worker listens.
    """

    name: str
    ours: str
    theirs: str
    connection: Any
    python: str
    by_hand: str
    process: Any = None
    address: str = ""

    async def start_worker(self, config: dict[str, Any]) -> None:
        """Start the worker.

        Parameters
        ----------
        config : dict
            What it reads from standard input (`worker.py`).

        Raises
        ------
        InstanceError
            If it does not start: names host and reason.
        """
        command = shlex.join([self.python, "-P", "-m", "hindmost.core.fleet.dask.worker"])
        self.process = await self.connection.create_process(command)
        self.process.stdin.write(json.dumps(config) + "\n")
        self.address = await _read_address(self.process, self.name, self.by_hand, self.python)
        if host_of(self.address) != self.theirs:
            raise bad_reply(self.name, "start", f"its worker listens on {self.address}, not {self.theirs}")

    async def close(self) -> None:
        """Close the worker's input, which ends it, and wait for that."""
        if self.process is not None:
            with contextlib.suppress(Exception):
                self.process.stdin.write_eof()
                await asyncio.wait_for(self.process.wait(), END_S)
        self.connection.close()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.connection.wait_closed(), END_S)


async def reach(host: Host, usual: Ssh) -> Connection:
    """Log in to a host.

    Parameters
    ----------
    usual : Ssh
        Settings for all hosts.

    Raises
    ------
    InstanceError
        If the host cannot be reached: names host and reason.
    """
    import asyncssh

    ssh = usual.model_copy(update=host.ssh.model_dump(exclude_unset=True)) if host.ssh else usual
    options: dict[str, Any] = {"connect_timeout": CONNECT_S, "login_timeout": CONNECT_S}
    options |= {"username": ssh.user} if ssh.user else {}
    options |= {"port": ssh.port} if ssh.port else {}
    options |= {"client_keys": [ssh.key]} if ssh.key else {}
    options |= {"known_hosts": ssh.known_hosts} if ssh.known_hosts else {}
    port = f"-p {ssh.port} " if ssh.port else ""
    key = f"-i {ssh.key} " if ssh.key else ""
    by_hand = f"ssh {port}{key}{f'{ssh.user}@' if ssh.user else ''}{host.ssh_address}"
    _check_files(host, ssh)
    name = f"host {host.name} ({host.ssh_address})"
    place: dict[str, Any] = {"host": host.name, "address": host.ssh_address}
    try:
        connection = await asyncio.wait_for(asyncssh.connect(host.ssh_address, **options), 2 * CONNECT_S)
    except asyncssh.PermissionDenied as error:
        raise ClientError(
            "host-login",
            f"{name} refuses the login: {error.reason}{f' (key {ssh.key})' if ssh.key else ''}",
            hint=f"{by_hand} true; ssh-copy-id installs a key there, [ssh] sets user and key",
            **place,
            path=ssh.key,
            user=ssh.user,
        ) from None
    except asyncssh.HostKeyNotVerifiable as error:
        raise ClientError(
            "host-key",
            f"the key of {name} is unknown: {error.reason}; another machine may answer in its place",
            hint=f"{by_hand} true, verify its key, and add it to {ssh.known_hosts or '~/.ssh/known_hosts'}",
            **place,
            path=ssh.known_hosts,
        ) from None
    except (OSError, TimeoutError, asyncssh.Error) as error:
        why = str(error) or f"no answer within {2 * CONNECT_S:g} s"
        raise ClientError(
            "host-unreachable", f"{name} cannot be reached: {why}", hint=f"{by_hand} true", **place
        ) from None
    except ValueError as error:  # includes asyncssh's KeyImportError
        raise ClientError(
            "login-key",
            f"host {host.name}: the key for its login cannot be used ({ssh.key or 'of ~/.ssh'}): {error}",
            hint=f"{by_hand} true; load a key with a passphrase into ssh-agent: ssh-add",
            **place,
            path=ssh.key,
        ) from None
    ours, theirs = (connection.get_extra_info(end)[0] for end in ("sockname", "peername"))
    return Connection(host.name, ours, theirs, connection, ssh.python, by_hand)


def host_of(address: str) -> str:
    """Return the host in ``tls://HOST:PORT``."""
    return address.partition("://")[2].rpartition(":")[0].strip("[]")


def _check_files(host: Host, how: Ssh) -> None:
    """Refuse unreadable files of [ssh], by name, before connecting."""
    for key, name in (("key", how.key), ("known_hosts", how.known_hosts)):
        try:
            if name is not None:
                Path(name).expanduser().open("rb").close()
        except OSError as error:
            raise ClientError(
                "unreadable-file",
                f"host {host.name}: {key} {name} of [ssh] cannot be read: {error.strerror}",
                hint=f"ls -l {name}",
                host=host.name,
                key=f"ssh.{key}",
                path=name,
            ) from None


async def _read_address(process: Any, name: str, by_hand: str, python: str) -> str:  # noqa: ANN401
    """Read from the worker where it listens."""
    try:
        line = await asyncio.wait_for(process.stdout.readline(), START_S)
    except TimeoutError:
        raise ClientError(
            "worker-failed",
            f"host {name}: its worker did not start within {START_S:g} s",
            hint=f"{by_hand} uptime",
            host=name,
            limit=START_S,
            unit="s",
        ) from None
    try:
        said = json.loads(line)
        return str(said["address"])
    except (ValueError, KeyError):
        pass
    with contextlib.suppress(TimeoutError):
        line += await asyncio.wait_for(process.stderr.read(), 2.0)
    words = line.strip()[-1000:]
    if "Timed out" in words or "scheduler" in words.lower():
        hint = f"can it reach this machine? let {name} connect back through the firewall"
    else:
        install = f"{python} -m pip install 'hindmost[fleet]=={__version__}'"
        hint = f'{by_hand} "{install}", or python = ... in [ssh]'
    code = "missing-hindmost" if "No module named" in words else "worker-failed"
    text = f"host {name}: Hindmost's worker does not start there: {words}"
    raise ClientError(code, text, hint=hint, host=name, words=words)
