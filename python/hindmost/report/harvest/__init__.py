"""Text of `hindmost harvest`."""
