"""NumPy's own products, served without changing the code that calls them."""

from typing import Any

import duoblas
import numpy as np


def network(x: Any, layers: Any) -> Any:
    """Code that knows nothing of DuoBLAS."""
    for weights in layers:
        x = np.maximum(x @ weights, 0)
    return x


rng = np.random.default_rng(1)
layers = [rng.standard_normal((300, 300), np.float32) * 0.1 for _ in range(4)]
x = rng.standard_normal((64, 300), np.float32)
before = network(x, layers)
with duoblas.installed():
    after = network(x, layers)
    calls = duoblas.report()["served"]["sgemm"]
print("products served:", calls["on_cpu"] + calls["on_gpu"])
print("the same but for roundings:", np.allclose(before, after, rtol=1e-4, atol=1e-4))
