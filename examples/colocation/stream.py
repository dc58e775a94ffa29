"""A memory streamer: the sum of two arrays that no cache holds, a line for each pass."""

import numpy as np

left, right = np.ones(2_000_000), np.ones(2_000_000)
total = np.empty_like(left)
while True:
    np.add(left, right, out=total)
    print("pass", flush=True)
