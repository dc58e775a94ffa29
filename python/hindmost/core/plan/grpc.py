"""gRPC calls of one request: messages written as JSON, encoded once with the descriptors of their protos."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from hindmost.core.documents import read_bytes, read_text
from hindmost.core.names import nearest
from hindmost.errors import UsageError, unreadable_file

_METHOD = re.compile(r"/([\w.]+)/(\w+)")
_HOW = "protoc --include_imports --descriptor_set_out=FILE.binpb YOUR.proto"


class Descriptors:
    """The descriptors of services and messages.

    Parameters
    ----------
    file : path
        A ``FileDescriptorSet``, as written by ``protoc --include_imports --descriptor_set_out``.
    stream : bool
        Whether replies may be streams.

    Raises
    ------
    UsageError
        If it cannot be read or is not a descriptor set, or protobuf is not installed.
    """

    def __init__(self, file: Path, *, stream: bool = False) -> None:
        self.file = file
        self.stream = stream
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
            descriptor_set = messages.FileDescriptorSet.FromString(read_bytes(file))
        except OSError as error:
            raise unreadable_file(file, error, place="--descriptors: ", option="--descriptors") from None
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
            for proto in descriptor_set.file:
                self._pool.Add(proto)
            self._services = {
                f"{proto.package}.{service.name}".lstrip("."): self._pool.FindServiceByName(
                    f"{proto.package}.{service.name}".lstrip(".")
                )
                for proto in descriptor_set.file
                for service in proto.service
            }
        except Exception as error:  # a missing import is a TypeError or a KeyError, depending on protobuf
            raise UsageError(
                "bad-file",
                f"--descriptors: {file} lacks something that its protos import: {error}",
                hint=_HOW,
                option="--descriptors",
                path=str(file),
            ) from None

    def message(self, service: str, method: str, text: str) -> bytes:
        """Encode the request of a method.

        Parameters
        ----------
        service, method : str
            For example ``helloworld.Greeter`` and ``SayHello``.
        text : str
            The message as JSON (protobuf's mapping); empty for one without fields.

        Raises
        ------
        UsageError
            If there is no such method, it is a stream that is not measured, or the text is not its message.
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
        descriptor = methods[method]
        if descriptor.client_streaming or (descriptor.server_streaming and not self.stream):
            sends = descriptor.client_streaming
            what = "requests, and Hindmost sends only one" if sends else "replies"
            raise UsageError(
                "unsupported",
                f"{service}/{method} is a stream of {what}",
                hint="name another method" if sends else "--stream measures its replies",
                name=f"{service}/{method}",
            )
        message = self._classes.GetMessageClass(descriptor.input_type)()
        try:
            self._json.Parse(text or "{}", message)
        except self._json.ParseError as error:
            raise UsageError(
                "bad-value",
                f"the message to {service}/{method} is not a {descriptor.input_type.full_name}: {error}",
                hint="write it as JSON, with the fields of its proto",
                name=f"{service}/{method}",
                value=text,
                expected=descriptor.input_type.full_name,
            ) from None
        encoded: bytes = message.SerializeToString(deterministic=True)
        return encoded


def with_calls(workload: dict[str, Any], descriptors: Path | None, *, stream: bool = False) -> dict[str, Any]:
    """Return an ``http`` workload whose requests are gRPC calls with encoded messages.

    Parameters
    ----------
    workload : dict
        Paths are ``/SERVICE/METHOD``; bodies are messages as JSON, as text or in files.
    descriptors : path, optional
        Descriptors of the protos; without them, calls have empty messages.
    stream : bool
        Whether replies may be streams.

    Raises
    ------
    UsageError
        If a request is not a call, or its message cannot be encoded.
    """
    known_types = None if descriptors is None else Descriptors(descriptors, stream=stream)
    requests = workload.get("requests") or [{"path": path} for path in workload.get("paths", ["/"])]
    rest = {key: value for key, value in workload.items() if key != "paths"}
    return rest | {"requests": [_call(request, known_types) for request in requests]}


def _call(request: dict[str, Any], known_types: Descriptors | None) -> dict[str, Any]:
    path = str(request.get("path", "/"))
    match = _METHOD.fullmatch(path)
    if match is None:
        raise UsageError(
            "bad-value",
            f"{path} is not a gRPC method",
            hint="grpc://HOST:PORT/package.Service/Method",
            key="path",
            value=path,
        )
    service, method = match.groups()
    if known_types is None:
        if request.get("body") is not None:
            raise UsageError(
                "missing-argument",
                f"the message to {service}/{method} is JSON, and its field types are unknown",
                hint=f"--descriptors FILE.binpb, made with {_HOW}",
                option="--descriptors",
                name=f"{service}/{method}",
            )
        message = b""
    else:
        message = known_types.message(service, method, _text(request.get("body"), path))
    headers = {
        name: value for name, value in request.get("headers", {}).items() if name.lower() != "content-type"
    }
    framed = b"\0" + len(message).to_bytes(4) + message
    call = {"name": path[1:]} | request | {"method": "POST", "body": {"hex": framed.hex()}}
    if request.get("name") in ("get", "post"):  # the default name of a single request
        call["name"] = path[1:]
    return {key: value for key, value in call.items() if key != "headers"} | (
        {"headers": headers} if headers else {}
    )


def _text(body: object, path: str) -> str:
    """Return a message's JSON."""
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
