"""Views of the documents of ``hindmost colocate``."""
