"""A worker brought to a host through SSH: its input is our hold on it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost import __version__
from hindmost.errors import InstanceError
from hindmost.fleet.dask.hosts import Host, Ssh
from hindmost.fleet.dask.replies import bad_reply

CONNECT_S = 10.0
START_S = 60.0
"""Python and Dask on a slow disk."""
END_S = 8.0


@dataclass(slots=True)
class Reached:
    """A host with which SSH has a connection; `begin` starts its worker.

    Attributes
    ----------
    ours, theirs : str
        The two ends' addresses.
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

    async def begin(self, config: dict[str, Any]) -> None:
        """Start the worker.

        Parameters
        ----------
        config : dict
            What it is told on its standard input (`worker.py`).

        Raises
        ------
        InstanceError
            If it does not begin: names host and reason.
        """
        command = shlex.join([self.python, "-P", "-m", "hindmost.fleet.dask.worker"])
        self.process = await self.connection.create_process(command)
        self.process.stdin.write(json.dumps(config) + "\n")
        self.address = await _begun(self.process, self.name, self.by_hand, self.python)
        if host_of(self.address) != self.theirs:
            raise bad_reply(self.name, "start", f"its worker listens on {self.address}, not {self.theirs}")

    async def close(self) -> None:
        """End its input, which ends it; wait for that."""
        if self.process is not None:
            with contextlib.suppress(Exception):
                self.process.stdin.write_eof()
                await asyncio.wait_for(self.process.wait(), END_S)
        self.connection.close()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.connection.wait_closed(), END_S)


async def reach(host: Host, usual: Ssh) -> Reached:
    """Log in to a host.

    Parameters
    ----------
    usual : Ssh
        What holds for all hosts.

    Raises
    ------
    InstanceError
        If the host cannot be reached: names host and reason.
    """
    import asyncssh

    how = usual.model_copy(update=host.ssh.model_dump(exclude_unset=True)) if host.ssh else usual
    options: dict[str, Any] = {"connect_timeout": CONNECT_S, "login_timeout": CONNECT_S}
    options |= {"username": how.user} if how.user else {}
    options |= {"port": how.port} if how.port else {}
    options |= {"client_keys": [how.key]} if how.key else {}
    options |= {"known_hosts": how.known_hosts} if how.known_hosts else {}
    port = f"-p {how.port} " if how.port else ""
    key = f"-i {how.key} " if how.key else ""
    by_hand = f"ssh {port}{key}{f'{how.user}@' if how.user else ''}{host.where}"
    _look_at_files(host, how)
    whom = f"host {host.name} ({host.where})"
    place: dict[str, Any] = {"host": host.name, "address": host.where}
    try:
        connection = await asyncio.wait_for(asyncssh.connect(host.where, **options), 2 * CONNECT_S)
    except asyncssh.PermissionDenied as error:
        raise InstanceError(
            "host-login",
            f"{whom} refuses the login: {error.reason}{f' (key {how.key})' if how.key else ''}",
            hint=f"{by_hand} true; ssh-copy-id installs a key there, [ssh] sets user and key",
            **place,
            path=how.key,
            user=how.user,
        ) from None
    except asyncssh.HostKeyNotVerifiable as error:
        raise InstanceError(
            "host-key",
            f"the key of {whom} is unknown: {error.reason}; another machine may answer in its place",
            hint=f"{by_hand} true, verify its key, and add it to {how.known_hosts or '~/.ssh/known_hosts'}",
            **place,
            path=how.known_hosts,
        ) from None
    except (OSError, TimeoutError, asyncssh.Error) as error:
        why = str(error) or f"no answer within {2 * CONNECT_S:g} s"
        raise InstanceError(
            "host-unreachable", f"{whom} cannot be reached: {why}", hint=f"{by_hand} true", **place
        ) from None
    except ValueError as error:  # asyncssh's KeyImportError is one
        raise InstanceError(
            "login-key",
            f"host {host.name}: the key for its login cannot be used ({how.key or 'of ~/.ssh'}): {error}",
            hint=f"{by_hand} true; load a key with a passphrase into ssh-agent: ssh-add",
            **place,
            path=how.key,
        ) from None
    ours, theirs = (connection.get_extra_info(end)[0] for end in ("sockname", "peername"))
    return Reached(host.name, ours, theirs, connection, how.python, by_hand)


def host_of(address: str) -> str:
    """The host of ``tls://HOST:PORT``."""
    return address.partition("://")[2].rpartition(":")[0].strip("[]")


def _look_at_files(host: Host, how: Ssh) -> None:
    """Refuse files of [ssh] that cannot be read, by name, before the network is asked."""
    for what, name in (("key", how.key), ("known_hosts", how.known_hosts)):
        try:
            if name is not None:
                Path(name).expanduser().open("rb").close()
        except OSError as error:
            raise InstanceError(
                "unreadable-file",
                f"host {host.name}: {what} {name} of [ssh] cannot be read: {error.strerror}",
                hint=f"ls -l {name}",
                host=host.name,
                key=f"ssh.{what}",
                path=name,
            ) from None


async def _begun(process: Any, name: str, by_hand: str, python: str) -> str:  # noqa: ANN401
    """Where the worker listens, as it says itself."""
    try:
        line = await asyncio.wait_for(process.stdout.readline(), START_S)
    except TimeoutError:
        raise InstanceError(
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
    raise InstanceError(code, text, hint=hint, host=name, words=words)
