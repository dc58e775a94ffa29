"""Verbs that have sub-verbs: one folder a verb, one file a sub-verb."""

from __future__ import annotations

import builtins

import cyclopts

from hindmost.cli import knobs, synth
from hindmost.cli.help import PlainHelp

GROUPS = {"synth": synth, "knobs": knobs}
"""Verb to its folder, which has a `PURPOSE` and its `SUBVERBS`: usage, purpose, examples by name."""


def group_app(verb: str, exits: str, place: int) -> cyclopts.App:
    """Make a verb with sub-verbs, number `place` of all verbs; `exits` ends every help page."""
    app = cyclopts.App(
        name=verb,
        help=GROUPS[verb].PURPOSE,
        usage=f"hindmost {verb} COMMAND",
        help_format="plaintext",
        help_formatter=PlainHelp(),
        help_epilogue=exits,
        version_flags=[],
        sort_key=place,
    )
    for number, (name, (usage, purpose, examples)) in enumerate(GROUPS[verb].SUBVERBS.items()):
        function = f"{name}_" if hasattr(builtins, name) else name
        app.command(
            f"hindmost.cli.{verb}.{name}:{function}",
            name=name,
            help=purpose,
            usage=f"hindmost {verb} {name} {usage}",
            help_epilogue=examples + exits,
            sort_key=number,
        )
    return app
