"""Text and page of a diagnosis."""
