"""A worker brought to a host through SSH: its input is our hold on it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hindmost import __version__
from hindmost.errors import InstanceError
from hindmost.fleet.dask.certificates import Credentials
from hindmost.fleet.dask.hosts import Host, Ssh

CONNECT_S = 10.0
START_S = 60.0
"""Python and Dask on a slow disk."""
END_S = 8.0


@dataclass(slots=True)
class Reached:
    """A worker that runs: ``address`` is where it listens."""

    name: str
    address: str
    connection: Any
    process: Any

    async def close(self) -> None:
        """End its input, which ends it; wait for that."""
        with contextlib.suppress(Exception):
            self.process.stdin.write_eof()
            await asyncio.wait_for(self.process.wait(), END_S)
        self.connection.close()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.connection.wait_closed(), END_S)


async def reach(host: Host, usual: Ssh, config: dict[str, Any], credentials: Credentials) -> Reached:
    """Start the worker of a host.

    Parameters
    ----------
    usual : Ssh
        What holds for all hosts.
    config : dict
        What the worker is told; ``port`` is our scheduler's.

    Raises
    ------
    InstanceError
        If the host cannot be reached or the worker does not begin: names host and reason.
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
    try:
        ours, theirs = (connection.get_extra_info(end)[0] for end in ("sockname", "peername"))
        told = {
            **config,
            "scheduler": f"tls://{_bracketed(ours)}:{config['port']}",
            "address": theirs,
            "credentials": asdict(credentials),
        }
        command = shlex.join([how.python, "-m", "hindmost.fleet.dask.worker"])
        process = await connection.create_process(command)
        process.stdin.write(json.dumps(told) + "\n")
        address = await _begun(process, host.name, by_hand, how.python)
    except BaseException:
        connection.close()
        raise
    return Reached(host.name, address, connection, process)


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


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
