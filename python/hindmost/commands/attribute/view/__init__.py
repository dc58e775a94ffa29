"""Page and text of an attribution, both rendered from the document ``hindmost.attribution/2`` alone."""

from hindmost.commands.attribute.view.page import render_attribution_page
from hindmost.commands.attribute.view.terminal import render_attribution

__all__ = ["render_attribution", "render_attribution_page"]
