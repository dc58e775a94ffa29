"""Benchmarks of the cost and precision of Hindmost, alone and compared with other tools:
docs/benchmarks.md."""
