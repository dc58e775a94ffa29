"""``hindmost host knobs list``: list all settings."""

from __future__ import annotations

import json
import textwrap
from typing import Annotated, Any

from hindmost.cli.options import OUTPUT, Json, switch
from hindmost.commands.host.cli.knobs.journal import FOLDER, Journal
from hindmost.commands.host.document import SCHEMA_NAME
from hindmost.core.exits import Exit
from hindmost.core.knobs.journal import knobs
from hindmost.core.knobs.registry import KINDS, missing


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
        print(json.dumps({"schema": SCHEMA_NAME, "knobs": every, "kinds": other_kinds()}))
        return Exit.DONE
    shown = [knob for knob in every if all_ or knob["missing"] is None]
    wide = max((len(knob["name"]) for knob in shown), default=0)
    for knob in shown:
        print(f"{knob['name']:{wide}}  {format_setting(knob)}")
    hidden = len(every) - len(shown)
    if hidden:
        print(f"\n{hidden} more cannot be set here: hindmost host knobs list --all")
    print("\nSettings of the server and its neighbours that a study file may vary:\n")
    wide = max(len(kind["kind"]) for kind in other_kinds())
    for kind in other_kinds():
        lacking = f"; here: {kind['missing']}" if kind["missing"] else ""
        print(f"{kind['kind']:{wide}}  {kind['example']}  {kind['about']}{lacking}")
    return Exit.DONE


def other_kinds() -> list[dict[str, Any]]:
    """Return the kinds of settings that do not belong to the host, in the format `hindmost.knobs/1`."""
    return [
        {
            "kind": name,
            "about": kind.about,
            "example": kind.example,
            "levels": kind.levels,
            "keys": {key: about for key, (_, about) in kind.keys.items()},
            "missing": None if (why := missing(name)) is None else why.text,
            "missing_note": None if why is None else why.document(),
        }
        for name, kind in KINDS.items()
        if name != "host"
    ]


def format_setting(knob: dict[str, Any]) -> str:
    """Format one setting without its name: value, choices, effect, original value."""
    if knob["value"] is None:
        return f"-  {knob['about']}; {knob['missing']}"
    choices = f" [{', '.join(knob['choices'])}]" if knob["choices"] else ""
    found = f" (originally: {knob['found']})" if knob["found"] is not None else ""
    fixed = f"; cannot be written: {knob['missing']}" if knob["missing"] else ""
    value = textwrap.shorten(knob["value"], 40) if knob["value"] else "none"
    return f"{value}{choices}{found}  {knob['about']}{fixed}"
