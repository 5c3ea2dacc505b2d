"""Blocks of data pass through two pinned arrays, which are made once."""

import duoblas
import numpy as np

rng = np.random.default_rng(4)
data = rng.standard_normal((10_000, 200), np.float32)
mean = data.mean(0)

block = duoblas.empty_pinned((2_000, 200))
total = duoblas.zeros_pinned((200, 200))
for first in range(0, len(data), len(block)):
    np.subtract(data[first:first + len(block)], mean, out=block)
    duoblas.sgemm(block.T, block, out=total, beta=1)  # total += block' block
covariance = total / (len(data) - 1)
print("as numpy.cov:", np.allclose(covariance, np.cov(data.T), atol=1e-3))
