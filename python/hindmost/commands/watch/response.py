"""The response to a latency that became slow: a diagnosis, within the limits of its policy."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hindmost.errors import HindmostError, UsageError

if TYPE_CHECKING:
    from hindmost import _engine
    from hindmost.commands.watch.daemon import Service
    from hindmost.commands.watch.latency import LatencySource

PERCENTILE = 95.0
"""Percentile that is judged and diagnosed: at 200 requests/s, `diagnose` cannot see the 99th in a window."""
PROGRAM = """
import os, signal, sys
from hindmost.core.targets.guard import PR_SET_PDEATHSIG, prctl
prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
from hindmost.cli import main
sys.exit(main(sys.argv[2:]))
"""
"""The command line, ended by SIGTERM, which undoes every change, when the watch is killed."""


@dataclass(frozen=True, slots=True)
class Response:
    """A diagnosis to start when latency becomes slow.

    Attributes
    ----------
    policy : Path
        File that says what the diagnosis may change, where, and how often.
    application : tuple of str
        Arguments of ``hindmost diagnose`` that name the application and its address.
    folder : Path
        Folder for the answers.
    """

    policy: Path
    application: tuple[str, ...]
    folder: Path


def response_to(
    on_change: str | None,
    policy: Path | None,
    latency: LatencySource | None,
    application: str,
    probe_address: str | None,
    rings: Path,
) -> Response | None:
    """Return what to do when latency becomes slow; None for nothing.

    Raises
    ------
    UsageError
        There is no policy, or no probe, which a diagnosis needs.
    """
    if on_change is None:
        return None
    if policy is None:
        raise UsageError(
            "missing-argument",
            "a watch starts diagnoses only within a policy",
            hint="--policy FILE.toml",
            option="--policy",
        )
    if latency is None or "probe" not in latency.document:
        raise UsageError(
            "needs-probe",
            "a diagnosis needs a probe: an access log reports latency too late",
            hint="--probe-address http://127.0.0.1:80",
            option="--probe-address",
        )
    from hindmost.core.interventions.policy import read_policy

    read_policy(policy)
    address = () if probe_address is None else ("--probe-address", probe_address)
    return Response(policy.absolute(), (application, *address), rings / "diagnoses")


class Responder:
    """Starts diagnoses, one at a time. Ends a running one at the end of its block."""

    def __init__(self, inbox: _engine.WatchInbox) -> None:
        self._inbox = inbox
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._refused_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.terminate()
        if self._thread is not None:
            self._thread.join()

    def respond(self, service: Service) -> None:
        """Judge the ring of a service and start a diagnosis if it became slow. Returns at once."""
        if self._thread is not None and self._thread.is_alive():
            return
        self._thread = threading.Thread(target=self._respond, args=(service,), name="response")
        self._thread.start()

    def _respond(self, service: Service) -> None:
        assert service.response is not None
        try:
            self._judge(service, service.response)
        except (HindmostError, OSError) as error:
            self._report(service, diagnosis=f"no diagnosis: {error}")

    def _judge(self, service: Service, response: Response) -> None:
        from hindmost.commands.watch.blocks import judge_ring
        from hindmost.commands.watch.ring import read_ring
        from hindmost.core.interventions.policy import read_policy
        from hindmost.stats.series.changes import Detector

        policy = read_policy(response.policy)
        if time.time() - self._last_start(response.folder) < 60 * policy.every_minutes:
            return
        assert service.ring is not None
        change = judge_ring(read_ring(service.ring), PERCENTILE / 100, Detector()).change
        if change.kind != "anomaly":
            return
        self._report(service, slow=f"latency became slow: {change.why}")
        if (why := policy.forbids_now(time.localtime().tm_hour)) is not None:
            self._refused_at = time.time()
            self._report(service, diagnosis=f"no diagnosis: {why}")
        else:
            self._diagnose(service, response)

    def _last_start(self, folder: Path) -> float:
        """Return when the last diagnosis was started or refused, s since 1970; also by an earlier watch."""
        return max([self._refused_at, *(log.stat().st_mtime for log in folder.glob("*.log"))])

    def _diagnose(self, service: Service, response: Response) -> None:
        response.folder.mkdir(parents=True, exist_ok=True)
        assert service.ring is not None
        name = f"{service.ring.stem}-{time.strftime('%Y%m%d-%H%M%S')}"
        answer, page = (response.folder / f"{name}.{end}" for end in ("json", "html"))
        words = ["diagnose", *response.application, "--percentile", f"{PERCENTILE:g}"]
        words += ["--ring", str(service.ring), "--policy", str(response.policy)]
        words += ["--out", str(answer), "--page", str(page)]
        self._report(service, diagnosis=f"diagnosis started: hindmost {' '.join(words)}")
        log = response.folder / f"{name}.log"
        with log.open("wb") as output:
            code = self._run(words, output.fileno())
        self._report(service, diagnosis=_summarise(code, answer, log))

    def _run(self, words: Sequence[str], output: int) -> int:
        """Run a command of Hindmost; return its exit code."""
        with self._lock:
            if self._closed:
                return 1
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, str(os.getpid()), *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            return self._process.wait()
        finally:
            with self._lock:
                self._process = None

    def _report(self, service: Service, **event: str) -> None:
        self._inbox.report(service.name, json.dumps(event))


def _summarise(code: int, answer: Path, log: Path) -> str:
    """Return the end of a diagnosis in words."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        document = json.loads(answer.read_text(encoding="utf-8"))
        leader = document["leader"]
        named = f" ({leader})" if leader and document["ruling"] == "cause" else ""
        return f"diagnosis ended: {document['ruling']}{named}; see {answer.with_suffix('.html')}"
    last = log.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
    return f"diagnosis ended with exit code {code}: {last}"
