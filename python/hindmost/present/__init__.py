"""Formatting that all pages and tables share: numbers, charts, page style."""
