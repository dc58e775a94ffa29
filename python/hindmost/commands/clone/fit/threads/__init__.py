"""The mutual effects of threads: locks, and shared memory."""
