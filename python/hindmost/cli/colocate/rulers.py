"""``hindmost colocate rulers``: what rulers reach on this core, and which of them share ports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, PROCEDURE, Json, option, whole
from hindmost.cli.outcome import put_files, refuse_files
from hindmost.cli.streams import say
from hindmost.exits import Exit


def rulers(
    *,
    cpu: Annotated[int | None, whole(PROCEDURE, "Which processor. [default: the last]")] = None,
    bursts: Annotated[int, whole(PROCEDURE, "Clean bursts for each figure.")] = 5,
    out: Annotated[Path | None, option(OUTPUT, "FILE", "Write the certificate here (JSON).")] = None,
    picture: Annotated[Path | None, option(OUTPUT, "FILE", "Draw the matrix here (SVG).")] = None,
    json_: Json = False,
) -> int:
    """Measure rulers on this core: rates by the core's own clock, and which share execution ports.

    No performance counter is asked, so it works in virtual machines. Two classes of instructions in one
    stream take as long as one alone where they use different ports, and as both where they use the same:
    the matrix of all pairs is the certificate of this core.
    """
    from hindmost.report.colocation.rulers import picture as drawn
    from hindmost.report.colocation.rulers import render_rulers
    from hindmost.studies.colocation import certify

    refuse_files({"--out": out, "--picture": picture})
    document = certify(cpu, bursts=bursts, say=say)
    print(json.dumps(document) if json_ else render_rulers(document), end="\n" if json_ else "")
    put_files({out: json.dumps(document, indent=1) + "\n", picture: drawn(document)})
    return Exit.DONE
