"""The JSON Schemas of all documents that Hindmost writes.

=========================== ==================================  ========================================
schema                      where                               written by
=========================== ==================================  ========================================
``hindmost.study/1``        ``manifest.json``                   `hindmost.store.Study`
``hindmost.run/2``          ``runs/N/run.json``                 `hindmost.studies.measure.Procedure`
``hindmost.client/1``     ``runs/N/client-K.json``          ``crates/load``
``hindmost.measure/2``      ``result.json``                     `hindmost.studies.measure.answer`
``hindmost.search/1``       ``search.json``                     `hindmost.studies.search`
``hindmost.attribution/2``  ``attribution.json``                `hindmost.studies.attribution.answer`
``hindmost.verification/1`` ``verification.json``               `hindmost.studies.comparison.clone`
``hindmost.compare/2``      ``comparison.json``, ``--json``     `hindmost.studies.comparison.targets`
``hindmost.batching/1``     ``batching.json``, ``--json``       `hindmost.studies.comparison.batching`
``hindmost.trial/1``        ``trial.json``, ``--json``          `hindmost.studies.comparison.setting`
``hindmost.list/1``         ``hindmost study list --json``      `hindmost.studies.listing`
``hindmost.fit/1``          ``hindmost clone fit --json``       `hindmost.models.fit.account`
``hindmost.simulation/1``   ``hindmost clone simulate --json``  `hindmost.models.simulation`
``hindmost.sweep/1``        ``hindmost clone sweep --json``     `hindmost.models.sweep`
``hindmost.serve/1``        ``hindmost clone serve --json``     ``crates/synth``, `hindmost.cli.clone`
``hindmost.certificate/1``  ``... --certificate --json``        ``crates/synth``
``hindmost.trace/2``        ``hindmost trace --json``           `hindmost.trace`, ``crates/trace``
``hindmost.stressors/1``       ``hindmost colocate stressors --json``  `hindmost.studies.colocation`
``hindmost.profile/2``      profiles                       `hindmost.studies.colocation`
``hindmost.pairs/2``        ``hindmost colocate pairs --json``  `hindmost.studies.colocation`
``hindmost.neighbours/2``   ``hindmost colocate predict --json``  `hindmost.colocation.decision`
``hindmost.stress/2``       ``hindmost colocate stressors --run --json``  `hindmost.studies.colocation`
``hindmost.corun/2``        ``hindmost colocate predict --measure --json``  `hindmost.studies.colocation`
``hindmost.advice/2``       ``hindmost colocate predict --advise --json``  `hindmost.studies.colocation`
``hindmost.supervision/1``  ``... supervise --json``            `hindmost.studies.colocation`
``hindmost.diagnosis/2``    ``hindmost diagnose --json``        `hindmost.studies.diagnosis`
``hindmost.classes/1``      ``hindmost harvest classify``       `hindmost.harvest`, ``crates/harvest``
``hindmost.doctor/1``       ``hindmost host doctor --json``     ``crates/host``
``hindmost.knobs/1``        ``hindmost host knobs --json``      ``crates/knobs``
=========================== ==================================  ========================================


Documents written by Rust have their schema from Rust's structs (`hindmost.store.engine` has them as types);
all others have theirs from the types in this package. Keys that a schema does not name are allowed, so that a
later version may add some.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args, get_type_hints

import msgspec

from hindmost.store import (
    attribution,
    batching,
    colocation,
    comparison,
    diagnosis,
    fit,
    harvest,
    knobs,
    listing,
    manifest,
    measure,
    pairs,
    predictions,
    search,
    serving,
    supervision,
    trace,
    trial,
)
from hindmost.store import verification as verifications
from hindmost.store.types import INFINITE

Schema = dict[str, Any]
WORDS: Schema = {"enum": ["inf", "-inf"]}
DIALECT = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: dict[str, tuple[Any, str]] = {
    "study": (manifest.Manifest, "Manifest of a study"),
    "run": (manifest.RunRecord, "One finished run of a study"),
    "measure": (measure.Measure, "Result of hindmost measure"),
    "search": (search.Search, "Result of hindmost measure --find-rate"),
    "attribution": (attribution.Attribution, "Result of hindmost attribute"),
    "verification": (verifications.Verification, "Result of hindmost compare --clone"),
    "compare": (comparison.Comparison, "Result of hindmost compare"),
    "batching": (batching.Batching, "Result of hindmost compare --batch"),
    "trial": (trial.Trial, "Result of hindmost compare --set"),
    "list": (listing.Listing, "Result of hindmost study list"),
    "fit": (fit.FitResult, "Result of hindmost clone fit"),
    "simulation": (predictions.Simulation, "Result of hindmost clone simulate"),
    "sweep": (predictions.Sweep, "Result of hindmost clone sweep"),
    "serve": (serving.Serving, "Result of hindmost clone serve"),
    "certificate": (serving.CertificateDocument, "Result of hindmost clone serve --certificate"),
    "trace": (trace.Trace, "Result of hindmost trace"),
    "stressors": (colocation.Stressors, "Result of hindmost colocate stressors"),
    "profile": (colocation.Profile, "A profile of hindmost colocate profile"),
    "pairs": (pairs.Pairs, "Result of hindmost colocate pairs"),
    "neighbours": (pairs.Neighbours, "Result of hindmost colocate predict"),
    "stress": (pairs.Stress, "Result of hindmost colocate stressors --run"),
    "corun": (colocation.CoRun, "Result of hindmost colocate predict --measure"),
    "advice": (colocation.Advice, "Result of hindmost colocate predict --advise"),
    "supervision": (supervision.Supervision, "Result of hindmost colocate supervise"),
    "diagnosis": (diagnosis.Diagnosis, "Result of hindmost diagnose"),
    "harvest-simulation": (harvest.HarvestSimulation, "Result of hindmost harvest simulate"),
    "classes": (harvest.Classes, "Result of hindmost harvest classify"),
    "doctor": (serving.Doctor, "Result of hindmost host doctor"),
    "knobs": (knobs.Knobs, "Result of hindmost host knobs"),
}
"""Name (``study`` for ``hindmost.study/1``), type of the document, title."""
ENGINE = {"client": ("ClientResult", "Result of one load client")}
"""Documents written by Rust alone: name, struct, title."""


@cache
def schemas() -> dict[str, Schema]:
    """Return the JSON Schema (2020-12) of each document by its name: ``study`` for ``hindmost.study/1``."""
    of_types = {name: _schema_of(document, name, title) for name, (document, title) in DOCUMENTS.items()}
    return of_types | {
        name: _schema_from_rust(struct, name, title) for name, (struct, title) in ENGINE.items()
    }


def current_schema(name: str) -> str:
    """Return the schema that documents of this kind have now: ``hindmost.measure/2`` for ``measure``."""
    from hindmost.store import engine

    kind = getattr(engine, ENGINE[name][0]) if name in ENGINE else DOCUMENTS[name][0]
    (schema,) = get_args(get_type_hints(kind)["schema"])
    return str(schema)


def _head(name: str, title: str) -> Schema:
    return {"$schema": DIALECT, "$id": current_schema(name), "title": title}


def _schema_of(document: Any, name: str, title: str) -> Schema:  # noqa: ANN401 (a TypedDict class)
    body = _with_infinity(msgspec.json.schema(document))
    return {**_head(name, title), **body, "$defs": dict(sorted(body["$defs"].items()))}


def _with_infinity(schema: Any) -> Any:  # noqa: ANN401 (a schema or a part of it)
    """Allow the word for infinity where a number may be infinite."""
    if isinstance(schema, list):
        return [_with_infinity(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    allowed = {key: _with_infinity(part) for key, part in schema.items() if key != INFINITE}
    return {**allowed, "anyOf": [*allowed["anyOf"], WORDS]} if INFINITE in schema else allowed


def _schema_from_rust(struct: str, name: str, title: str) -> Schema:
    from hindmost import _engine

    types: dict[str, Schema] = json.loads(_engine.written_schemas())["$defs"]
    reached = {struct}
    waiting = [struct]
    while waiting:
        new = set(_references(types[waiting.pop()])) - reached
        reached |= new
        waiting += new
    parts = {part: types[part] for part in sorted(reached - {struct})}
    return {**_head(name, title), **types[struct], "$defs": parts}


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        for part in schema.values():
            yield from _references(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _references(part)
