"""One run: make it, read its files, compute its figures, check it. This package does not know the studies."""
