"""The package's copies of what duoblas.h declares."""

import ctypes
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duoblas
import pytest

from duoblas import _graph, _library


def test_status(header):
    listed = re.findall(r"X\(DUO_(\w+), (-?\d+),", header.read_text())
    assert {name: int(value) for name, value in listed} == dict(duoblas.Status.__members__)


def test_version(header):
    text = header.read_text()
    numbers = [re.search(rf"DUO_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR")]
    assert _library._INTERFACE == tuple(map(int, numbers))
    whole = re.search(r'DUO_VERSION_STRING "(.*)"', text)[1]
    assert duoblas.__version__ == whole.replace("-rc.", "rc")  # as pip writes it


def test_version_of_a_copy(tmp_path):
    """By metadata beside it, if there are any; else it is the library's."""
    package = Path(duoblas.__file__).parent
    shutil.copytree(package, tmp_path / "duoblas", ignore=shutil.ignore_patterns("__pycache__"))

    def version():
        program = "import duoblas; print(duoblas.__file__, duoblas.__version__)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(tmp_path),
                                   "DUOBLAS_LIBRARY": _library.library_path})
        file, found = done.stdout.split()
        assert Path(file).parent == tmp_path / "duoblas"
        return found

    if not any(importlib.metadata.distributions(name="duoblas")):
        assert version() == _library.library_version
    metadata = tmp_path / "duoblas-7.1.dist-info/METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: duoblas\nVersion: 7.1\n")
    assert version() == "7.1"


def test_version_of_what_is_installed():
    try:
        installed = importlib.metadata.distribution("duoblas")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("it is not installed")
    if Path(installed.locate_file("duoblas")).resolve() != Path(duoblas.__file__).parent:
        pytest.skip("another one is tested")
    assert duoblas.__version__ == installed.version


def test_names():
    """Nothing but what is public."""
    public = {name for name in dir(duoblas) if not name.startswith("_")}
    assert public == set(duoblas.__all__) - {"__version__"}


STRUCTURES = {"duo_decision": _library.Decision, "duo_candidate": _library.Candidate,
              "duo_parts": _library.Parts, "duo_device_info": _library.DeviceInfo,
              "duo_work": _library.Work}
CONSTANTS = {
    "DUO_ROW_MAJOR": _library.LAYOUT["row"], "DUO_COL_MAJOR": _library.LAYOUT["column"],
    "DUO_NO_TRANS": _library.TRANSPOSE[False], "DUO_TRANS": _library.TRANSPOSE[True],
    "DUO_PATH_AUTO": _library.PATHS["auto"], "DUO_PATH_CPU": _library.PATHS["cpu"],
    "DUO_PATH_GPU": _library.PATHS["gpu"], "DUO_MATH_ACCURATE": _library.MATHS["accurate"],
    "DUO_MATH_IEEE": _library.MATHS["ieee"], "DUO_MATH_TF32": _library.MATHS["tf32"],
    "DUO_MATH_FLOAT64": _library.MATHS["float64"],
    "DUO_PRIORITY_NORMAL": _library.PRIORITIES["normal"],
    "DUO_PRIORITY_HIGH": _library.PRIORITIES["high"],
    "DUO_OPEN_FIRST": _library.OPENING["first"],
    "DUO_OPEN_BACKGROUND": _library.OPENING["background"],
    "DUO_REMEMBER_NONE": _library.REMEMBER["none"],
    "DUO_REMEMBER_BYTES": _library.REMEMBER["bytes"],
    "DUO_REMEMBER_PAGES": _library.REMEMBER["pages"],
    **{f"DUO_WORK_{name[4:].upper()}": kind for name, (kind, _) in _graph._KINDS.items()},
    "DUO_SIDE_CPU": _library.SIDES.index("cpu"), "DUO_SIDE_GPU": _library.SIDES.index("gpu"),
    "DUO_AT_UNUSED": _library.RESIDENCES.index("unused"),
    "DUO_AT_PAGEABLE": _library.RESIDENCES.index("pageable"),
    "DUO_AT_PINNED": _library.RESIDENCES.index("pinned"),
    "DUO_AT_KEPT": _library.RESIDENCES.index("kept"),
    "DUO_AT_STALE": _library.RESIDENCES.index("stale"),
    "DUO_AT_DEVICE": _library.RESIDENCES.index("device"),
    "DUO_AT_REMEMBERED": _library.RESIDENCES.index("remembered")}


def test_layout_and_constants(header, tmp_path):
    """By a C compiler."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    wanted = dict(CONSTANTS)
    for name, structure in STRUCTURES.items():
        wanted[f"sizeof({name})"] = ctypes.sizeof(structure)
        for field in structure._fields_:
            wanted[f"offsetof({name}, {field[0]})"] = getattr(structure, field[0]).offset
    checks = "".join(f'_Static_assert({c} == {value}, "{c}");\n' for c, value in wanted.items())
    file = tmp_path / "layout.c"
    file.write_text("#include <duoblas.h>\n" + checks)
    subprocess.run(["cc", "-fsyntax-only", f"-I{header.parent}", str(file)], check=True)


def test_import_is_short():
    """What few functions need is imported when they are called."""
    late = {"html", "logging", "matplotlib", "pty", "subprocess", "tempfile", "tqdm"}
    program = "import numpy, sys; before = set(sys.modules); import duoblas; " \
              "print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True)
    assert not late & set(done.stdout.split())
