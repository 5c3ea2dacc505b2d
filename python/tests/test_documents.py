"""The code of the documents runs."""

import re

import numpy as np
import pytest

from duoblas._library import library


@pytest.mark.parametrize("file, blocks", [("docs/python.md", 3), ("python/README.md", 1)])
def test_code(header, file, blocks):
    if hasattr(library, "sim_lose"):
        pytest.skip("the simulated device takes long for products of this size")
    text = (header.parents[1] / file).read_text()
    found = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(found) == blocks
    names = {}
    for code in found:
        if "cupy" in code:
            continue
        if "import" not in code:  # an iteration, on a square matrix
            names.update(a=np.eye(30, dtype=np.float32), x=np.ones((30, 1), np.float32),
                         y=np.zeros((30, 1), np.float32))
        exec(code, names)
    if "x" in names:
        assert np.allclose(names["x"], 1 / np.sqrt(30))
