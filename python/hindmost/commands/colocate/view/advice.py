"""Advice about co-location."""

from __future__ import annotations

from hindmost.commands.colocate.documents.profiles import Advice
from hindmost.commands.colocate.prediction.advice import command_of
from hindmost.commands.colocate.view.wording import list_evidence, list_notes, percent
from hindmost.present.blocks import Block, Item, Items, View

_WORDS = {
    "beside": "may run next to it, on separate processors",
    "supervised": "not certain: run it only under supervision",
    "elsewhere": "must run elsewhere",
}


def view_advice(doc: Advice, at: str, promise: str) -> View:
    """Show where each job may run, the deciding figure, and the command to start it.

    Parameters
    ----------
    at, promise : str
        The server's address and its latency limit, for the commands.
    """
    own, left = (", ".join(map(str, cpus)) for cpus in (doc.server_cpus, doc.job_cpus))
    blocks: list[Block] = []
    for one in doc.jobs:
        text = _WORDS[one.place]
        if one.by != "supervised":
            text += (
                f" (costs up to {percent(one.worst)}, mostly by"
                f" {one.stressor or 'no stressor'}; {percent(one.allowed)} is acceptable)"
            )
        item = Item(text, one.job, hint=command_of(one, at, promise))
        blocks += [Items([item]), list_evidence(one.by, one.evidence), list_notes(one.notes)]
    return View(
        title=f"Jobs next to {doc.server}",
        headline=f"{doc.server}: a percentile may grow by {percent(doc.within, 0)} at a load of"
        f" {percent(doc.load, 0)}. Processors {own} are reserved for it, {left} are for jobs.",
        blocks=blocks,
        schema=doc.schema,
    )
