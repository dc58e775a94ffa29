"""A memory streamer: sums two arrays that exceed every cache, one line per pass."""

import numpy as np

left, right = np.ones(2_000_000), np.ones(2_000_000)
total = np.empty_like(left)
while True:
    np.add(left, right, out=total)
    print("pass", flush=True)
