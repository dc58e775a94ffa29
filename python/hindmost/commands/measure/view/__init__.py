"""Text and pages of a measurement."""

from hindmost.commands.measure.view.page import render_page
from hindmost.commands.measure.view.terminal import render_terminal

__all__ = ["render_page", "render_terminal"]
