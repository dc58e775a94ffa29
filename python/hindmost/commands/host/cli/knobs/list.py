"""``hindmost host knobs list``: list all settings."""

from __future__ import annotations

from typing import Annotated

from hindmost.cli.options import OUTPUT, Json, switch
from hindmost.commands.host.cli.knobs.journal import FOLDER, Journal
from hindmost.commands.host.document import KnobKind, Knobs
from hindmost.commands.host.view import knobs_view
from hindmost.core.exits import Exit
from hindmost.core.knobs.journal import knobs
from hindmost.core.knobs.registry import KINDS, missing
from hindmost.core.store.estimates import encode
from hindmost.present.terminal import render_terminal


def list_(
    *,
    all_: Annotated[
        bool, switch(OUTPUT, "Include settings that this host does not have, with the reason.", "--all")
    ] = False,
    journal: Journal = FOLDER,
    json_: Json = False,
) -> int:
    """List the settings of this host and their values.

    The list marks settings that Hindmost changed, with the original value. It ends with the other kinds of
    settings, which a study file can vary for the duration of a run.
    """
    every = list(knobs(journal).values())
    if json_:
        print(encode(Knobs(knobs=every, kinds=other_kinds())))
    else:
        shown = [knob for knob in every if all_ or knob.missing is None]
        print(render_terminal(knobs_view(shown, other_kinds(), len(every) - len(shown))))
    return Exit.DONE


def other_kinds() -> list[KnobKind]:
    """Return the kinds of settings that do not belong to the host."""
    return [
        KnobKind(
            kind=name,
            about=kind.about,
            example=kind.example,
            levels=kind.levels,
            keys={key: about for key, (_, about) in kind.keys.items()},
            missing=None if (why := missing(name)) is None else why.text,
            missing_note=None if why is None else why.document(),
        )
        for name, kind in KINDS.items()
        if name != "host"
    ]
