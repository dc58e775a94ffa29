"""``hindmost study list``: list stored studies and their verdicts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, TARGET, Json, option
from hindmost.core.exits import Exit


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
    from hindmost.commands.study.view import render_listing, render_listing_page
    from hindmost.core.study.kind import PublishedAnswer

    document = listing(folder)
    files = {}
    if page is not None:
        root = os.path.relpath(folder.resolve(), page.resolve().parent)
        files[page] = render_listing_page(document, root)
    notes = (f"page: {page}",) if page is not None else ()
    shown = PublishedAnswer(document, document, lambda: render_listing(document), Exit.DONE, notes)
    return print_answer(shown, as_json=json_, files=files)
