"""Views of ``hindmost clone``."""
