"""The value of ``--fleet``: a file that names hosts, or the address of a running Dask scheduler.

::

    [ssh]                        # for all hosts, unless a host has its own
    user = "load"
    python = "/opt/hindmost/bin/python"

    [[host]]
    name = "a"
    address = "10.0.0.1"
    clients = 2
    cpus = "2-3"

    [target]                     # a server that Hindmost starts runs there
    host = "server"
"""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from hindmost.core.documents import parse_toml, read_text
from hindmost.core.plan.positions import SourceText
from hindmost.core.plan.problems import Models, to_usage_error
from hindmost.core.targets.cpus import parse_cpus
from hindmost.errors import ArgumentError, UsageError

MOST_BYTES = 1 << 20
SCHEMES = ("tcp://", "tls://")
_EXAMPLE = 'hosts.toml: [[host]] with name = "a" and address = "10.0.0.1", one for each machine'
Cpus = Annotated[tuple[int, ...], BeforeValidator(lambda text: tuple(parse_cpus(text)))]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ssh(_Strict):
    """How to log in to a host; everything else follows OpenSSH's own configuration."""

    user: str | None = None
    port: int | None = Field(default=None, ge=1, le=65535)
    key: str | None = Field(default=None, description="file of the private key")
    known_hosts: str | None = Field(default=None, description="file of the hosts' keys")
    python: str = Field(default="python3", description="a Python there that has hindmost[fleet]")


class Host(_Strict):
    """One load host."""

    name: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    address: str = Field(default="", description="name or address for SSH; default: its name")
    clients: int = Field(default=1, ge=0, le=1024, description="load clients there")
    cpus: Cpus = Field(default=(), description="CPUs of its clients; default: the host chooses")
    folder: str | None = Field(default=None, description="where its files are until they are fetched")
    ssh: Ssh | None = None

    @property
    def ssh_address(self) -> str:
        """The name or address for SSH."""
        return self.address or self.name


class TargetPlace(_Strict):
    """Where a server that Hindmost starts runs, and the settings of that host during a study."""

    host: str
    listen: str | None = Field(default=None, description="address that it listens on; default: its host's")
    knobs: dict[str, str] = Field(default={}, description="settings of that host while a study runs")


class Hosts(_Strict):
    """A whole fleet: hosts reached by SSH, or the hosts of a scheduler."""

    scheduler: str | None = None
    tls: bool = True
    ssh: Ssh = Ssh()
    host: tuple[Host, ...] = ()
    target: TargetPlace | None = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        seen: dict[str, str] = {}
        for host in self.host:
            for address in {host.name, host.ssh_address}:
                if address in seen:
                    raise ArgumentError(
                        "duplicate-name",
                        f"host {host.name!r} is listed twice: {address} is also {seen[address]!r}",
                        name=host.name,
                        value=address,
                    )
            seen |= {host.name: host.name, host.ssh_address: host.name}
        if self.scheduler is None and not any(host.clients for host in self.host):
            raise ArgumentError(
                "missing-argument", "no host has a client: name a [[host]] with clients above 0", key="host"
            )
        if self.scheduler is not None and self.host:
            raise ArgumentError(
                "conflicting-options",
                "scheduler and [[host]] exclude each other: a scheduler knows its hosts",
                options=["scheduler", "host"],
            )
        if self.target is not None and self.host and self.target.host not in seen:
            raise ArgumentError(
                "unknown-name",
                f"target.host {self.target.host!r} is not one of {', '.join(self.names)}",
                key="target.host",
                value=self.target.host,
                known=list(self.names),
            )
        if self.scheduler is not None:
            _check_scheduler(self.scheduler, plain=not self.tls)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all hosts, in the file's order."""
        return tuple(host.name for host in self.host)

    @property
    def slots(self) -> tuple[Host, ...]:
        """The host of each client, in turn: a, b, a, b, a."""
        most = max((host.clients for host in self.host), default=0)
        return tuple(host for turn in range(most) for host in self.host if host.clients > turn)


def parse_fleet(text: str) -> Hosts:
    """Read the value of ``--fleet``.

    Raises
    ------
    UsageError
        If it is neither a file nor an address, or the file is invalid: names file and place.
    """
    if text.startswith(SCHEMES):
        return _validate({"scheduler": text}, f"--fleet {text}")
    path = Path(text)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(
                "bad-file",
                f"{path} is larger than {MOST_BYTES:,} bytes, so it is not a list of hosts",
                hint=_EXAMPLE,
                option="--fleet",
                path=text,
                most=MOST_BYTES,
                unit="bytes",
            )
        written = read_text(path)
        document = parse_toml(written)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "no-such-file" if isinstance(error, FileNotFoundError) else "unreadable-file",
            f"--fleet {text}: {error}",
            hint=f"{_EXAMPLE}; or the address of a scheduler, tls://HOST:8786",
            option="--fleet",
            path=text,
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError("bad-file", f"{path}: {error}", hint=_EXAMPLE, option="--fleet", path=text) from None
    return _validate(document, str(path), SourceText(written, toml=True, path=str(path)))


_MODELS: Models = {
    (): Hosts,
    ("ssh",): Ssh,
    ("host",): Host,
    ("host", "ssh"): Ssh,
    ("target",): TargetPlace,
}


def _validate(document: Mapping[str, Any], where: str, written: SourceText | None = None) -> Hosts:
    try:
        return Hosts.model_validate(document)
    except ValidationError as error:
        found = to_usage_error(error, _MODELS, where, written, hint=_EXAMPLE)
        if found.code == "unencrypted-scheduler":
            found.hint = (
                "tls://, with certificates in Dask's configuration; or a file: scheduler = ..., tls = false"
            )
        raise found from None


def _check_scheduler(address: str, *, plain: bool) -> None:
    """Refuse unencrypted connections to other machines: whoever reaches a worker can run code there."""
    if not address.startswith(SCHEMES):
        raise ArgumentError(
            "bad-value",
            f"scheduler {address!r} is not an address like tls://HOST:8786",
            key="scheduler",
            value=address,
            known=list(SCHEMES),
        )
    host, _, port = address.partition("://")[2].rpartition(":")
    if not host or not port.isdecimal():
        raise ArgumentError(
            "bad-value",
            f"scheduler {address!r} lacks a port, like {address.rstrip('/')}:8786",
            key="scheduler",
            value=address,
            missing="port",
        )
    if address.startswith("tcp://") and not plain and not _loopback(host.strip("[]")):
        raise ArgumentError(
            "unencrypted-scheduler",
            f"{address} is not encrypted and not on this machine: whoever reaches its workers can run code",
            key="scheduler",
            value=address,
        )


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
