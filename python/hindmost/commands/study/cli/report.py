"""``hindmost study report``: rebuild the answer of a stored study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import TARGET, Json, Page, Verbose, option
from hindmost.commands.measure.gate import Junit, Markdown, Require, refuse_unwritable, render_files
from hindmost.core.exits import Exit
from hindmost.errors import UsageError


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
    from hindmost.commands.measure.limits import require_limits
    from hindmost.core.store import Study
    from hindmost.core.study.kind import report_study

    stored = Study.open(study)
    if require or junit or markdown:
        texts = list(require) or stored.manifest.get("require", [])
        require_limits(stored, texts)
        refuse_unwritable(junit=junit, markdown=markdown, limits=bool(texts))
    shown = report_study(stored, page)
    shown = shown if require else replace(shown, exit=Exit.DONE)
    written = render_files(shown.answer, junit=junit, markdown=markdown)
    return print_answer(shown, as_json=json_, verbose=verbose, files=written)


def _diagnosis(file: Path, page: Path, *, as_json: bool) -> int:
    """Print a stored diagnosis, and write its page."""
    from hindmost.cli.outcome import write_files
    from hindmost.cli.streams import say
    from hindmost.commands.diagnose.document import read_diagnosis
    from hindmost.commands.diagnose.view import view
    from hindmost.core.store.estimates import encode
    from hindmost.present.page import render_page
    from hindmost.present.terminal import render_terminal

    document = read_diagnosis(file)
    shown = view(document)
    print(encode(document) + "\n" if as_json else render_terminal(shown), end="")
    write_files({page: render_page(shown)})
    say(f"page: {page}")
    return Exit.DONE
