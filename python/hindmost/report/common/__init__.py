"""What all pages and tables share: numbers in words, charts, sheets."""
