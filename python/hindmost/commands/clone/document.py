"""Clone documents as files: TOML, JSON, or one of the applications that ship with Hindmost.

The engine (``crates/clone``) defines and checks the format; its JSON Schema is generated from there.
"""

from __future__ import annotations

import difflib
import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.commands.clone.refusals import refusal
from hindmost.core.documents import parse_toml, read_text
from hindmost.core.plan.positions import SourceText, locate_refusal
from hindmost.errors import UsageError, unreadable_file

SCHEMA = "hindmost.clone/1"
FOLDER = Path(__file__).parent / "applications"
APPLICATIONS = tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))
"""The eight applications of TailWAG's Table 2 (BID 2023), shipped as clone documents."""

MAX_BYTES = 1 << 26
"""An empirical law of a million points has 30 MB; larger files are refused."""


@dataclass(frozen=True)
class Clone:
    """A checked document and the values derived from it.

    Parameters
    ----------
    document : dict
        The document with all defaults filled in, as in its JSON Schema.
    mean_busy_us : float
        Mean time a thread is busy with a request: service, locks held, disturbances of requests.
    stopped_share : float
        Share of the time for which disturbances stop the threads.
    capacity_per_s : float or None
        The highest sustainable rate, including waits for locks and the load dependence; None if nothing takes
        time.

    Examples
    --------
    >>> clone = load_clone("masstree")
    >>> clone.name, clone.threads
    ('masstree', 1)
    >>> 8_000 < clone.capacity_per_s < 9_000
    True
    """

    document: dict[str, Any] = field(repr=False)
    mean_busy_us: float
    stopped_share: float
    capacity_per_s: float | None

    @property
    def name(self) -> str:
        """Name of the clone."""
        return str(self.document["name"])

    @property
    def threads(self) -> int:
        """Number of worker threads."""
        return int(self.document["threads"])

    def rate_at(self, share: float) -> float | None:
        """Return the rate at which the threads have this utilisation; None if nothing takes time.

        ``load.time`` and ``arrival_us`` are included, and locks and stalls count as in the capacity. An
        arrival interrupts a thread when all threads are busy. Its probability is computed as if threads were
        busy independently of each other, which is exact for one thread.
        """
        if self.capacity_per_s is None:
            return None
        document = self.document
        slower = 1.0 + float(document["load"]["time"]) * share
        arrival_us = float(document.get("arrival_us", 0.0))
        if slower == 1.0 and arrival_us == 0.0:
            return share * self.capacity_per_s
        busy = float(self.mean_busy_us * slower)
        threads = float(share * self.threads * (1.0 - self.stopped_share))
        if arrival_us == 0.0:
            return min(threads / busy * 1e6, self.capacity_per_s * share / slower)
        # rate * busy + share^k * rate * arrival / (1 + rate * arrival) = threads
        half = (busy + (share**self.threads - threads) * arrival_us) / 2.0
        return (math.sqrt(half * half + busy * arrival_us * threads) - half) / (busy * arrival_us) * 1e6

    @cached_property
    def text(self) -> str:
        """The document as JSON text for the engine."""
        return json.dumps(self.document, allow_nan=False)

    @classmethod
    def from_document(
        cls, document: dict[str, Any], where: str = "the clone document", written: SourceText | None = None
    ) -> Clone:
        """Check a document.

        Parameters
        ----------
        document : dict
            The parsed document.
        where : str
            Name of the document in messages.
        source : SourceText, optional
            The text it was read from, for line numbers in messages.

        Raises
        ------
        UsageError
            Names the field, its value and the allowed values.
        """
        text = json.dumps(document)
        try:
            checked = json.loads(_engine.check_clone(text))
        except _engine.EngineError as error:
            found = locate_refusal(str(error.args[1]), text, where, written)
            raise UsageError(
                found.code,
                found.text,
                hint="for an example: hindmost clone show silo",
                **refusal(str(error.args[1]))[1] | found.fields,
            ) from None
        return cls(**checked)

    def with_changes(self, **changes: Any) -> Clone:  # noqa: ANN401 (any field of a document)
        """Return a checked copy with top-level fields changed."""
        return Clone.from_document({**self.document, **changes})


def load_clone(source: str | Path) -> Clone:
    """Load a document from a ``.toml`` or ``.json`` file, or an application by its name.

    Raises
    ------
    UsageError
        There is no such file or application, or the document is invalid.
    """
    path, text = _read(source)
    try:
        document = json.loads(text) if path.suffix == ".json" else parse_toml(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise UsageError(
            "bad-file",
            f"{path} is not {kind}: {error}",
            hint="an example: hindmost clone show silo > mine.toml",
            path=str(path),
            line=getattr(error, "lineno", None),
        ) from None
    if not isinstance(document, dict):
        raise UsageError(
            "bad-file",
            f"{path} contains a {type(document).__name__}, not a clone document",
            hint="an example: hindmost clone show silo",
            path=str(path),
        )
    return Clone.from_document(
        document, str(path), SourceText(text, toml=path.suffix != ".json", path=str(path))
    )


def read_source(source: str | Path) -> str:
    """Return the original text of a document's file.

    Raises
    ------
    UsageError
        As for `load_clone`, except that the content is not checked.
    """
    return _read(source)[1]


def _read(source: str | Path) -> tuple[Path, str]:
    """Return path and text of a document."""
    path = Path(source)
    if str(source) in APPLICATIONS:
        path = FOLDER / f"{source}.toml"
    elif not path.is_file():
        near = difflib.get_close_matches(str(source), APPLICATIONS, n=1)
        maybe = f" (did you mean {near[0]}?)" if near else ""
        raise UsageError(
            "no-such-file",
            f"no file or application is called {source}{maybe}",
            hint=f"applications: {', '.join(APPLICATIONS)};"
            " fit your own: hindmost clone fit LOG.csv --out clone.toml",
            path=str(source),
            known=list(APPLICATIONS),
            nearest=near[0] if near else None,
        )
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise UsageError(
            "bad-file",
            f"{path} has {size:,} bytes; a clone document has at most {MAX_BYTES:,}",
            hint="an empirical law needs a few thousand points, not every sample",
            path=str(path),
            value=size,
            most=MAX_BYTES,
        )
    try:
        return path, read_text(path)
    except UnicodeDecodeError as error:
        raise UsageError(
            "bad-file",
            f"{path} is not UTF-8 text: {error}",
            hint="hindmost clone show silo > mine.toml",
            path=str(path),
        ) from None
    except OSError as error:
        raise unreadable_file(path, error) from None
