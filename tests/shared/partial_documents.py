"""Documents with only the fields that a test needs."""

from __future__ import annotations

import types
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec

Document = TypeVar("Document", bound=msgspec.Struct)


def partial(kind: type[Document], **given: Any) -> Document:
    """Build a document from plain data; required fields that are not given are UNSET."""
    built: Document = _build(kind, given)
    return built


def _build(kind: Any, part: Any) -> Any:
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _build(args[0], part)
    if origin in (Union, types.UnionType):
        for one in args:
            part = _build(one, part)
        return part
    if isinstance(part, list) and origin is list:
        return [_build(args[0], one) for one in part]
    if not isinstance(part, dict):
        return part
    if origin is dict:
        return {key: _build(args[1], one) for key, one in part.items()}
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return part
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    missing = {name: msgspec.UNSET for name, field in fields.items() if field.required and name not in part}
    return kind(**missing, **{name: _build(fields[name].type, one) for name, one in part.items()})
