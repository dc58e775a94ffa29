"""``hindmost workload``: requests from other formats."""
