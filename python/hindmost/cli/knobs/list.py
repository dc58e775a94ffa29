"""``hindmost knobs list``: all knobs as a table."""

from __future__ import annotations

import json
import textwrap
from typing import Annotated, Any

from hindmost.cli.knobs.journal import FOLDER, Journal
from hindmost.cli.options import OUTPUT, Json, switch
from hindmost.knobs.journal import knobs


def list_(
    *,
    all_: Annotated[bool, switch(OUTPUT, "Also those that cannot be set here, and why.", "--all")] = False,
    journal: Journal = FOLDER,
    json_: Json = False,
) -> int:
    """List what can be set on this host, and what it is set to.

    What was changed by Hindmost is marked with what was found before.
    """
    every = list(knobs(journal).values())
    if json_:
        print(json.dumps({"schema": "hindmost.knobs/1", "knobs": every}))
        return 0
    shown = [knob for knob in every if all_ or knob["missing"] is None]
    wide = max((len(knob["name"]) for knob in shown), default=0)
    for knob in shown:
        print(f"{knob['name']:{wide}}  {described(knob)}")
    hidden = len(every) - len(shown)
    if hidden:
        print(f"\n{hidden} more cannot be set here: hindmost knobs list --all")
    return 0


def described(knob: dict[str, Any]) -> str:
    """One knob after its name: value, choices, what it does, what was found."""
    if knob["value"] is None:
        return f"-  {knob['about']}; {knob['missing']}"
    choices = f" [{', '.join(knob['choices'])}]" if knob["choices"] else ""
    found = f" (found: {knob['found']})" if knob["found"] is not None else ""
    fixed = f"; cannot be written: {knob['missing']}" if knob["missing"] else ""
    value = textwrap.shorten(knob["value"], 40) if knob["value"] else "none"
    return f"{value}{choices}{found}  {knob['about']}{fixed}"
