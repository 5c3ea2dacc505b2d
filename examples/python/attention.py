"""Attention of a transformer: stacks of products, each stack in one call."""

import duoblas
import numpy as np

sequences, heads, length, width = 2, 8, 128, 64
rng = np.random.default_rng(3)
q, k, v = rng.standard_normal((3, sequences, heads, length, width), np.float32)

scores = duoblas.matmul(q, k.swapaxes(-1, -2))  # 2 x 8 products of 128 x 64 and 64 x 128
scores /= np.sqrt(np.float32(width))
weights = np.exp(scores - scores.max(-1, keepdims=True))
weights /= weights.sum(-1, keepdims=True)
result = duoblas.matmul(weights, v)

exact = q.astype(float) @ k.astype(float).swapaxes(-1, -2) / np.sqrt(width)
exact = np.exp(exact - exact.max(-1, keepdims=True))
exact = exact / exact.sum(-1, keepdims=True) @ v.astype(float)
print("result:", result.shape, result.dtype)
print("right to five digits:", bool(np.abs(result - exact).max() < 1e-5 * np.abs(exact).max()))
print("products of the last call:", duoblas.explain()["count"])
