"""Options of ``hindmost host``."""
