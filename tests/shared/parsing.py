"""The options of verbs, put together once: most of what a command in this process costs before it does anything."""

from __future__ import annotations

import copy
from typing import Any

import cyclopts
import pytest
from cyclopts.argument import ArgumentCollection


def keep_options(patch: pytest.MonkeyPatch) -> None:
    """Have cyclopts remember the options of a function, and hand out copies, as it writes the words into them."""
    assemble = cyclopts.App.assemble_argument_collection
    kept: dict[tuple[Any, bool], ArgumentCollection] = {}

    def remembered(
        self: cyclopts.App, *, default_parameter: Any = None, parse_docstring: bool = False
    ) -> ArgumentCollection:
        if default_parameter is not None or self.default_command is None:
            return assemble(self, default_parameter=default_parameter, parse_docstring=parse_docstring)
        key = (self.default_command, parse_docstring)
        if key not in kept:
            kept[key] = assemble(self, parse_docstring=parse_docstring)
        return _copied(kept[key])

    patch.setattr(cyclopts.App, "assemble_argument_collection", remembered)


def _copied(options: ArgumentCollection) -> ArgumentCollection:
    fresh = {id(one): copy.copy(one) for one in options}
    for one in fresh.values():
        one.tokens = []
        one.children = ArgumentCollection(fresh.get(id(child), child) for child in one.children)
    return ArgumentCollection(fresh[id(one)] for one in options)
