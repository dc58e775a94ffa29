"""How a comparison is shown."""

from hindmost.report.comparison.page import render_comparison_page
from hindmost.report.comparison.terminal import render_comparison

__all__ = ["render_comparison", "render_comparison_page"]
