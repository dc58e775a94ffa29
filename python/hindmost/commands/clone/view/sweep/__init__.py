"""Text and page of a sweep."""
