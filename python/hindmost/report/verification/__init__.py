"""How a verification is shown."""

from hindmost.report.verification.page import render_verification_page
from hindmost.report.verification.terminal import render_verification

__all__ = ["render_verification", "render_verification_page"]
