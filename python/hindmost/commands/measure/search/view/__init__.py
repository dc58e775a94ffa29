"""Text and page of a search for the highest rate that meets an objective."""
