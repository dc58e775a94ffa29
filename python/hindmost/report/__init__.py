"""How results are shown: one self-contained page, and tables for the terminal. Computes no statistics."""

from hindmost.report.attribution import render_attribution, render_attribution_page
from hindmost.report.doctor.terminal import render_findings
from hindmost.report.measure.page import render_page
from hindmost.report.measure.terminal import render_terminal
from hindmost.report.verification.page import render_verification_page
from hindmost.report.verification.terminal import render_verification

__all__ = [
    "render_attribution",
    "render_attribution_page",
    "render_findings",
    "render_page",
    "render_terminal",
    "render_verification",
    "render_verification_page",
]
