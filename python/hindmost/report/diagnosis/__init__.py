"""A diagnosis for people."""
