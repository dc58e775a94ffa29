"""View of ``hindmost host``: findings, rights, settings."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from hindmost.commands.host.document import Doctor, KnobKind, Privilege
from hindmost.core.store.engine import Knob
from hindmost.present import numbers
from hindmost.present.blocks import Block, Facts, Item, Items, Section, Text, Tone, View

TONES: dict[str, Tone] = {"unfit": "invalid", "note": "note"}
"""Tones of findings that have a reason and a hint, the worst first."""


def doctor_view(doc: Doctor) -> View:
    """Return the view of a check of the host: problems first, then what is fine, then rights."""
    counts = Counter[str](one.mark for one in doc.findings)
    problems = [
        Item(f"{one.title}: {one.value}; {one.why}", mark, tone, one.hint)
        for mark, tone in TONES.items()
        for one in doc.findings
        if one.mark == mark
    ]
    fine = [(one.title, one.value) for one in doc.findings if one.mark not in TONES]
    blocks: list[Block] = [Items(problems), Section("Fine", [Facts(fine)])]
    if doc.privileges:
        blocks.append(Section("Rights that commands need", [Items([*map(_rights, doc.privileges)])]))
    return View(
        title="This host",
        word="unfit" if counts["unfit"] else "fit",
        tone="invalid" if counts["unfit"] else "valid",
        headline=", ".join(f"{counts[mark]} {mark}" for mark in (*TONES, "fine")),
        blocks=blocks,
        schema=doc.schema,
    )


def _rights(one: Privilege) -> Item:
    rights = [*(["root's files"] if one.owner else []), *one.capabilities]
    return Item(f"{one.command}: {', '.join(rights) or 'none'}", "" if one.met else "missing", "note")


def knobs_view(knobs: Sequence[Knob], kinds: Sequence[KnobKind], hidden: int) -> View:
    """Return the view of the settings of this host, and of those that a study file may vary.

    `hidden`: number of settings that cannot be set here and are not shown.
    """
    more = f"{hidden} more cannot be set here: `hindmost host knobs list --all`" if hidden else ""
    others = [
        Item(f"{one.about}; here: {one.missing}" if one.missing else one.about, one.kind, hint=one.example)
        for one in kinds
    ]
    return View(
        title="Settings of this host",
        word="",
        tone="",
        headline=f"{numbers.plural(len(knobs), 'setting')} of this host",
        blocks=[
            Facts([(one.name, setting_text(one)) for one in knobs]),
            Text(more),
            Section("Settings of the server and its neighbours that a study file may vary", [Items(others)]),
        ],
    )


def setting_text(knob: Knob) -> str:
    """Format one setting without its name: value, choices, effect, original value."""
    if knob.value is None:
        return f"-  {knob.about}; {knob.missing}"
    choices = f" [{', '.join(knob.choices)}]" if knob.choices else ""
    found = f" (originally: {knob.found})" if knob.found is not None else ""
    fixed = f"; cannot be written: {knob.missing}" if knob.missing else ""
    value = textwrap.shorten(knob.value, 40) if knob.value else "none"
    return f"{value}{choices}{found}  {knob.about}{fixed}"
