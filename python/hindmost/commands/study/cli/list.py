"""``hindmost study list``: list stored studies and their verdicts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, TARGET, Json, option
from hindmost.core.exits import Exit

ONE_LINE = 1000
"""Columns of the table: each study has one line, for other programs too."""


def list_(
    folder: Annotated[
        Path, option(TARGET, None, "Folder to search. A study within a study counts as its part.")
    ] = Path(),
    *,
    page: Annotated[
        Path | None, option(OUTPUT, "FILE", "Write an index page with links and trends to this file.")
    ] = None,
    json_: Json = False,
) -> int:
    """List the studies below a folder: kind, target, rate, p99 with its interval, verdict, date."""
    from hindmost.cli.outcome import print_answer
    from hindmost.commands.study.listing import listing
    from hindmost.commands.study.view import view
    from hindmost.core.store.estimates import to_document
    from hindmost.core.study.kind import PublishedAnswer
    from hindmost.present.page import render_page
    from hindmost.present.terminal import render_terminal

    found = listing(folder)
    files = {}
    if page is not None:
        root = os.path.relpath(folder.resolve(), page.resolve().parent)
        files[page] = render_page(view(found, root))
    notes = (f"page: {page}",) if page is not None else ()

    def table() -> str:
        return render_terminal(view(found), width=ONE_LINE)

    shown = PublishedAnswer(found, to_document(found), table, Exit.DONE, notes)
    return print_answer(shown, as_json=json_, files=files)
