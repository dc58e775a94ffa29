"""Terminal tables and pages of all kinds of comparison."""

from hindmost.commands.compare.view.batching import render_batching, render_batching_page
from hindmost.commands.compare.view.clone import render_verification, render_verification_page
from hindmost.commands.compare.view.setting import render_trial, render_trial_page
from hindmost.commands.compare.view.targets import render_comparison, render_comparison_page

__all__ = [
    "render_batching",
    "render_batching_page",
    "render_comparison",
    "render_comparison_page",
    "render_trial",
    "render_trial_page",
    "render_verification",
    "render_verification_page",
]
