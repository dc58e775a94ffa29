"""Text and page of a list of studies."""

from hindmost.commands.study.view.page import render_listing_page
from hindmost.commands.study.view.terminal import render_listing

__all__ = ["render_listing", "render_listing_page"]
