"""Caches the options of commands: assembling them is most of the cost of a command in this process."""

from __future__ import annotations

import copy
from typing import Any

import cyclopts
import pytest
from cyclopts.argument import ArgumentCollection


def keep_options(patch: pytest.MonkeyPatch) -> None:
    """Make cyclopts cache the options of a function and return copies, because it stores arguments in them."""
    assemble = cyclopts.App.assemble_argument_collection
    cache: dict[tuple[Any, bool], ArgumentCollection] = {}

    def assemble_once(
        self: cyclopts.App, *, default_parameter: Any = None, parse_docstring: bool = False
    ) -> ArgumentCollection:
        if default_parameter is not None or self.default_command is None:
            return assemble(self, default_parameter=default_parameter, parse_docstring=parse_docstring)
        key = (self.default_command, parse_docstring)
        if key not in cache:
            cache[key] = assemble(self, parse_docstring=parse_docstring)
        return _copy_options(cache[key])

    patch.setattr(cyclopts.App, "assemble_argument_collection", assemble_once)


def _copy_options(options: ArgumentCollection) -> ArgumentCollection:
    fresh = {id(option): copy.copy(option) for option in options}
    for option in fresh.values():
        option.tokens = []
        option.children = ArgumentCollection(fresh.get(id(child), child) for child in option.children)
    return ArgumentCollection(fresh[id(option)] for option in options)
