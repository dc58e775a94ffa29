"""Text of a simulation."""
