"""The JSON Schemas of all documents that Hindmost writes.

Documents written by Rust have their schema from Rust's structs (`hindmost.core.store.engine` has them as
types); all others have theirs from the types of their command. Keys that a schema does not name are allowed,
so that a later version may add some.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, get_args, get_type_hints

import msgspec

from hindmost.core.store.types import INFINITE

Schema = dict[str, Any]
WORDS: Schema = {"enum": ["inf", "-inf"]}
DIALECT = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: dict[str, tuple[str, str]] = {
    "study": ("core.store.manifest:Manifest", "Manifest of a study"),
    "run": ("core.store.manifest:RunRecord", "One finished run of a study"),
    "measure": ("core.store.measure:Measure", "Result of hindmost measure"),
    "search": ("commands.measure.search.document:Search", "Result of hindmost measure --find-rate"),
    "attribution": ("commands.attribute.document:Attribution", "Result of hindmost attribute"),
    "verification": ("commands.compare.documents.clone:Verification", "Result of hindmost compare --clone"),
    "compare": ("commands.compare.documents.targets:Comparison", "Result of hindmost compare"),
    "batching": ("commands.compare.documents.batching:Batching", "Result of hindmost compare --batch"),
    "trial": ("commands.compare.documents.setting:Trial", "Result of hindmost compare --set"),
    "list": ("commands.study.document:Listing", "Result of hindmost study list"),
    "fit": ("commands.clone.documents.fit:FitResult", "Result of hindmost clone fit"),
    "simulation": ("commands.clone.documents.predictions:Simulation", "Result of hindmost clone simulate"),
    "sweep": ("commands.clone.documents.predictions:Sweep", "Result of hindmost clone sweep"),
    "serve": ("commands.clone.documents.serving:Serving", "Result of hindmost clone serve"),
    "certificate": (
        "commands.clone.documents.serving:CertificateDocument",
        "Result of hindmost clone serve --certificate",
    ),
    "trace": ("core.tracing.document:Trace", "Result of hindmost trace"),
    "stressors": ("commands.colocate.documents.profiles:Stressors", "Result of hindmost colocate stressors"),
    "profile": ("commands.colocate.documents.profiles:Profile", "A profile of hindmost colocate profile"),
    "pairs": ("commands.colocate.documents.pairs:Pairs", "Result of hindmost colocate pairs"),
    "neighbours": ("commands.colocate.documents.pairs:Neighbours", "Result of hindmost colocate predict"),
    "stress": ("commands.colocate.documents.pairs:Stress", "Result of hindmost colocate stressors --run"),
    "corun": ("commands.colocate.documents.profiles:CoRun", "Result of hindmost colocate predict --measure"),
    "advice": ("commands.colocate.documents.profiles:Advice", "Result of hindmost colocate predict --advise"),
    "supervision": (
        "commands.colocate.documents.supervision:Supervision",
        "Result of hindmost colocate supervise",
    ),
    "supervised": (
        "commands.colocate.documents.supervision:SupervisedBlock",
        "A line of the evidence that hindmost colocate supervise --learn keeps",
    ),
    "ring-view": ("commands.watch.document:RingView", "Result of hindmost watch show"),
    "services": ("commands.watch.document:Services", "Result of hindmost watch list"),
    "merged": ("commands.watch.document:Merged", "Result of hindmost watch merge"),
    "diagnosis": ("commands.diagnose.document:Diagnosis", "Result of hindmost diagnose"),
    "harvest-simulation": (
        "commands.harvest.document:HarvestSimulation",
        "Result of hindmost harvest simulate",
    ),
    "classes": ("commands.harvest.document:Classes", "Result of hindmost harvest classify"),
    "doctor": ("commands.host.document:Doctor", "Result of hindmost host doctor"),
    "knobs": ("commands.host.document:Knobs", "Result of hindmost host knobs"),
}
"""Name (``study`` for ``hindmost.study/1``): type of the document in `hindmost`, title."""
ENGINE = {"client": ("ClientResult", "Result of one load client")}
"""Documents written by Rust alone: name, struct, title."""


@cache
def schemas() -> dict[str, Schema]:
    """Return the JSON Schema (2020-12) of each document by its name: ``study`` for ``hindmost.study/1``."""
    of_types = {name: _schema_of(document_type(name), name, title) for name, (_, title) in DOCUMENTS.items()}
    return of_types | {
        name: _schema_from_rust(struct, name, title) for name, (struct, title) in ENGINE.items()
    }


@cache
def document_type(name: str) -> Any:  # noqa: ANN401 (a TypedDict class)
    """Return the type of a document, ``Measure`` for ``measure``; Any for an unknown one."""
    if name in ENGINE:
        from hindmost.core.store import engine

        return getattr(engine, ENGINE[name][0])
    if name not in DOCUMENTS:
        return Any
    module, _, kind = DOCUMENTS[name][0].partition(":")
    return getattr(import_module(f"hindmost.{module}"), kind)


def current_schema(name: str) -> str:
    """Return the schema that documents of this kind have now: ``hindmost.measure/2`` for ``measure``."""
    (schema,) = get_args(get_type_hints(document_type(name))["schema"])
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
