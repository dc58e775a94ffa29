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
from pathlib import Path
from typing import Any, BinaryIO

from hindmost import errors
from hindmost.documents import parse_json
from hindmost.errors import HindmostError, InstanceError
from hindmost.fleet.dask.places import make_place, sweep
from hindmost.fleet.dask.replies import known_code, known_fields

MOST_BYTES = 128 << 20
START_S = 60.0
END_S = 12.0
PASSED = ("PATH", "HOME", "LANG", "TZ", "VIRTUAL_ENV")
PREFIXES = ("LC_", "DASK_", "PYTHON", "COVERAGE_")
"""Of the environment, which may hold secrets."""
Message = dict[str, Any]


class Link:
    """A broker that runs.

    Attributes
    ----------
    rights : dict
        What it has left (`broker.give_up_rights`).
    """

    def __init__(self, process: asyncio.subprocess.Process, errors: BinaryIO, folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._errors = errors
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[asyncio.Future[Any], Callable[[Message], None] | None]] = {}
        self._reading = asyncio.ensure_future(self._read())
        self.rights: Message = {}

    @classmethod
    async def start(cls, config: Mapping[str, Any]) -> Link:
        """Start a broker.

        Parameters
        ----------
        config : mapping
            `broker.Broker`.

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
            *(sys.executable, "-P", "-m", "hindmost.fleet.dask.broker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=written,
            env=env | {"OPENBLAS_NUM_THREADS": "1"},
            limit=MOST_BYTES,
        )
        link = cls(process, written, folder)
        ready = link._wait_for(0)
        link._send({**config, "folder": str(folder)})
        link.rights = await asyncio.wait_for(ready, START_S)
        return link

    def _wait_for(self, number: int, each: Callable[[Message], None] | None = None) -> asyncio.Future[Any]:
        future = asyncio.get_running_loop().create_future()
        self._waiting[number] = (future, each)
        return future

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def ask(self, do: str, each: Callable[[Message], None] | None = None, **what: object) -> Any:  # noqa: ANN401 (JSON)
        """Have a command of `broker.Broker` done; gives what it comes to.

        Parameters
        ----------
        each : callable, optional
            Given what comes before the end.
        """
        number = next(self._numbers)
        future = self._wait_for(number, each)
        try:
            self._send({"id": number, "do": do, **what})
            if self._reading.done():
                raise self._ended()
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
                self._take(parse_json(line.decode()))
        except (ValueError, KeyError, TypeError, AttributeError):
            # Taken over, it may send anything; whatever it is, we are done with it.
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        for future, _ in self._waiting.values():
            if not future.done():
                future.set_exception(self._ended())

    def _take(self, message: Message) -> None:
        future, each = self._waiting.get(message["id"], (None, None))
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(_restored(message["error"]))
        elif "failed" in message:
            text = f"the fleet's broker failed: {message['failed']}"
            future.set_exception(InstanceError("broker-failed", text, hint="hindmost doctor"))
        elif "ok" in message:
            future.set_result(message["ok"])
        elif each is not None:
            each(message)

    async def close(self) -> None:
        """End it: its input closes; a deaf one is killed."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), END_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        self._reading.cancel()
        # Its end of the pipe may be held open by a process that it left.
        self._process._transport.close()  # type: ignore[attr-defined]
        self._errors.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _ended(self) -> InstanceError:
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 1000))
        words = self._errors.read().decode(errors="replace").strip()
        return InstanceError(
            "broker-failed",
            "the fleet's broker ended" + (f": {words}" if words else ""),
            hint="who ended it? if memory was short: dmesg | tail",
            words=words,
        )


KINDS = {"UsageError", "InstanceError"}


def _restored(document: Message) -> HindmostError:
    """The error that the broker reports (`replies.error_document`)."""
    name = document["kind"]
    kind: type[HindmostError] = getattr(errors, name) if name in KINDS else InstanceError
    hint = document["hint"]
    return kind(
        known_code(document["code"]),
        str(document["message"]),
        hint=None if hint is None else str(hint),
        **known_fields(document["fields"]),
    )
