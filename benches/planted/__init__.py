"""Servers with planted problems, for `benches/planted_problems.py`."""
