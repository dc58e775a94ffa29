"""The page and the terminal text against what they were: HINDMOST_REFRESH_GOLDEN=1 writes them anew."""

import os
import re
from pathlib import Path

import pytest
from sample_results import FINDINGS, SAMPLES

from hindmost.report.doctor import render_findings
from hindmost.report.measure import render_page, render_terminal

DATA = Path(__file__).parent / "data"


def without_vendor(html: str) -> str:
    """Leave out the files of others and keep the rest, one element a line where it is long."""
    html = re.sub(r'(<(style|script) data-vendor="uPlot">).*?(</\2>)', r"\1[uPlot]\3", html, flags=re.DOTALL)
    return html.replace("><", ">\n<")


def check(name: str, text: str) -> None:
    file = DATA / name
    if os.environ.get("HINDMOST_REFRESH_GOLDEN") == "1":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert file.is_file(), f"{file.name} is missing: run with HINDMOST_REFRESH_GOLDEN=1"
    assert text == file.read_text(encoding="utf-8"), (
        f"{file.name} differs: HINDMOST_REFRESH_GOLDEN=1 refreshes it"
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_terminal_text_is_what_it_was(name):
    check(f"report_{name}.txt", render_terminal(SAMPLES[name](), width=100, color=False))


@pytest.mark.parametrize("name", ["valid", "stolen", "slipping", "captured", "single"])
def test_the_account_is_what_it_was(name):
    check(
        f"report_{name}_verbose.txt", render_terminal(SAMPLES[name](), width=100, color=False, verbose=True)
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_shown_without_being_asked_for_fits_one_screen(name):
    assert render_terminal(SAMPLES[name](), width=100, color=False).count("\n") <= 20


@pytest.mark.parametrize("name", ["valid", "censored"])
def test_narrow_terminal_text_is_what_it_was(name):
    check(f"report_{name}_60.txt", render_terminal(SAMPLES[name](), width=60, color=False))


def test_coloured_terminal_text_is_what_it_was():
    check("report_slipping_colour.txt", render_terminal(SAMPLES["slipping"](), width=100, color=True))


def test_findings_are_what_they_were():
    check("report_findings.txt", render_findings(FINDINGS, width=80, color=False))


@pytest.mark.parametrize("name", ["censored", "single"])
def test_page_is_what_it_was(name):
    check(f"report_{name}.html", without_vendor(render_page(SAMPLES[name]())))
