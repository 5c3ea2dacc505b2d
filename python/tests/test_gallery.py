"""The programs of examples/python print what stands beside them."""

import subprocess
import sys

import pytest

from duoblas._library import library


@pytest.mark.parametrize("name", ["unchanged", "power", "attention", "pinned", "reproducible"])
def test_program(header, name):
    if hasattr(library, "sim_lose"):
        pytest.skip("the simulated device takes long for products of this size")
    folder = header.parents[1] / "examples" / "python"
    assert {path.stem for path in folder.glob("*.py")} == {path.stem for path in
                                                           folder.glob("*.out")}
    done = subprocess.run([sys.executable, folder / f"{name}.py"], capture_output=True, text=True,
                          timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (folder / f"{name}.out").read_text()


def test_every_program_is_run(header):
    folder = header.parents[1] / "examples" / "python"
    assert len(list(folder.glob("*.py"))) == 5
