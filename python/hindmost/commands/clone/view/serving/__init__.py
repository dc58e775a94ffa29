"""Text of a served clone."""
