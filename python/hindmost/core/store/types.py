"""Numbers, words and parts that several documents share."""

from typing import Annotated, Any, Literal, dataclass_transform

import msgspec
from msgspec import UNSET, UnsetType

Verdict = Literal["valid", "invalid", "inconclusive"]

Label = Annotated[str, msgspec.Meta(pattern=r"^(mean|p\d{1,3}(\.\d+)?)$")]
Count = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Level = Annotated[float, msgspec.Meta(ge=0, le=1, description="a quantile level, 0..1")]
INFINITE = "x-infinite"
"""Marks a number that may be infinite for `hindmost.core.store.schema`: JSON has a word for it."""
Number = Annotated[
    float | None,
    msgspec.Meta(
        description='"inf" is infinite, null is not known; a key that is missing was not measured',
        extra_json_schema={INFINITE: True},
    ),
]
"""In memory a float, which may be infinite, or None; see `hindmost.core.store.estimates`."""
Microseconds = Annotated[
    float | None,
    msgspec.Meta(
        description='microseconds; "inf" is infinitely late, null is not known',
        extra_json_schema={INFINITE: True},
    ),
]


Blame = Literal["instrument", "host", "server", "sample"]


class DocumentType(msgspec.StructMeta):
    """Makes classes derived from `Document` frozen and keyword-only, which msgspec does not inherit."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        **options: Any,  # noqa: ANN401 (of msgspec)
    ) -> "DocumentType":
        """Create the class."""
        return super().__new__(mcs, name, bases, namespace, **{"frozen": True, "kw_only": True, **options})


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Document(msgspec.Struct, frozen=True, kw_only=True, metaclass=DocumentType):
    """Base of all documents and their parts.

    A field with `msgspec.UNSET` was not measured, and the JSON lacks its key.
    `hindmost.core.store.estimates.to_document`
    turns a document into plain data, `hindmost.core.store.reading.load` reads one.
    """


class Reason(Document):
    """A reason of the verdict, or a note that does not change it; backticks in a hint enclose commands.

    ``labels``: the quantiles it concerns; empty means the whole measurement. ``values``: the parameters of
    the sentence.
    """

    code: str
    level: Literal["invalid", "inconclusive", "note"]
    text: str
    hint: str | None
    labels: list[Label] | UnsetType = UNSET
    values: dict[str, Any] | UnsetType = UNSET


class Note(Document):
    """A note about a result. ``code`` is stable, ``text`` is not; ``values``: its parameters."""

    code: str
    text: str
    values: dict[str, Any]


class Cause(Document):
    """One line for all reasons of one cause; ``codes``: these reasons; ``origin``: their source.

    ``values``: parameters of the line that no single reason has.
    """

    level: Literal["invalid", "inconclusive", "note"]
    text: str
    hint: str | None
    codes: list[str]
    origin: Literal["host", "client", "server"] | UnsetType | None = UNSET
    values: dict[str, Any] | UnsetType = UNSET


class Target(Document):
    """The server under test; ``managed``: Hindmost started (and restarted) it, on ``host`` of a fleet."""

    name: str
    protocol: str
    address: str
    managed: bool
    command: list[str] | UnsetType | None = UNSET
    cpus: list[int] | UnsetType | None = UNSET
    server_version: str | UnsetType | None = UNSET
    host: str | UnsetType = UNSET


class Counts(Document):
    """The outcomes of all scheduled requests."""

    scheduled: Count
    completed: Count
    misses: Count
    errors: Count
    timeouts: Count
    unsent: Count
