"""The controller's end of the pipe to the broker (`broker.py`)."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from hindmost import errors
from hindmost.core.documents import parse_json
from hindmost.core.fleet.dask.places import make_place, sweep
from hindmost.core.fleet.dask.replies import MOST_BYTES, Fault, Rights, known_code, known_fields
from hindmost.errors import ClientError, HindmostError

START_S = 60.0
END_S = 12.0
PASSED = ("PATH", "HOME", "LANG", "TZ", "VIRTUAL_ENV")
PREFIXES = ("LC_", "DASK_", "PYTHON", "COVERAGE_")
"""Environment variables passed on to the broker; all others may be secret."""
Message = dict[str, Any]


@dataclass(slots=True)
class _Waiting:
    """A command without a result yet."""

    future: asyncio.Future[Any]
    kind: Any
    each: Callable[[Message], None] | None


class Link:
    """A running broker.

    Attributes
    ----------
    rights : Rights
        The rights that it has left (`broker.give_up_rights`).
    """

    def __init__(self, process: asyncio.subprocess.Process, errors: BinaryIO, folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._errors = errors
        self._numbers = itertools.count(1)
        self._waiting: dict[int, _Waiting] = {}
        self._reading = asyncio.ensure_future(self._read())
        self.rights = Rights(user=os.geteuid(), confined=False)

    @classmethod
    async def start(cls, config: Mapping[str, Any]) -> Link:
        """Start a broker.

        Parameters
        ----------
        config : mapping
            Configuration for `broker.Broker`.

        Raises
        ------
        InstanceError
            If it does not start.
        """
        env = {
            name: value for name, value in os.environ.items() if name in PASSED or name.startswith(PREFIXES)
        }
        sweep(None)
        folder = make_place("dask", None)
        written = os.fdopen(os.memfd_create("broker"), "w+b")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "hindmost.core.fleet.dask.broker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=written,
            env=env | {"OPENBLAS_NUM_THREADS": "1"},
            limit=MOST_BYTES,
        )
        link = cls(process, written, folder)
        try:
            ready = link._wait_for(0, Rights)
            link._send({**config, "folder": str(folder)})
            link.rights = await asyncio.wait_for(ready, START_S)
        except TimeoutError:
            await link.close()
            text = f"the fleet's broker did not start within {START_S:g} s"
            raise ClientError("broker-failed", text, hint="is the machine short of memory?") from None
        except BaseException:  # Ctrl-C too
            await link.close()
            raise
        return link

    def _wait_for(
        self,
        number: int,
        kind: Any,  # noqa: ANN401 (a type)
        each: Callable[[Message], None] | None = None,
    ) -> asyncio.Future[Any]:
        future = asyncio.get_running_loop().create_future()
        self._waiting[number] = _Waiting(future, kind, each)
        return future

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def ask(
        self,
        do: str,
        kind: Any,  # noqa: ANN401 (a type)
        each: Callable[[Message], None] | None = None,
        **what: object,
    ) -> Any:  # noqa: ANN401 (of that type)
        """Let `broker.Broker` execute a command; return its result.

        Parameters
        ----------
        kind : type
            Type of the result.
        each : callable, optional
            Called with each message before the result; raises ValueError if it is invalid.

        Raises
        ------
        InstanceError
            ``broker-failed``: the broker ended, or sent an invalid message.
        """
        number = next(self._numbers)
        future = self._wait_for(number, kind, each)
        try:
            self._send({"id": number, "do": do, **what})
            if self._reading.done():
                raise self._end_error()
            return await future
        except asyncio.CancelledError:
            if each is not None:
                self._send({"id": next(self._numbers), "do": "stop", "number": number})
            raise
        finally:
            self._waiting.pop(number, None)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                self._handle(parse_json(line.decode()))
        except (ValueError, KeyError, TypeError, AttributeError):
            # A compromised broker may send anything: kill it.
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        for waiting in self._waiting.values():
            if not waiting.future.done():
                waiting.future.set_exception(self._end_error())

    def _handle(self, message: Message) -> None:
        waiting = self._waiting.get(message["id"])
        if waiting is None or waiting.future.done():
            return
        if "error" in message:
            waiting.future.set_exception(_restore_error(message["error"]))
        elif "failed" in message:
            text = f"the fleet's broker failed: {message['failed']}"
            waiting.future.set_exception(ClientError("broker-failed", text, hint="hindmost host doctor"))
        elif "ok" in message:
            waiting.future.set_result(msgspec.convert(message["ok"], waiting.kind))
        elif waiting.each is not None:
            waiting.each(message)

    async def close(self) -> None:
        """Close its input, which ends it; kill it if it does not react."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), END_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        self._reading.cancel()
        # A process that it left behind may hold its end of the pipe open.
        self._process._transport.close()  # type: ignore[attr-defined]
        self._errors.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end_error(self) -> ClientError:
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 1000))
        words = self._errors.read().decode(errors="replace").strip()
        return ClientError(
            "broker-failed",
            "the fleet's broker ended" + (f": {words}" if words else ""),
            hint="if the machine ran out of memory, `dmesg | tail` shows it",
            words=words,
        )


KINDS = {"UsageError", "ClientError"}


def _restore_error(document: object) -> HindmostError:
    """Restore the error that the broker reports (`replies.error_document`)."""
    fault = msgspec.convert(document, Fault)
    kind: type[HindmostError] = getattr(errors, fault.kind) if fault.kind in KINDS else ClientError
    return kind(known_code(fault.code), fault.message, hint=fault.hint, **known_fields(fault.fields))
