"""How a host is shown: what on it distorts a measurement."""

from hindmost.report.doctor.terminal import render_findings, render_privileges

__all__ = ["render_findings", "render_privileges"]
