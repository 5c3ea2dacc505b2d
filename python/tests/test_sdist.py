"""The source distribution has what a wheel is built from."""

import shutil
import subprocess
import sys
import tarfile

import duoblas
import pytest


def test_sdist(header, tmp_path):
    """CMake finds all files of the library, and of its installation. By scikit-build-core."""
    pytest.importorskip("scikit_build_core", minversion="1.0")
    if shutil.which("cmake") is None:
        pytest.skip("there is no CMake")
    program = "import sys, scikit_build_core.build as b; print(b.build_sdist(sys.argv[1]))"
    source = header.parents[1]
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True,
                          text=True, cwd=source / "python")
    assert done.returncode == 0, done.stderr
    (packed,) = tmp_path.glob("duoblas-*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path)
    unpacked = tmp_path / packed.name[:-len(".tar.gz")]
    wanted = {path.relative_to(source) for folder in ("src", "include", "cmake", "python/src")
              for path in (source / folder).rglob("*") if path.is_file()}
    assert wanted and all((unpacked / "source" / path).is_file() for path in wanted)
    done = subprocess.run(["cmake", "-S", unpacked / "source", "-B", tmp_path / "build",
                           "-DSKBUILD=2", "-DSKBUILD_METADATA_DIR=facts", "-DDUOBLAS_CUDA=OFF",
                           "-DDUOBLAS_TOOL=OFF", "-DBUILD_TESTING=OFF"], capture_output=True,
                          text=True)
    if "required packages were not found" in done.stderr:
        pytest.skip("the library cannot be built here")
    assert done.returncode == 0, done.stderr
    described = subprocess.run(["cmake", "--build", tmp_path / "build", "--target", "help"],
                               capture_output=True, text=True, check=True)
    assert "duoblas_python" in described.stdout
    assert f"Version: {duoblas.__version__}\n" in (unpacked / "PKG-INFO").read_text()
