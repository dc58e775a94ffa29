"""How results are shown: one self-contained page, and tables for the terminal. Computes no statistics.

Each document has a folder, which loads nothing of the others.
"""
