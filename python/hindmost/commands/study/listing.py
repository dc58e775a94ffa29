"""The studies below a folder, by their manifests and answers only; no run is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from hindmost import __version__
from hindmost.commands.study.document import Listing, StudyEntry
from hindmost.core.documents import read_bytes
from hindmost.core.notes import Note
from hindmost.core.store import Study, name_of, now_utc
from hindmost.core.store.estimates import Value
from hindmost.core.store.reading import revive
from hindmost.errors import StudyError, UsageError

FILES = {
    "measure": ("result.json", "report.html"),
    "search": ("search.json", "report.html"),
    "attribution": ("attribution.json", "report.html"),
    "verification": ("verification.json", "verification.html"),
    "comparison": ("comparison.json", "report.html"),
    "trial": ("trial.json", "report.html"),
    "batching": ("batching.json", "report.html"),
    "explain": ("explanation.json", "report.html"),
}
"""File names of the answer and the page, by kind of study."""
DEEPEST = 6
"""Most folder levels between the listed folder and a study."""


class _Figure(msgspec.Struct):
    value: float | Literal["inf"] | None = None
    low: float | Literal["inf"] | None = None
    high: float | Literal["inf"] | None = None
    censored_runs: int = 0


class _Answer(msgspec.Struct):
    """The fields of an answer that are read. Skipping the others takes a tenth of the time."""

    verdict: str | None = None
    headline: str | None = None
    finished: bool | None = None
    latency_us: dict[str, _Figure] = {}


_READ = msgspec.json.Decoder(_Answer)


def listing(folder: Path) -> Listing:
    """List all studies below a folder.

    Raises
    ------
    UsageError
        There is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(
            "no-such-file", f"there is no folder {folder}", hint="hindmost study list .", path=str(folder)
        )
    found = [_entry(place, folder) for place in _studies(folder, 0)]
    return Listing(
        schema="hindmost.list/1",
        version=__version__,
        created=now_utc(),
        folder=str(folder),
        studies=sorted(found, key=lambda one: (one.created or "", one.folder)),
    )


def _studies(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the folders with a manifest, without the parts and runs inside them."""
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError:
        return
    if any(one.name == "manifest.json" for one in entries):
        yield folder
    elif depth < DEEPEST:
        for one in entries:
            if one.is_dir(follow_symlinks=False) and not one.name.startswith("."):
                yield from _studies(Path(one.path), depth + 1)


def _entry(place: Path, below: Path) -> StudyEntry:
    name = str(place.relative_to(below))
    try:
        study = Study.open(place)
        return _read(study, name)
    except StudyError as error:
        why = Note(error.code, error.message, error.fields)
    except OSError as error:
        text = f"cannot read {error.filename}: {error.strerror}"
        why = Note("unreadable-file", text, {"path": str(error.filename)})
    except (ValueError, msgspec.MsgspecError) as error:
        why = Note("bad-file", f"the answer cannot be read: {error}", {"path": str(place)})
    return StudyEntry(folder=name, latency_us={}, fault=why.document())


def _read(study: Study, name: str) -> StudyEntry:
    plan: dict[str, Any] = study.manifest["plan"]
    kind = name_of(study.manifest)
    file, page = FILES.get(kind, ("result.json", "report.html"))
    answer = _Answer()
    if (study.folder / file).exists():
        answer = _READ.decode(read_bytes(study.folder / file))
    verdict = answer.verdict
    if kind == "search" and answer.finished is not None:
        verdict = "found" if answer.finished else "open"
    comparison = study.manifest.get("comparison")
    targets = [one["target"] for one in comparison["plans"]] if comparison else [plan.get("target")]
    return StudyEntry(
        folder=name,
        kind=kind,
        target=" against ".join(str(one) for one in targets),
        rate_per_s=plan.get("rate_per_s"),
        load=f"{plan.get('loop', 'open')} loop",
        created=study.manifest.get("created"),
        verdict=verdict,
        headline=answer.headline,
        runs=_runs(study.folder),
        latency_us=_figures(answer),
        page=page if (study.folder / page).exists() else None,
        busy=study.busy(),
    )


def _figures(answer: _Answer) -> dict[str, Value]:
    stored = {label: msgspec.structs.asdict(one) for label, one in answer.latency_us.items()}
    found = revive({"schema": "hindmost.measure/2", "latency_us": stored})["latency_us"]
    return {
        label: Value(value=one["value"], low=one["low"], high=one["high"]) for label, one in found.items()
    }


def _runs(folder: Path) -> int:
    try:
        return sum(entry.name.isdigit() for entry in os.scandir(folder / "runs"))
    except OSError:
        return 0
