"""``hindmost host knobs list``: all knobs as a table."""

from __future__ import annotations

import json
import textwrap
from typing import Annotated, Any

from hindmost.cli.host.knobs.journal import FOLDER, Journal
from hindmost.cli.options import OUTPUT, Json, switch
from hindmost.exits import Exit
from hindmost.knobs.journal import knobs
from hindmost.knobs.registry import KINDS, missing
from hindmost.store.knobs import SCHEMA_NAME


def list_(
    *,
    all_: Annotated[
        bool, switch(OUTPUT, "Include settings that this host lacks, with the reason.", "--all")
    ] = False,
    journal: Journal = FOLDER,
    json_: Json = False,
) -> int:
    """List the settings of this host and their values.

    What was changed by Hindmost is marked with what was found before. Then what a study file writes for the
    other kinds of knobs, which are set for a run only.
    """
    every = list(knobs(journal).values())
    if json_:
        print(json.dumps({"schema": SCHEMA_NAME, "knobs": every, "kinds": kinds()}))
        return Exit.DONE
    shown = [knob for knob in every if all_ or knob["missing"] is None]
    wide = max((len(knob["name"]) for knob in shown), default=0)
    for knob in shown:
        print(f"{knob['name']:{wide}}  {described(knob)}")
    hidden = len(every) - len(shown)
    if hidden:
        print(f"\n{hidden} more cannot be set here: hindmost host knobs list --all")
    print("\nOf the server and what is next to it, a study file may vary:\n")
    wide = max(len(kind["kind"]) for kind in kinds())
    for kind in kinds():
        lacking = f"; here: {kind['missing']}" if kind["missing"] else ""
        print(f"{kind['kind']:{wide}}  {kind['example']}  {kind['about']}{lacking}")
    return Exit.DONE


def kinds() -> list[dict[str, Any]]:
    """The kinds of knobs that are no settings of the host, as `hindmost.knobs/1` has them."""
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


def described(knob: dict[str, Any]) -> str:
    """One knob after its name: value, choices, what it does, what was found."""
    if knob["value"] is None:
        return f"-  {knob['about']}; {knob['missing']}"
    choices = f" [{', '.join(knob['choices'])}]" if knob["choices"] else ""
    found = f" (found: {knob['found']})" if knob["found"] is not None else ""
    fixed = f"; cannot be written: {knob['missing']}" if knob["missing"] else ""
    value = textwrap.shorten(knob["value"], 40) if knob["value"] else "none"
    return f"{value}{choices}{found}  {knob['about']}{fixed}"
