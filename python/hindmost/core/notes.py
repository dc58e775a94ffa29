"""A note: information about a result that is not an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hindmost.core.escapes import plain
from hindmost.core.store.types import Note as NoteDocument


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for people, with a code and values for programs; see `hindmost.core.codes`.

    ``hint``: what to do about it.
    """

    code: str
    text: str
    values: Mapping[str, Any] = field(default_factory=dict)
    hint: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", plain(self.text))

    def __str__(self) -> str:
        return self.text

    def document(self) -> NoteDocument:
        """Return the note as a part of a result document."""
        return NoteDocument(code=self.code, text=self.text, values=dict(self.values))


def most_common(notes: Sequence[Note]) -> Note | None:
    """Return the first note with the most common code, or None if there are no notes."""
    if not notes:
        return None
    ((code, _),) = Counter(one.code for one in notes).most_common(1)
    return next(one for one in notes if one.code == code)
