"""Text and pages of a measurement."""

from hindmost.report.measure.page import render_page
from hindmost.report.measure.terminal import render_terminal

__all__ = ["render_page", "render_terminal"]
