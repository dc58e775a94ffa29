"""A note: something to know about a result that is not an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hindmost.store.types import Note as NoteDocument


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for people with its code and parameters for programs; all codes are in ``hindmost.codes``."""

    code: str
    text: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text

    def document(self) -> NoteDocument:
        """Return the note as it stands in a result document."""
        return {"code": self.code, "text": self.text, "values": dict(self.values)}
