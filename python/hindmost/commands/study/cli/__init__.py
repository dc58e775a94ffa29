"""Options of ``hindmost study``."""
