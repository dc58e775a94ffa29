"""Text of a check of the host."""

from hindmost.commands.host.view.terminal import render_findings, render_privileges

__all__ = ["render_findings", "render_privileges"]
