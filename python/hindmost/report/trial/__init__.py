"""How a trial of one change is shown."""

from hindmost.report.trial.page import render_trial_page
from hindmost.report.trial.terminal import render_trial

__all__ = ["render_trial", "render_trial_page"]
