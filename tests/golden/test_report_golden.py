"""Golden files, one per renderer: terminal, page and Markdown. `make golden` rewrites them.

Tests compare sentences only in these files and the README. Read the difference before you commit it.
"""

import io
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_documents import complete
from pages import Page
from rows import each_row
from sample_attributions import small
from sample_attributions import typed as attribution
from sample_results import FINDINGS, SAMPLES, typed

from hindmost import MeasurePlan, __version__
from hindmost.cli import progress
from hindmost.commands.attribute.view import view as view_attribution
from hindmost.commands.diagnose import view as diagnosis
from hindmost.commands.diagnose.document import read_diagnosis
from hindmost.commands.host.document import Doctor
from hindmost.commands.host.view import doctor_view
from hindmost.commands.measure.view import render_page, render_terminal, view
from hindmost.present import terminal
from hindmost.present.markdown import render_markdown
from hindmost.stats import PrecisionRule

DATA = Path(__file__).parent / "data"


def check(name: str, text: str) -> None:
    """Compare a text with its golden file, or rewrite the file."""
    file = DATA / name
    if os.environ.get("HINDMOST_REFRESH_GOLDEN") == "1":
        file.write_text(text, encoding="utf-8")
    assert file.is_file(), f"{file.name} is missing: run make golden"
    assert text == file.read_text(encoding="utf-8"), f"{file.name} differs: run make golden"


def render_progress_log(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what a study of six runs prints on a stderr that is not a terminal."""
    times = itertools.count(0.0, 12.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    out = io.StringIO()
    plan = MeasurePlan(target="memcached", runs=(3, 6), quantiles=(0.99,))
    shown = progress.Progress(plan, quiet=False, out=out)
    rule = PrecisionRule(0.05, 3, 6, first_look=3, quantiles=("p99",))
    values: list[float] = []
    for number, value in enumerate([70.2, 69.1, 75.4, 70.0, 70.3, 69.9], 1):
        shown.run_begins(number, *plan.runs)
        values.append(value)
        figures = type("Figures", (), {"number": number, "values": {"latency": {"p99": value}}})
        shown.run_ended(figures, rule.decide({"p99": values}), None)
    return out.getvalue()


def render_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """Yield the blocks of the terminal's golden file."""
    for name in ("valid", "stolen", "slipping", "censored"):
        yield f"measure, {name}", render_terminal(typed(SAMPLES[name]()), width=100, color=False)
    yield "measure, streamed", render_terminal(typed(SAMPLES["streamed"]()), width=80, color=False)
    yield (
        "measure, verbose",
        render_terminal(typed(SAMPLES["captured"]()), width=100, color=False, verbose=True),
    )
    yield "measure, 60 columns", render_terminal(typed(SAMPLES["valid"]()), width=60, color=False)
    yield "measure, in colour", render_terminal(typed(SAMPLES["slipping"]()), width=100, color=True)
    yield "measure, progress", render_progress_log(monkeypatch)
    doctor = complete(Doctor, {"schema": "hindmost.doctor/2", "findings": FINDINGS})
    yield "doctor", terminal.render_terminal(doctor_view(doctor), width=80, color=False)
    yield (
        "attribute",
        terminal.render_terminal(view_attribution(attribution(small())), width=100, color=False),
    )
    found = diagnosis.view(read_diagnosis(DATA / "diagnosis_two.json"))
    yield "diagnose", terminal.render_terminal(found, width=100, color=False)


def test_the_terminal_matches_the_golden_file(monkeypatch):
    texts = [f"=== {name}\n{text}" for name, text in render_blocks(monkeypatch)]
    check("terminal.txt", "\n".join(text.rstrip("\n") + "\n" for text in texts))


def test_the_texts_of_the_page_match_the_golden_file():
    html = re.sub(r"<svg.*?</svg>", "", render_page(typed(SAMPLES["single"]())), flags=re.DOTALL)
    texts = (" ".join(text.split()) for text in Page(html).text)
    text = "".join(f"{text}\n" for text in texts if text)
    check("page.txt", text.replace(f"Hindmost {__version__}", "Hindmost VERSION"))


def test_markdown_matches_the_golden_file():
    check("markdown.md", render_markdown(view(typed(SAMPLES["slipping"]()))))


@each_row("name", SAMPLES)
def test_a_result_fits_one_screen(name):
    assert render_terminal(typed(SAMPLES[name]()), width=100, color=False).count("\n") <= 20
