"""Limits of ``--require``: each is held, crossed or undecided, judged by its figure's interval."""

from hindmost.commands.measure.limits.judge import exit_code, judge_limits, require_limits
from hindmost.commands.measure.limits.requests import collect_requests

__all__ = ["collect_requests", "exit_code", "judge_limits", "require_limits"]
