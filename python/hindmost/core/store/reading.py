"""Reads documents of Hindmost, of this version or an older one.

JSON has no infinity, so a document has the word ``"inf"`` (`hindmost.core.store.estimates`). The document's
type says whether a word is a number or a word, such as a level named *inf*.
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
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec

from hindmost.core.documents import read_bytes, read_json
from hindmost.core.store import older
from hindmost.core.store.types import Note

Document = TypeVar("Document")
LATE = math.inf
INFINITE = {"inf": LATE, "-inf": -LATE}
LATENCIES = ("latency_us", "service_us", "send_delay_us", "connect_us", "handshake_us")


def read_document(path: Path) -> dict[str, Any]:
    """Read a document ``hindmost.NAME/1``: infinite numbers become ``math.inf``, unknown ones None.

    Raises
    ------
    OSError, ValueError
        If it cannot be read, or is not such a document.
    """
    document = read_json(path)
    if not isinstance(document, dict):
        raise ValueError(f"{path} holds no document")
    return revive(document)


def load(path: Path, kind: type[Document]) -> Document:
    """Read a document as its type.

    Raises
    ------
    OSError, ValueError
        If it cannot be read, or is no document of this type.
    """
    try:
        return msgspec.convert(read_document(path), kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{path}: {error}") from None


def load_written(path: Path, kind: type[Document]) -> Document:
    """Read a document as `load` does, but much faster if this version wrote it; no number may be infinite.

    Raises
    ------
    OSError, ValueError
        If it cannot be read, or is no document of this type.
    """
    try:
        return msgspec.json.decode(read_bytes(path), type=kind)
    except (msgspec.MsgspecError, RecursionError):  # of an older version, or damaged
        return load(path, kind)


def revive(document: dict[str, Any]) -> dict[str, Any]:
    """Turn the word for infinity into numbers, and update what an older version wrote."""
    from hindmost.core.store.schema import current_schema, document_type

    name, _, version = str(document.get("schema")).removeprefix("hindmost.").partition("/")
    name = older.SCHEMAS.get(name, name)
    kind = document_type(name)
    revived: dict[str, Any] = _revive(document, kind)
    if kind is not Any and version == "1":
        revived["schema"] = current_schema(name)
    for run in revived.get("runs") or () if name == "measure" else ():
        for part in (run, *run.get("clients", ())):
            for what in LATENCIES:
                if part.get(what):  # a run always knows its latencies: null is infinite
                    part[what] = {key: LATE if us is None else us for key, us in part[what].items()}
    return revived


def _revive(part: Any, kind: Any) -> Any:  # noqa: ANN401 (JSON, and any type)
    kinds = tuple(_parts(kind))
    if isinstance(part, str) and Note in kinds:  # a sentence without a code in version 0.1
        return {"code": "", "text": part, "values": {}}
    if isinstance(part, str):
        words = {word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)}
        if part not in words and older.VALUES.get(part) in words:
            return older.VALUES[part]
        return INFINITE.get(part, part) if float in kinds and str not in kinds else part
    if isinstance(part, list):
        of = next((get_args(kind) for kind in kinds if get_origin(kind) in (list, tuple)), (Any,))
        inner = [one for one in of if one is not Ellipsis]
        return [_revive(item, inner[min(index, len(inner) - 1)]) for index, item in enumerate(part)]
    if not isinstance(part, dict):
        return part
    named: dict[str, Any] = {}
    for kind in kinds:
        if is_typeddict(kind) or (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
            named |= _hints(kind)
    other = next((get_args(kind)[1] for kind in kinds if get_origin(kind) is dict), Any)
    revived = {}
    for old, value in part.items():
        key = older.current_key(old, named)
        revived[key] = _revive(value, named.get(key, other))
    if revived.get("censored_runs"):
        _restore_infinite(revived, "value", "low", "high")
    elif "value_us" in named and revived.get("runs"):
        _restore_infinite(revived, "value_us", "low_us", "high_us")
    return revived


def _restore_infinite(figure: dict[str, Any], value: str, low: str, high: str) -> None:
    """Restore a value that an older version wrote as null for infinite, and the ends that follow from it."""
    if figure.get(value) is None:
        figure[value] = LATE
        if value == "value" and figure.get(low) is None:
            figure[low] = LATE
    if figure.get(high) is None and figure.get(low) is not None:
        figure[high] = LATE


def _parts(kind: Any) -> Iterator[Any]:  # noqa: ANN401 (any type)
    origin = get_origin(kind)
    if origin in (Annotated, NotRequired, Required):
        yield from _parts(get_args(kind)[0])
    elif origin in (Union, types.UnionType):
        for part in get_args(kind):
            yield from _parts(part)
    else:
        yield kind


@cache
def _hints(kind: Any) -> dict[str, Any]:  # noqa: ANN401 (a document class)
    return get_type_hints(kind, include_extras=True)
