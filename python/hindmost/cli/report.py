"""``hindmost report``: the answer again, from what is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import TARGET, Json, Verbose, option
from hindmost.exits import Exit


def report(
    study: Annotated[Path, option(TARGET, None, "The study's folder.")],
    *,
    json_: Json = False,
    verbose: Verbose = False,
) -> int:
    """Build the page and the table again from a study's stored runs."""
    from hindmost.cli.outcome import tell
    from hindmost.store import Study
    from hindmost.studies.kind import reported

    tell(reported(Study.open(study)), as_json=json_, verbose=verbose)
    return Exit.DONE
