"""``hindmost trace``: stages of requests, by eBPF."""
