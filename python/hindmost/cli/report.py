"""``hindmost report``: the answer again, from what is stored."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import TARGET, Json, option
from hindmost.errors import StudyError


def report(
    study: Annotated[Path, option(TARGET, None, "The study's folder.")], *, json_: Json = False
) -> int:
    """Build the page and the table again from a study's stored runs."""
    from hindmost.store import Study

    opened = Study.open(study)
    if "search" in opened.manifest:
        from hindmost.cli.find_rate import report_search

        return report_search(opened, as_json=json_)
    if "attribution" in opened.manifest:
        from hindmost.cli.attribute import report_attribution

        return report_attribution(opened, as_json=json_)
    if not opened.runs():
        raise StudyError(f"{study} holds no finished run", hint=f"hindmost measure --resume {study}")
    publish(opened, as_json=json_)
    return 0


def publish(study: object, *, as_json: bool, quiet: bool = False) -> dict[str, object]:
    """Write ``result.json`` and ``report.html``, print the result, and return it."""
    from hindmost.report import render_page, render_terminal
    from hindmost.store import Study
    from hindmost.studies.measure import answer

    assert isinstance(study, Study)
    result = answer(study)
    study.write("result.json", json.dumps(result, allow_nan=False))
    page = study.write("report.html", render_page(result))
    if as_json:
        print(json.dumps(result, allow_nan=False))
    else:
        print(render_terminal(result))
    if not quiet:
        print(f"page: {page}\nstudy: {study.folder}", file=sys.stderr)
    return result
