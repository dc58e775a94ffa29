"""What Hindmost costs and how precise it is, alone and beside others: docs/benchmarks.md."""
