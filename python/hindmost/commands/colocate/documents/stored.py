"""Reads what users keep: profiles and pairs, including those of older versions, and supervised windows."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from hindmost.commands.colocate.documents.pairs import PAIRS_SCHEMA, Pairs
from hindmost.commands.colocate.documents.profiles import PROFILE_SCHEMA, Profile
from hindmost.commands.colocate.documents.supervision import SupervisedBlock
from hindmost.core.documents import read_bytes
from hindmost.core.store.reading import read_document
from hindmost.errors import UsageError, unreadable_file

Stored = TypeVar("Stored", Profile, Pairs)


def load_card(path: Path) -> Profile:
    """Read a profile.

    Raises
    ------
    UsageError
        The file cannot be read, or is not a profile.
    """
    return _load(path, Profile, PROFILE_SCHEMA, "hindmost colocate profile --out FILE")


def load_pairs(path: Path) -> Pairs:
    """Read a document of ``hindmost colocate pairs``.

    Raises
    ------
    UsageError
        The file cannot be read, or is no such document.
    """
    return _load(path, Pairs, PAIRS_SCHEMA, "hindmost colocate pairs PROFILE... --out FILE")


class SupervisedBlocks(NamedTuple):
    """The blocks of a file, and the number of lines that are torn or of a newer version."""

    blocks: list[SupervisedBlock]
    unreadable: int


def supervised_path(profile: Path) -> Path:
    """Return the file of supervised windows that belongs to a server's profile.

    >>> supervised_path(Path("kv.json")).name
    'kv.supervised.jsonl'
    """
    return profile.with_suffix(".supervised.jsonl")


def load_supervised(profile: Path) -> SupervisedBlocks:
    """Read the supervised windows next to a server's profile; no file is as good as an empty one.

    Raises
    ------
    UsageError
        The file cannot be read.
    """
    path = supervised_path(profile)
    try:
        lines = read_bytes(path).splitlines()
    except FileNotFoundError:
        lines = []
    except OSError as error:
        raise unreadable_file(path, error) from None
    blocks, unreadable = [], 0
    for line in filter(None, lines):
        try:
            blocks.append(msgspec.json.decode(line, type=SupervisedBlock))
        except msgspec.MsgspecError:
            unreadable += 1
    return SupervisedBlocks(blocks, unreadable)


def _load(path: Path, kind: type[Stored], need: str, hint: str) -> Stored:
    schema, why = None, ""
    try:
        document = read_document(path)
        schema = document.get("schema")
        return msgspec.convert(document, kind)
    except OSError as error:
        raise unreadable_file(path, error) from None
    except msgspec.ValidationError as error:
        why = f": {error}" if schema == need else f", but {schema}" if schema else ""
    except (ValueError, TypeError, AttributeError):
        pass  # it is not a JSON object
    raise UsageError(
        "bad-file",
        f"{path} is not a document {need}{why}",
        hint=hint,
        path=str(path),
        value=schema,
        need=need,
    )
