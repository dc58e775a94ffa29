"""Multiplies two matrices that fit into the second-level cache, one line per product."""

import numpy as np

left, right = np.random.default_rng(1).random((2, 192, 192))
while True:
    left @ right
    print("product", flush=True)
