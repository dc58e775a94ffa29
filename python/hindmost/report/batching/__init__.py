"""How a study of batching is shown."""

from hindmost.report.batching.page import render_batching_page
from hindmost.report.batching.terminal import render_batching

__all__ = ["render_batching", "render_batching_page"]
