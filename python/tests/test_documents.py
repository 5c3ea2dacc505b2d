"""The code of the documents runs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import duoblas
import numpy as np
import pytest

from duoblas._library import library


README, GUIDE, REFERENCE = "python/README.md", "docs/guide/python.md", "docs/reference/python.md"
FILES = pytest.mark.parametrize("file, blocks", [(README, 1), (GUIDE, 8), (REFERENCE, 3)])


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
        is_iteration = "norm(" in code
        if is_iteration:  # on a square matrix
            names.update(a=np.eye(30, dtype=np.float32), x=np.ones((30, 1), np.float32),
                         y=np.zeros((30, 1), np.float32))
        exec(code, names)
        if is_iteration:
            assert np.allclose(names["x"], 1 / np.sqrt(30))


@pytest.fixture
def program(header, tmp_path):
    """All of it in one file."""
    root, file = header.parents[1], tmp_path / "program.py"
    given = "from typing import Any\ncupy: Any = None\nx = y = np.ones((30, 1), np.float32)\n"
    text = [code_of((root / name).read_text()) for name in (README, GUIDE, REFERENCE)]
    file.write_text("\n".join([
        *text[0], given, *text[1], *text[2], "import duoblas, numpy as np",
        *re.findall("^    (.*)$", duoblas.__doc__, re.MULTILINE)]))
    return file


def run(*arguments):
    return subprocess.run([sys.executable, "-m", *map(str, arguments)], capture_output=True,
                          text=True, cwd=Path(duoblas.__file__).parents[1], timeout=300)


def test_types(program, header):
    """Also under mypy --strict. The second file has what would be Any if types were missing."""
    pytest.importorskip("mypy")
    wanted = program.with_name("wanted.py")
    wanted.write_text("""
import duoblas
import numpy as np
from numpy.typing import NDArray
a: NDArray[np.float32] = duoblas.zeros_pinned((2, 3))
b: NDArray[np.float64] = duoblas.zeros_pinned((2, 3))  # type: ignore[assignment]
reason: int = duoblas.explain()["reason"]  # type: ignore[assignment]
held: int = duoblas.keep(a)  # type: ignore[assignment]
duoblas.Context(path="nowhere")  # type: ignore[arg-type]
""")
    done = run("mypy", "--strict", "--cache-dir", program.parent, program, wanted,
               *(header.parents[1] / "examples" / "python").glob("*.py"))
    assert done.returncode == 0, done.stdout


def test_types_by_pyright(program):
    pytest.importorskip("pyright")
    if run("pyright", "--version").returncode != 0:
        pytest.skip("pyright has no node to run on")
    settings = program.with_name("pyrightconfig.json")
    settings.write_text(json.dumps({
        "typeCheckingMode": "strict", "reportDuplicateImport": False,
        "extraPaths": [str(Path(duoblas.__file__).parents[1])], "include": [program.name]}))
    done = run("pyright", "--pythonpath", sys.executable, "-p", settings)
    assert done.returncode == 0, done.stdout
