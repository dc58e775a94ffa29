"""One run: made, read, boiled down to figures, judged. Knows nothing of the study that asks for it."""
