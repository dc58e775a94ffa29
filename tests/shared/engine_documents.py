"""Documents of the engine, of which a test gives only what matters to it."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, inspect

Kind = TypeVar("Kind", bound=msgspec.Struct)


def complete(kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """Return a document with these fields. Other counts are 0, other lists empty, unknown is unknown."""
    return msgspec.convert(_filled(inspect.type_info(kind), given), kind)


def _filled(kind: inspect.Type, given: Any) -> Any:
    if isinstance(kind, inspect.UnionType):
        inner = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
        return None if given is None else _filled(inner[0], given)
    if isinstance(kind, inspect.StructType):
        fields = {field.encode_name: field for field in kind.fields}
        known = {key: value for key, value in given.items() if value is not UNSET}
        blank = {key: _blank(field.type) for key, field in fields.items() if field.required}
        return blank | {key: _filled(fields[key].type, value) for key, value in known.items()}
    if isinstance(kind, inspect.ListType):
        return [_filled(kind.item_type, item) for item in given]
    if isinstance(kind, inspect.DictType):
        return {key: _filled(kind.value_type, value) for key, value in given.items()}
    return given


def _blank(kind: inspect.Type) -> Any:
    match kind:
        case inspect.UnionType():
            return None
        case inspect.StructType():
            return _filled(kind, {})
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.BoolType():
            return False
        case inspect.StrType():
            return ""
        case inspect.ListType():
            return []
        case inspect.DictType():
            return {}
    return 0
