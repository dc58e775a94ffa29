"""``hindmost host``: whether this machine is fit to measure, and its settings."""
