"""A search for the highest rate under an objective."""
