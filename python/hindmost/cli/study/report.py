"""``hindmost study report``: rebuild the answer of a stored study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from hindmost.cli.gate import Junit, Markdown, Require, refuse_unwritable, render_files
from hindmost.cli.options import TARGET, Json, Page, Verbose, option
from hindmost.errors import UsageError
from hindmost.exits import Exit


def report(
    study: Annotated[
        Path, option(TARGET, None, "Folder of a study, or a file written by `hindmost diagnose --out`.")
    ],
    *,
    require: Require = (),
    junit: Junit = None,
    markdown: Markdown = None,
    page: Page = None,
    json_: Json = False,
    verbose: Verbose = False,
) -> int:
    """Rebuild the table and the page of a stored study, or check it against limits.

    The command measures nothing and needs no server. Its exit code comes from the limits given here. Without
    limits it is 0 if the answer could be shown. The page of a diagnosis is written next to its file.
    """
    if study.is_file():
        asked = {"--require": require, "--junit": junit, "--markdown": markdown}
        if given := [name for name, value in asked.items() if value]:
            raise UsageError(
                "conflicting-options",
                f"{study} is a file, and limits apply to study folders",
                hint=f"hindmost study report {study}",
                path=str(study),
                option=given[0],
            )
        return _diagnosis(study, page or study.with_suffix(".html"), as_json=json_)
    from hindmost.cli.outcome import print_answer
    from hindmost.store import Study
    from hindmost.studies.kind import report_study
    from hindmost.studies.measure.limits import require_limits

    stored = Study.open(study)
    if require or junit or markdown:
        texts = list(require) or stored.manifest.get("require", [])
        require_limits(stored, texts)
        refuse_unwritable(junit=junit, markdown=markdown, limits=bool(texts))
    shown = report_study(stored, page)
    shown = shown if require else replace(shown, exit=Exit.DONE)
    written = render_files(shown.document, junit=junit, markdown=markdown)
    return print_answer(shown, as_json=json_, verbose=verbose, files=written)


def _diagnosis(file: Path, page: Path, *, as_json: bool) -> int:
    """Print a stored diagnosis, and write its page."""
    from hindmost.cli.outcome import write_files
    from hindmost.cli.streams import say
    from hindmost.report.diagnosis.page import render_diagnosis_page
    from hindmost.report.diagnosis.terminal import render_diagnosis
    from hindmost.store.diagnosis import read_diagnosis
    from hindmost.store.estimates import encode

    document = read_diagnosis(file)
    print(encode(document) + "\n" if as_json else render_diagnosis(document), end="")
    write_files({page: render_diagnosis_page(document)})
    say(f"page: {page}")
    return Exit.DONE
