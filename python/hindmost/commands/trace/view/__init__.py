"""Text and page of a trace."""
