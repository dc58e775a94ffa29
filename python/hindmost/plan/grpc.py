"""Unary calls of gRPC: messages written as JSON, made into bytes once by the descriptors of their protos."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from hindmost.documents import read_bytes, read_text
from hindmost.errors import UsageError
from hindmost.names import nearest

_METHOD = re.compile(r"/([\w.]+)/(\w+)")
_HOW = "protoc --include_imports --descriptor_set_out=FILE.binpb YOUR.proto"


class Descriptors:
    """What protos say of services and messages.

    Parameters
    ----------
    file : path
        A ``FileDescriptorSet``, as ``protoc --include_imports --descriptor_set_out`` writes it.

    Raises
    ------
    UsageError
        If it cannot be read, is none, or protobuf is not installed.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            self._json = import_module("google.protobuf.json_format")
            messages = import_module("google.protobuf.descriptor_pb2")
            pools = import_module("google.protobuf.descriptor_pool")
            self._classes = import_module("google.protobuf.message_factory")
        except ImportError:
            raise UsageError(
                "missing-library",
                "--descriptors needs protobuf, which is not installed",
                hint="pip install 'hindmost[grpc]'",
                option="--descriptors",
                name="protobuf",
            ) from None
        try:
            held = messages.FileDescriptorSet.FromString(read_bytes(file))
        except OSError as error:
            raise UsageError(
                "unreadable-file" if file.exists() else "no-such-file",
                f"--descriptors: cannot read {file}: {error.strerror}",
                hint=f"ls -l {file}",
                option="--descriptors",
                path=str(file),
            ) from None
        except Exception as error:  # protobuf's own DecodeError
            raise UsageError(
                "bad-file",
                f"--descriptors: {file} is not a FileDescriptorSet: {error}",
                hint=_HOW,
                option="--descriptors",
                path=str(file),
            ) from None
        self._pool = pools.DescriptorPool()
        try:
            for one in held.file:
                self._pool.Add(one)
            self._services = {
                f"{one.package}.{service.name}".lstrip("."): self._pool.FindServiceByName(
                    f"{one.package}.{service.name}".lstrip(".")
                )
                for one in held.file
                for service in one.service
            }
        except (
            Exception
        ) as error:  # an import that is not in the set: a TypeError or a KeyError, by protobuf's version
            raise UsageError(
                "bad-file",
                f"--descriptors: {file} lacks something that its protos import: {error}",
                hint=_HOW,
                option="--descriptors",
                path=str(file),
            ) from None

    def message(self, service: str, method: str, text: str) -> bytes:
        """The bytes of a method's request.

        Parameters
        ----------
        service, method : str
            Such as ``helloworld.Greeter`` and ``SayHello``.
        text : str
            The message as JSON (protobuf's mapping); empty for one without fields.

        Raises
        ------
        UsageError
            If there is no such method, it is a stream, or the text is not its message.
        """
        if service not in self._services:
            raise UsageError(
                "unknown-name",
                f"--descriptors: {self.file} has no service {service}{nearest(service, self._services)}",
                hint=f"it has {', '.join(sorted(self._services)) or 'no service'}",
                name=service,
                known=sorted(self._services),
                path=str(self.file),
            )
        methods = self._services[service].methods_by_name
        if method not in methods:
            raise UsageError(
                "unknown-name",
                f"{service} has no method {method}{nearest(method, methods)}",
                hint=f"it has {', '.join(sorted(methods))}",
                name=method,
                known=sorted(methods),
                path=str(self.file),
            )
        found = methods[method]
        if found.client_streaming or found.server_streaming:
            raise UsageError(
                "unsupported",
                f"{service}/{method} is a stream; Hindmost measures unary calls only",
                hint="name another method",
                name=f"{service}/{method}",
            )
        message = self._classes.GetMessageClass(found.input_type)()
        try:
            self._json.Parse(text or "{}", message)
        except self._json.ParseError as error:
            raise UsageError(
                "bad-value",
                f"the message to {service}/{method} is not a {found.input_type.full_name}: {error}",
                hint="write it as JSON, with the fields of its proto",
                name=f"{service}/{method}",
                value=text,
                expected=found.input_type.full_name,
            ) from None
        sent: bytes = message.SerializeToString(deterministic=True)
        return sent


def with_calls(workload: dict[str, Any], descriptors: Path | None) -> dict[str, Any]:
    """A workload of kind ``http`` whose requests are calls, their messages made into bytes.

    Parameters
    ----------
    workload : dict
        Paths are ``/SERVICE/METHOD``; bodies are messages as JSON, texts or files of it.
    descriptors : path, optional
        Of the protos; without, calls have empty messages.

    Raises
    ------
    UsageError
        If one is no call, or its message cannot be made.
    """
    known = None if descriptors is None else Descriptors(descriptors)
    requests = workload.get("requests") or [{"path": path} for path in workload.get("paths", ["/"])]
    kept = {key: value for key, value in workload.items() if key != "paths"}
    return kept | {"requests": [_call(one, known) for one in requests]}


def _call(request: dict[str, Any], known: Descriptors | None) -> dict[str, Any]:
    path = str(request.get("path", "/"))
    found = _METHOD.fullmatch(path)
    if found is None:
        raise UsageError(
            "bad-value",
            f"{path} is not a gRPC method",
            hint="grpc://HOST:PORT/package.Service/Method",
            key="path",
            value=path,
        )
    service, method = found.groups()
    if known is None:
        if request.get("body") is not None:
            raise UsageError(
                "missing-argument",
                f"the message to {service}/{method} is JSON, and its field types are unknown",
                hint=f"--descriptors FILE.binpb, made with {_HOW}",
                option="--descriptors",
                name=f"{service}/{method}",
            )
        sent = b""
    else:
        sent = known.message(service, method, _text(request.get("body"), path))
    headers = {
        name: value for name, value in request.get("headers", {}).items() if name.lower() != "content-type"
    }
    framed = b"\0" + len(sent).to_bytes(4) + sent
    call = {"name": path[1:]} | request | {"method": "POST", "body": {"hex": framed.hex()}}
    if request.get("name") in ("get", "post"):  # what a single request is called where nobody named it
        call["name"] = path[1:]
    return {key: value for key, value in call.items() if key != "headers"} | (
        {"headers": headers} if headers else {}
    )


def _text(body: object, path: str) -> str:
    """A message's JSON."""
    if body is None:
        return ""
    if isinstance(body, dict) and isinstance(file := body.get("file"), str):
        try:
            return read_text(Path(file))
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8"
            raise UsageError(
                "unreadable-file" if Path(file).exists() else "no-such-file",
                f"the message to {path}: cannot read {file}: {why}",
                hint=f"ls -l {file}",
                path=file,
            ) from None
    if not isinstance(body, str):
        raise UsageError(
            "unsupported",
            f"the message to {path} is encoded before the load starts, so it cannot be a template",
            hint="write it as JSON, or name a file that holds it",
            name=path,
        )
    return body
