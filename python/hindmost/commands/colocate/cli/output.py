"""Prints documents, which belong to no study."""

from __future__ import annotations

import msgspec

from hindmost.core.store.estimates import encode
from hindmost.present.blocks import View
from hindmost.present.terminal import render_terminal


def print_document(document: msgspec.Struct, view: View, *, as_json: bool) -> None:
    """Print a document as JSON, or its view."""
    print(encode(document) if as_json else render_terminal(view), end="\n" if as_json else "")
