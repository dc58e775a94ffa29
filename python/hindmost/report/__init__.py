"""Presentation of results: self-contained pages, and tables for the terminal. It computes no statistics.

Each document has its own subpackage, which imports nothing from the others.
"""
