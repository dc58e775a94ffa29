"""Reads a document that Hindmost wrote, of this version or an older one.

JSON has no infinity, so a document has the word ``"inf"`` (`hindmost.store.estimates`). Whether a word stands
for a number or is one, such as a level that is called *inf*, is told by the document's type.
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from hindmost.documents import read_json

LATE = math.inf
INFINITE = {"inf": LATE, "-inf": -LATE}
LATENCIES = ("latency_us", "service_us", "slip_us", "connect_us", "handshake_us")


def read_document(path: Path) -> dict[str, Any]:
    """Read a document ``hindmost.NAME/1``: infinite numbers are ``math.inf``, unknown ones None.

    Raises
    ------
    OSError, ValueError
        It cannot be read, or is no such document.
    """
    document = read_json(path)
    if not isinstance(document, dict):
        raise ValueError(f"{path} holds no document")
    return revive(document)


def revive(document: dict[str, Any]) -> dict[str, Any]:
    """Turn the words for infinity into numbers, and what an older version wrote into what this one would."""
    from hindmost.store.schema import DOCUMENTS

    name = str(document.get("schema")).removeprefix("hindmost.").partition("/")[0]
    kind = DOCUMENTS[name][0] if name in DOCUMENTS else Any
    found: dict[str, Any] = _revived(document, kind)
    for run in found.get("runs") or () if name == "measure" else ():
        for part in (run, *run.get("instances", ())):
            for what in LATENCIES:
                if part.get(what):  # of a run, which always knows what it measured
                    part[what] = {key: LATE if us is None else us for key, us in part[what].items()}
    return found


def _revived(part: Any, kind: Any) -> Any:  # noqa: ANN401 (JSON, and any type)
    kinds = tuple(_parts(kind))
    if isinstance(part, str):
        return INFINITE.get(part, part) if float in kinds and str not in kinds else part
    if isinstance(part, list):
        inner = next((get_args(one) for one in kinds if get_origin(one) in (list, tuple)), (Any,))
        return [_revived(one, inner[min(place, len(inner) - 1)]) for place, one in enumerate(part)]
    if not isinstance(part, dict):
        return part
    named: dict[str, Any] = {}
    for one in kinds:
        if is_typeddict(one):
            named |= _hints(one)
    other = next((get_args(one)[1] for one in kinds if get_origin(one) is dict), Any)
    found = {key: _revived(value, named.get(key, other)) for key, value in part.items()}
    if found.get("censored_runs"):
        _late(found, "value", "low", "high")
    elif "value_us" in named and found.get("runs"):
        _late(found, "value_us", "low_us", "high_us")
    return found


def _late(one: dict[str, Any], value: str, low: str, high: str) -> None:
    """Of a version that had null for infinite: a value that runs reached, and the ends that it leaves."""
    if one.get(value) is None:
        one[value] = LATE
        if value == "value" and one.get(low) is None:
            one[low] = LATE
    if one.get(high) is None and one.get(low) is not None:
        one[high] = LATE


def _parts(kind: Any) -> Iterator[Any]:  # noqa: ANN401 (any type)
    origin = get_origin(kind)
    if origin in (Annotated, NotRequired, Required):
        yield from _parts(get_args(kind)[0])
    elif origin in (Union, types.UnionType):
        for one in get_args(kind):
            yield from _parts(one)
    else:
        yield kind


@cache
def _hints(kind: Any) -> dict[str, Any]:  # noqa: ANN401 (a TypedDict class)
    return get_type_hints(kind, include_extras=True)
