"""The code of the documents runs."""

import re
import subprocess
import sys

import duoblas
import numpy as np
import pytest

from duoblas._library import library


FILES = pytest.mark.parametrize("file, blocks", [("docs/python.md", 8), ("python/README.md", 1)])


def code_of(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@FILES
def test_code(header, file, blocks):
    if hasattr(library, "sim_lose"):
        pytest.skip("the simulated device takes long for products of this size")
    text = (header.parents[1] / file).read_text()
    found = code_of(text)
    assert len(found) == blocks
    names = {}
    for code in found:
        if "cupy" in code:
            continue
        if "keep(a, x, y)" in code:  # an iteration, on a square matrix
            names.update(a=np.eye(30, dtype=np.float32), x=np.ones((30, 1), np.float32),
                         y=np.zeros((30, 1), np.float32))
        exec(code, names)
    if "x" in names:
        assert np.allclose(names["x"], 1 / np.sqrt(30))


def test_types(header, tmp_path):
    """Also under mypy --strict."""
    pytest.importorskip("mypy")
    root, program = header.parents[1], tmp_path / "program.py"
    given = "import cupy\nx = y = np.ones((30, 1), np.float32)\n"
    program.write_text("\n".join([
        *code_of((root / "python/README.md").read_text()), given,
        *code_of((root / "docs/python.md").read_text()), "import duoblas, numpy as np",
        *re.findall("^    (.*)$", duoblas.__doc__, re.MULTILINE)]))
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path),
                           "--disable-error-code=import-not-found", str(program)],
                          capture_output=True, text=True, cwd=root / "python")
    assert done.returncode == 0, done.stdout
