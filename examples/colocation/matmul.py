"""A product of two matrices that the second-level cache holds, a line for each."""

import numpy as np

left, right = np.random.default_rng(1).random((2, 192, 192))
while True:
    left @ right
    print("product", flush=True)
