"""Pushes a study's figures to a collector of OpenTelemetry: OTLP over HTTP, encoded as JSON."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hindmost.commands.study.api import open_study
from hindmost.commands.study.export import metrics, otlp
from hindmost.errors import StudyError, UsageError

_PATIENCE_S = 10.0
_LARGEST_BYTES = 1 << 16
"""Bytes of a reply that are read."""


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    """Report a redirection as an error: following it would lose the request's body."""

    def redirect_request(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 (of the base class)
        """Return no request."""


def push_study(study: Path, url: str, headers: Mapping[str, str]) -> int:
    """Send a study's figures to a collector; return their number.

    Parameters
    ----------
    study : Path
        The study's folder.
    url : str
        Where the collector takes metrics, such as ``http://localhost:4318/v1/metrics``.
    headers : mapping
        Headers of the request, such as an authorization. They are never shown.

    Raises
    ------
    UsageError
        If the URL is not one of HTTP.
    StudyError
        If the study cannot be read, or the collector cannot be reached, or refuses some figures.
    """
    if not url.startswith(("http://", "https://")):
        raise UsageError(
            "bad-value",
            f"--push {url!r} is not a URL of HTTP",
            hint="--push http://localhost:4318/v1/metrics",
            option="--push",
            value=url,
        )
    result = open_study(study, frames="rows")
    figures = metrics(result)
    content = otlp(result, figures).encode()
    own = {"Content-Type": "application/json"}
    try:
        request = urllib.request.Request(url, content, {**own, **headers}, method="POST")
        with urllib.request.build_opener(_NoRedirection).open(request, timeout=_PATIENCE_S) as reply:
            status, refusal = reply.status, _refusal(reply.read(_LARGEST_BYTES))
    except urllib.error.HTTPError as error:
        with error:
            status = error.code
            refusal = error.read(_LARGEST_BYTES).decode("utf-8", "replace").strip()[:200] or error.reason
    except (OSError, http.client.HTTPException, ValueError) as error:
        status, refusal = None, str(getattr(error, "reason", error))
    if refusal:
        answer = "" if status is None else f" (status {status})"
        raise StudyError(
            "push-failed",
            f"{url} did not take the figures{answer}: {refusal}",
            hint="see the collector's log; it must have a receiver of OTLP over HTTP",
            url=url,
            status=status,
        )
    return len(figures)


def _refusal(reply: bytes) -> str:
    """Return why a collector that answered with success refuses figures, if it does."""
    try:
        partial = json.loads(reply or b"{}").get("partialSuccess") or {}
        rejected = int(partial.get("rejectedDataPoints", 0))
    except (ValueError, AttributeError, TypeError):
        return ""
    return f"{rejected} refused: {partial.get('errorMessage', '')}" if rejected else ""
