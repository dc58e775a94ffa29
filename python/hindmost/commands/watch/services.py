"""The services that a watch daemon watches: a folder with one TOML file each."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hindmost.commands.watch.application import parse_application
from hindmost.commands.watch.daemon import Service
from hindmost.commands.watch.latency import latency_from
from hindmost.commands.watch.response import response_to
from hindmost.core.documents import read_toml
from hindmost.errors import HindmostError, UsageError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class ServiceFile(BaseModel):
    """A file NAME.toml in the folder of services.

    Attributes
    ----------
    application : str
        URL, systemd unit, ``command:TEXT`` or cgroup; see `parse_application`.
    probe : str
        Requests per second of the probe; ``auto`` for as many as the budget allows.
    probe_address : str or None
        URL to probe if `application` is not one.
    log : Path or None
        Access log to read instead of a probe.
    log_latency : str
        Place of latency in a line of the log.
    size : int
        Size of the ring, MiB.
    on_change : str or None
        ``diagnose`` starts a diagnosis when latency becomes slow.
    policy : Path or None
        What such a diagnosis may change, where, and how often.
    """

    model_config = ConfigDict(extra="forbid")

    application: str
    probe: str = "auto"
    probe_address: str | None = None
    log: Path | None = None
    log_latency: str = "nginx"
    size: Annotated[int, Field(ge=1)] = 16
    on_change: Literal["diagnose"] | None = None
    policy: Path | None = None

    def toml(self) -> str:
        """Return the file's text, without defaults.

        Examples
        --------
        >>> print(ServiceFile(application="nginx.service", size=4).toml(), end="")
        application = "nginx.service"
        size = 4
        """
        values = self.model_dump(mode="json", exclude_defaults=True)
        return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())

    def service(self, name: str, rings: Path, budget: float = 0.0005) -> Service:
        """Return the service to watch.

        Raises
        ------
        UsageError
            A value makes no sense.
        """
        application = parse_application(self.application)
        if application.pid is not None:
            raise UsageError(
                "bad-value",
                f"process {self.application} has another id after a restart",
                hint="give its address, unit or command: memcached://127.0.0.1:11211, nginx.service or"
                " command:'gunicorn shop'",
                value=self.application,
            )
        latency = latency_from(
            application,
            probe=self.probe,
            address=self.probe_address,
            log=self.log,
            log_latency=self.log_latency,
            budget=budget,
        )
        response = response_to(
            self.on_change, self.policy, latency, self.application, self.probe_address, rings
        )
        return Service(name, application, rings / f"{name}.ring", self.size << 20, latency, response)


def default_folder() -> Path:
    """Return the folder of services: of the host for root, else of the user."""
    if os.geteuid() == 0:
        return Path("/etc/hindmost/watch")
    return _home("XDG_CONFIG_HOME", ".config") / "hindmost/watch"


def default_rings() -> Path:
    """Return the folder of rings: of the host for root, else of the user."""
    if os.geteuid() == 0:
        return Path("/var/lib/hindmost-watch")
    return _home("XDG_STATE_HOME", ".local/state") / "hindmost/watch"


def _home(variable: str, usual: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / usual)


def list_services(folder: Path) -> list[str]:
    """Return the names of the services in a folder, sorted."""
    return sorted(path.stem for path in folder.glob("*.toml") if NAME.fullmatch(path.stem))


def add_service(folder: Path, name: str, service: ServiceFile) -> Path:
    """Write the file of a new service.

    Raises
    ------
    UsageError
        The name cannot be used, or is used already.
    HindmostError
        The file cannot be written.
    """
    path = _path(folder, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A watch must not read half a file, and two commands must not write the same one.
        with _new_file(folder, service.toml()) as new:
            os.link(new, path)
    except FileExistsError:
        raise UsageError(
            "service-exists",
            f"{name} is watched already: {path}",
            hint=f"hindmost watch remove {name}",
            name=name,
            path=str(path),
        ) from None
    except OSError as error:
        raise HindmostError(
            "unwritable-file",
            f"{path} cannot be written: {error.strerror}",
            hint="run as root, or choose another folder: --folder DIR",
            path=str(path),
        ) from None
    return path


@contextlib.contextmanager
def _new_file(folder: Path, text: str) -> Iterator[Path]:
    """Write a hidden file, which is removed at the end of the block."""
    path = folder / f".{os.getpid()}.new"
    try:
        path.write_text(text, encoding="utf-8")
        yield path
    finally:
        path.unlink(missing_ok=True)


def remove_service(folder: Path, name: str) -> None:
    """Remove the file of a service.

    Raises
    ------
    UsageError
        There is no such service.
    HindmostError
        The file cannot be removed.
    """
    path = _path(folder, name)
    try:
        path.unlink()
    except FileNotFoundError:
        raise UsageError(
            "no-such-service",
            f"there is no {path}",
            hint="hindmost watch list",
            name=name,
            path=str(path),
        ) from None
    except OSError as error:
        raise HindmostError(
            "unwritable-file", f"{path} cannot be removed: {error.strerror}", path=str(path)
        ) from None


def _path(folder: Path, name: str) -> Path:
    if not NAME.fullmatch(name):
        raise UsageError(
            "bad-value",
            f"{name!r} cannot be the name of a service: use letters, digits, dots and dashes",
            hint="hindmost watch add cache memcached://127.0.0.1:11211",
            value=name,
        )
    return folder / f"{name}.toml"


def read_service(folder: Path, name: str) -> ServiceFile:
    """Read the file of a service.

    Raises
    ------
    UsageError
        The file cannot be read, or has wrong values.
    """
    path = folder / f"{name}.toml"
    try:
        return ServiceFile.model_validate(read_toml(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        code = "unreadable-file" if isinstance(error, OSError) else "bad-file"
        raise UsageError(code, f"cannot read {path}: {error}", path=str(path)) from None
    except ValidationError as error:
        raise _refuse(error, path) from None


def _refuse(error: ValidationError, path: Path) -> UsageError:
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    code = "unknown-key" if first["type"] == "extra_forbidden" else "bad-value"
    keys = ", ".join(ServiceFile.model_fields)
    return UsageError(code, f"{path}: {key}: {first['msg']}", hint=f"keys: {keys}", path=str(path), key=key)


def read_services(
    folder: Path, rings: Path, budget: float, on_failure: Callable[[str, str], None]
) -> list[Service]:
    """Read all services of a folder, without those whose files are wrong.

    Parameters
    ----------
    on_failure : callable
        Called with the name of such a service, and the reason.
    """
    services = []
    for name in list_services(folder):
        try:
            services.append(read_service(folder, name).service(name, rings, budget))
        except HindmostError as error:
            on_failure(name, f"{error.code}: {error}")
    return services
