"""The documentation as a site with search: ``make docs``. Pages are those of ``docs/`` as they stand there.

What a site needs beside them is made here: the table of contents, the reference of Python from the
docstrings, the list of JSON Schemas, and links to files that are no pages. Nothing is loaded from a network,
neither while it is built nor while it is read; the search's index is a script beside the pages, so it works
from ``file://``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import hindmost

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from schemas import texts  # noqa: E402

SCHEMAS = sorted(texts())
"""Names of the formats: found now, because autodoc changes how modules are imported later."""

project = "Hindmost"
release = version = hindmost.__version__
author = "Hindmost"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
exclude_patterns = ["site"]

html_theme = "furo"
html_title = "Hindmost"
html_static_path = ["static"]
html_css_files = ["site.css"]
templates_path = ["templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
        "versions.html",
    ]
}
html_show_sourcelink = html_show_copyright = False
html_theme_options = {"source_repository": "", "footer_icons": []}

highlight_language = "text"  # of blocks that name none
nb_execution_mode = "off"  # they are kept with what they gave; a test runs them
myst_heading_anchors = 4
myst_links_external_new_tab = False
napoleon_google_docstring = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"

CONTENTS = {
    "Guides": "guides",
    "Notebooks": "notebooks",
    "Concepts": "concepts",
    "Studies": "studies",
    "Reference": "reference",
}
"""Headings of the table of contents, and the folders of their pages."""
FIRST = ("guides/measure", "guides/python", "reference/python", "reference/cli")
"""Pages that come first in theirs."""
STUDIES = ("measure", "attribute", "compare", "explain", "open_study", "list_studies")
"""Functions that come first in the reference of Python."""


def contents() -> str:
    """The table of contents that the front page has on the site."""
    parts = []
    for title, folder in CONTENTS.items():
        pages = sorted(
            path.relative_to(ROOT / "docs").with_suffix("").as_posix()
            for path in (ROOT / "docs" / folder).iterdir()
            if path.suffix in (".md", ".ipynb")
        )
        pages.sort(key=lambda one: (one not in FIRST, one))
        parts.append("\n".join([f"```{{toctree}}\n:hidden:\n:caption: {title}\n", *pages, "```"]))
    parts.append("```{toctree}\n:hidden:\n:caption: Measured\n\nbenchmarks\nmachines\n```")
    return "\n\n".join(parts)


def python_reference() -> str:
    """The reference of Python: every public name, from its docstring."""
    from hindmost import errors, results

    lines = []
    groups = {
        "Studies": [f"hindmost.{name}" for name in STUDIES],
        "Results": [f"hindmost.results.{name}" for name in results.__all__ if name[0].isupper()],
        "Clones": [f"hindmost.clone.{name}" for name in hindmost.clone.__all__],
    }
    listed = {name.rpartition(".")[2] for names in groups.values() for name in names}
    elsewhere = {*listed, "clone", "HindmostError", "__version__"}
    groups["Parts"] = [f"hindmost.{name}" for name in hindmost.__all__ if name not in elsewhere]
    groups["Errors"] = [
        f"hindmost.errors.{name}"
        for name, one in vars(errors).items()
        if isinstance(one, type) and issubclass(one, Exception)
    ]
    for title, names in groups.items():
        lines += [f"## {title}", "", "```{eval-rst}"]
        for name in names:
            place, _, last = name.rpartition(".")
            one = getattr(_module(place), last)
            kind = "autoclass" if isinstance(one, type) else "autofunction"
            lines += [f".. {kind}:: {name}"]
            lines += ["   :members:"] if kind == "autoclass" else []
            lines += ["   :inherited-members: ABC"] if title == "Results" else []
            lines += [""]
        lines += ["```", ""]
    return "\n".join(lines)


def schema_list() -> str:
    """Links to the JSON Schema of each format, which ``setup/docs.sh`` writes into ``schemas/``."""
    links = [f'<a href="../schemas/{name}.schema.json"><code>{name}</code></a>' for name in SCHEMAS]
    return "## JSON Schemas\n\n" + ", ".join(links) + "\n"


def _module(name: str) -> Any:  # noqa: ANN401 (a module)
    from importlib import import_module

    return import_module(name)


def read(app: object, page: str, source: list[str]) -> None:
    """Add to a page what only the site has; links to examples become downloads, to other files text."""
    if page == root_doc:
        source[0] += "\n\n" + contents() + "\n"
    if page == "reference/python":
        source[0] += "\n" + python_reference()
    if page == "reference/study-folder":
        source[0] += "\n" + schema_list()
    here = (ROOT / "docs" / page).parent

    def written(link: re.Match[str]) -> str:
        text, where = link[1], link[2].partition("#")[0]
        there = (here / where).resolve()
        inside = (ROOT / "docs") in there.parents and there.suffix in (".md", ".ipynb")
        if inside or ":" in where or not where:
            return link[0]
        if (ROOT / "examples") in there.parents and there.is_file():
            return f"{{download}}`{text} <{where}>`"
        return f"{text} (`{there.relative_to(ROOT)}`)"

    if not page.startswith("notebooks/"):
        source[0] = re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", written, source[0])


def setup(app: Any) -> None:  # noqa: ANN401 (Sphinx's application, whose types nobody installs for the checks)
    """Called by Sphinx."""
    app.connect("source-read", read)
