"""The contents of a target file: pydantic models, their checks, and the JSON schema made from them."""

from __future__ import annotations

import ipaddress
import json
import signal as signals
import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from hindmost.core.documents import parse_toml, read_bytes
from hindmost.core.names import nearest
from hindmost.core.plan.login import Login
from hindmost.core.plan.positions import SourceText
from hindmost.core.plan.problems import to_usage_error
from hindmost.core.plan.protocols import ENTRIES, PROTOCOLS, Protocol
from hindmost.core.plan.tls import Tls
from hindmost.core.targets import placeholders
from hindmost.core.targets.cpus import parse_cpus
from hindmost.errors import ArgumentError, UsageError

MAX_TARGET_FILE_BYTES = 1 << 20
_OPTION_NAME = r"^[a-z][a-z0-9_]*$"

Cpus = Annotated[list[int], BeforeValidator(parse_cpus, json_schema_input_type=str | list[int])]
Argv = Annotated[list[str], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ReadyProbe(_Strict):
    """How to check that the server is ready."""

    kind: Literal["protocol", "tcp", "command"] = Field(
        default="protocol",
        description="protocol: the server answers in its protocol; tcp: it accepts a connection; "
        "command: the command exits with status 0",
    )
    timeout_s: float = Field(
        default=10.0, gt=0, le=3600, description="seconds until the start counts as failed"
    )
    command: Argv | None = Field(default=None, description="for kind command: program and arguments")

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.kind == "command" and self.command is None:
            raise ArgumentError("missing-argument", 'kind = "command" needs a command', key="ready.command")
        if self.kind != "command" and self.command is not None:
            raise ArgumentError(
                "conflicting-options",
                f'command is given, but kind = "{self.kind}" does not use it',
                key="ready.command",
                other="ready.kind",
            )
        return self


class Stop(_Strict):
    """How to stop the server; after the timeout it is killed with all its descendants."""

    signal: str = Field(default="TERM", description="signal sent to the server, such as TERM, INT or QUIT")
    command: Argv | None = Field(
        default=None, description="command that stops the server, instead of a signal"
    )
    timeout_s: float = Field(default=5.0, ge=0, le=3600, description="seconds until it is killed")

    @field_validator("signal")
    @classmethod
    def _known_signal(cls, value: str) -> str:
        name = value.upper().removeprefix("SIG")
        known = [s.name.removeprefix("SIG") for s in signals.Signals]
        if name not in known:
            raise ArgumentError(
                "unknown-name", f"unknown signal{nearest(name, known)}", name=name, known=known
            )
        return name

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.command is not None and "signal" in self.model_fields_set:
            raise ArgumentError(
                "conflicting-options",
                "both signal and command are given; choose one",
                key="stop.signal",
                other="stop.command",
            )
        return self

    @property
    def number(self) -> int:
        """The signal as a number."""
        return signals.Signals[f"SIG{self.signal}"].value


class TargetSpec(_Strict):
    """A server that Hindmost starts, restarts and stops itself."""

    name: str = Field(min_length=1, max_length=80, description="name of the target in reports")
    protocol: Protocol = Field(description="protocol of the server")
    command: Argv = Field(
        description="program and arguments; must stay in the foreground or exit with status 0"
    )
    host: str = Field(default="127.0.0.1", description="IP address the server listens on")
    port: int = Field(default=0, ge=0, le=65535, description="TCP port; 0: a free one, picked at each start")
    socket: str | None = Field(
        default=None, description="Unix socket the server listens on, instead of host and port: {dir}/NAME"
    )
    path: str = Field(default="/", description="for http: path to fetch to check that the server is ready")
    env: dict[str, str] = Field(
        default={}, description="environment variables, in addition to the inherited ones"
    )
    cwd: str | None = Field(
        default=None, description="working folder, relative to the target file; default {dir}"
    )
    cpus: Cpus | None = Field(
        default=None, description='CPUs the server is bound to: "0-3,5" or [0, 1, 2, 3, 5]'
    )
    threads: int | None = Field(
        default=None, ge=1, le=8192, description="value of {threads}; default: number of cpus"
    )
    tls: Tls | None = Field(default=None, description="the server speaks its protocol over TLS")
    login: Login | None = Field(default=None, description="credentials of the client")
    ready: ReadyProbe = ReadyProbe()
    stop: Stop = Stop()
    files: dict[str, str] = Field(default={}, description="text files written into {dir} before the start")
    needs: list[str] = Field(
        default=[],
        description="programs that the command starts, if it is a script; all must be installed",
    )
    user: str | None = Field(default=None, description="user the server runs as; needs root")
    user_if_root: str | None = Field(
        default=None,
        description="user the server runs as if Hindmost runs as root; dynamic: a new one for each start",
    )
    package: str | None = Field(
        default=None, description="Debian package of the program, for the hint when it is missing"
    )
    options: dict[Annotated[str, Field(pattern=_OPTION_NAME)], Any] = Field(
        default={}, description="further placeholders and their values; TARGET?name=value overrides one"
    )
    settings: dict[str, list[str | int]] = Field(
        default={},
        description="levels that hindmost explain tries: of an option, of threads, or of a host setting",
    )

    _folder: Path = PrivateAttr(default_factory=Path.cwd)

    @property
    def folder(self) -> Path:
        """The folder that relative paths start from: the target file's."""
        return self._folder

    @field_validator("host")
    @classmethod
    def _ip_address(cls, value: str) -> str:
        try:
            address = ipaddress.ip_address(value)
        except ValueError:
            raise ValueError('not an IP address; write "127.0.0.1" or "::1"') from None
        if address.is_unspecified:
            raise ValueError(f'{value} means "all addresses"; write the address that requests go to')
        return str(address)

    @field_validator("path")
    @classmethod
    def _http_path(cls, value: str) -> str:
        if not value.startswith("/") or not value.isascii() or any(c <= " " for c in value):
            raise ValueError("must start with / and contain no spaces")
        return value

    @field_validator("files")
    @classmethod
    def _inside_dir(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
                raise ArgumentError("bad-value", f"{name!r} must be a path inside {{dir}}", name=name)
        return value

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if clash := sorted(set(self.options) & set(placeholders.BUILT_IN)):
            raise ArgumentError(
                "duplicate-name",
                f"options.{clash[0]} has the name of a built-in placeholder",
                key=f"options.{clash[0]}",
                name=clash[0],
            )
        known = [*placeholders.BUILT_IN, *self.options]
        texts = self.texts()
        for key, text in texts.items():
            try:
                placeholders.check(text, known)
            except ArgumentError as error:
                raise ArgumentError(error.code, f"{key}: {error}", **{"key": key, **error.fields}) from None
        used_names = set().union(*(placeholders.names_in(text) for text in texts.values()))
        if self.socket is None and self.port == 0 and not used_names & {"port", "address"}:
            raise ArgumentError(
                "missing-argument",
                "port = 0 picks a free port, but neither {port} nor {address} tells the server which; "
                "use one in command, env or files, or set port to the server's own",
                key="port",
                known=["{port}", "{address}"],
            )
        if self.user is not None and self.user_if_root is not None:
            raise ArgumentError(
                "conflicting-options",
                "both user and user_if_root are given; choose one",
                key="user",
                other="user_if_root",
            )
        mixes = {name: entry.mix for name, entry in ENTRIES.items()}
        if self.path != "/" and not (mixes[self.protocol].paths or mixes[self.protocol].names):
            able = [name for name, mix in mixes.items() if mix.paths or mix.names]
            raise ArgumentError(
                "conflicting-options",
                f"path is for protocol = {' or '.join(able)}, not {self.protocol}",
                key="path",
                other="protocol",
                value=self.protocol,
                known=able,
            )
        return self

    def texts(self) -> dict[str, str]:
        """Return every text that may have placeholders, by its key."""
        texts = {f"command[{i}]": text for i, text in enumerate(self.command)}
        texts |= {f"env.{name}": text for name, text in self.env.items()}
        texts |= {f"files.{name}": text for name, text in self.files.items()}
        texts |= {f"ready.command[{i}]": text for i, text in enumerate(self.ready.command or [])}
        texts |= {f"stop.command[{i}]": text for i, text in enumerate(self.stop.command or [])}
        if self.tls is not None:
            files = {"ca": self.tls.ca, "cert": self.tls.cert, "key": self.tls.key}
            texts |= {f"tls.{name}": path for name, path in files.items() if path is not None}
        single = {"cwd": self.cwd, "socket": self.socket}
        return texts | {name: text for name, text in single.items() if text is not None}

    def with_options(self, changes: Mapping[str, object]) -> TargetSpec:
        """Return a copy with some options changed.

        Raises
        ------
        UsageError
            If the target has no such option; suggests the nearest.
        """
        for name in changes:
            if name not in self.options:
                known = f"its options: {', '.join(self.options)}" if self.options else "it has no options"
                raise UsageError(
                    "unknown-key",
                    f"target {self.name} has no option {name!r}{nearest(name, self.options)}",
                    hint=f"{known}; write {self.name}?NAME=VALUE",
                    key=name,
                    known=list(self.options),
                )
        update: dict[str, object] = {"options": {**self.options, **changes}}
        if "protocol" in changes:  # a server with several protocols: the client must use the same
            if changes["protocol"] not in PROTOCOLS:
                wrong = str(changes["protocol"])
                raise UsageError(
                    "unknown-name",
                    f"target {self.name} does not speak {wrong!r}{nearest(wrong, PROTOCOLS)}",
                    hint=f"protocols: {', '.join(PROTOCOLS)}",
                    key="protocol",
                    name=wrong,
                    known=list(PROTOCOLS),
                )
            update["protocol"] = changes["protocol"]
        return self.model_copy(update=update)


def load_target_file(path: str | Path) -> TargetSpec:
    """Read and check a target file.

    Parameters
    ----------
    path : str or Path
        A TOML file.

    Raises
    ------
    UsageError
        If it cannot be read, is not TOML, or is invalid: names file, key and value.
    """
    path = Path(path)
    try:
        data = read_bytes(path, 2 * MAX_TARGET_FILE_BYTES) if path.is_file() else None
    except OSError as error:
        raise UsageError(
            "unreadable-file",
            f"cannot read target file {path}: {error.strerror}",
            hint=f"ls -l {path}",
            path=str(path),
        ) from None
    if data is None:
        what = "is not a file" if path.exists() else "does not exist"
        raise UsageError(
            "unreadable-file" if path.exists() else "no-such-file",
            f"target file {path} {what}",
            hint="give a .toml file, a preset, or a URL",
            path=str(path),
        )
    if len(data) > MAX_TARGET_FILE_BYTES:
        raise UsageError(
            "bad-file",
            f"target file {path} is larger than {MAX_TARGET_FILE_BYTES} bytes",
            hint="see examples/targets/",
            path=str(path),
            limit=MAX_TARGET_FILE_BYTES,
        )
    try:
        return parse_target_toml(data.decode("utf-8-sig"), str(path), path.resolve().parent)
    except UnicodeDecodeError as error:
        raise UsageError(
            "bad-file",
            f"target file {path} is not UTF-8 text (byte {error.start})",
            hint="see examples/targets/",
            path=str(path),
        ) from None


def parse_target_toml(text: str, where: str, folder: Path) -> TargetSpec:
    """Check the text of a target file; `where` names it in messages, and relative paths start at `folder`."""
    try:
        spec = TargetSpec.model_validate(parse_toml(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            "bad-file", f"target file {where} is not TOML: {error}", hint="see examples/targets/", path=where
        ) from None
    except ValidationError as error:
        source = SourceText(text, toml=True, path=where)
        raise to_usage_error(
            error, _MODELS, f"target file {where}", source, hint="see examples/targets/"
        ) from None
    spec._folder = folder
    return spec


_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    (): TargetSpec,
    ("ready",): ReadyProbe,
    ("stop",): Stop,
    ("tls",): Tls,
    ("login",): Login,
}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of target files."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "hindmost.target/1",
        **TargetSpec.model_json_schema(),
    }


def json_schema_text() -> str:
    """Return the JSON Schema of target files as text."""
    return json.dumps(json_schema(), indent=2) + "\n"
