"""Text and page of a list of studies."""

from hindmost.report.listing.page import render_listing_page
from hindmost.report.listing.terminal import render_listing

__all__ = ["render_listing", "render_listing_page"]
