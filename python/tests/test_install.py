"""NumPy's own calls, served by the drop-in of this process, and of programs that are started."""

import os
import subprocess
import sys
import textwrap
import threading
from importlib.machinery import ExtensionFileLoader

import numpy as np
import pytest

import duoblas
from duoblas import _install

pytestmark = pytest.mark.skipif(not os.path.exists(_install.drop_in_path()),
                                reason="there is no drop-in beside the library")

NUMPY = "_multiarray_umath"


def product_of(n=40):
    """A product by NumPy, and by hand."""
    a, b = np.random.default_rng(n).standard_normal((2, n, n)).astype(np.float32)
    return a @ b, (a.astype(float) @ b.astype(float))


def calls():
    return sum(c["on_cpu"] + c["on_gpu"] for c in duoblas.report()["served"].values())


def run(code, **variables):
    """The output of a Python program."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True,
                          text=True, env={**os.environ, **variables}, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def nothing_installed():
    yield
    duoblas.uninstall()
    assert ExtensionFileLoader.create_module is _install._create_module


def test_numpys_products_are_served_until_it_is_undone():
    duoblas.install()
    assert any(NUMPY in path for path in duoblas.report()["installed_in"])
    before = calls()
    served, exact = product_of()
    assert np.abs(served - exact).max() < 1e-4
    assert calls() == before + 1
    assert "sgemm" in duoblas.report()["words"]
    duoblas.uninstall()
    duoblas.uninstall()
    product_of()
    assert calls() == before + 1
    assert duoblas.report()["installed_in"] == []


def test_float64_is_left_alone():
    with duoblas.installed():
        before = calls()
        a = np.ones((40, 40))
        assert (a @ a == 40).all()
        assert calls() == before


def test_blocks_leave_things_as_they_were():
    with duoblas.installed():
        before = calls()
        with duoblas.installed(count=False):
            product_of()
            assert calls() == before
        product_of()
        assert calls() == before + 1
    product_of()
    assert calls() == before + 1
    with pytest.raises(KeyError), duoblas.installed():
        raise KeyError
    assert duoblas.report()["installed_in"] == []


def test_nothing_happens_at_import():
    assert run("""
        import duoblas, numpy as np
        from importlib.machinery import ExtensionFileLoader
        assert ExtensionFileLoader.create_module.__module__ != "duoblas._install"
        a = np.ones((9, 9), np.float32)
        a @ a
        print(duoblas.report()["installed_in"], duoblas.report()["served"])
        """) == "[] {}\n"


def test_modules_that_are_imported_later_are_served():
    pytest.importorskip("scipy")
    assert run("""
        import duoblas
        duoblas.install()
        from scipy.linalg.blas import sdot, sgemm
        assert sdot([1, 2], [3, 4]) == 11 and sgemm(1, [[2]], [[3]]) == 6
        served = duoblas.report()["served"]
        print(served["sdot"]["on_cpu"] > 0, served["sgemm"]["on_cpu"] > 0)
        duoblas.uninstall()
        sdot([1, 2], [3, 4])
        print(duoblas.report()["served"]["sdot"] == served["sdot"])
        """, DUOBLAS_PATH="cpu") == "True True\nTrue\n"


def test_libraries_of_modules_are_looked_at_before_the_modules_begin():
    told = run("""
        import duoblas, importlib, sys, sysconfig
        from pathlib import Path
        from duoblas import _install
        duoblas.install()
        looked = []
        _install._drop_in.lead_there = lambda: looked.append(name in sys.modules)
        folder = Path(sysconfig.get_config_var("DESTSHARED"))
        names = {path.name.partition(".")[0] for path in folder.glob("*.so")}
        alone = ["_lsprof", "_statistics", "_queue", "termios"]  # they import no others
        name = next((n for n in alone if n in names and n not in sys.modules), None)
        if name:
            importlib.import_module(name)
        print(name and set(looked), name in sys.modules)
        """)
    if told.startswith("None"):
        pytest.skip("Python has its modules inside")
    assert told == "{False} True\n"


def test_a_module_that_cannot_be_loaded_fails_as_ever(tmp_path, monkeypatch):
    (tmp_path / "no_module_at_all.so").write_bytes(b"nothing")
    monkeypatch.syspath_prepend(str(tmp_path))
    with duoblas.installed(), pytest.raises(ImportError, match="no_module_at_all"):
        __import__("no_module_at_all")


def test_it_says_if_numpy_cannot_be_reached(monkeypatch):
    monkeypatch.setattr(_install, "_multiplies_of_numpy", lambda: "/nowhere/numpy.so")
    with pytest.warns(RuntimeWarning, match="NumPy's BLAS calls cannot be reached.*/nowhere/numpy"):
        duoblas.install()


def test_without_a_drop_in_nothing_is_installed():
    assert run("""
        import duoblas, numpy
        from duoblas import _install
        from importlib.machinery import ExtensionFileLoader
        _install._NAME = "libnowhere-duoblas.so"
        try:
            duoblas.install()
        except ImportError as problem:
            print("the drop-in cannot be opened" in str(problem))
        assert ExtensionFileLoader.create_module.__module__ != "duoblas._install"
        print(duoblas.report()["installed_in"])
        """) == "True\n[]\n"


def test_threads_multiply_meanwhile():
    wrong = []
    stop = threading.Event()

    def multiply():
        while not stop.is_set():
            served, exact = product_of(20)
            if np.abs(served - exact).max() >= 1e-4:
                wrong.append(served)

    threads = [threading.Thread(target=multiply) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        duoblas.install()
        duoblas.uninstall()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_is_served_and_counts_its_own_calls():
    with duoblas.installed():
        product_of()
        child = os.fork()
        if child == 0:
            served, exact = product_of()
            good = calls() == 1 and np.abs(served - exact).max() < 1e-4
            duoblas.uninstall()
            product_of()
            os._exit(0 if good and calls() == 1 else 1)
        assert os.waitpid(child, 0)[1] == 0


# ---- Programs ----

def started(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "duoblas", "run", *map(str, arguments)],
                          capture_output=True, text=True, timeout=120, **options)


PROGRAM = """
import sys
import numpy as np
a = np.ones((50, 50), np.float32)
a @ (2 * a)
print(__name__, sys.argv[1:])
sys.exit(3)
"""


def test_a_script_is_served(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    done = started(script, "--summary", "x")
    assert (done.returncode, done.stdout) == (3, "__main__ ['--summary', 'x']\n")
    assert "  sgemm           1" in done.stderr


@pytest.mark.parametrize("summary", [["--summary", "told.txt"], ["--summary=told.txt"]])
def test_a_module_is_served(tmp_path, summary):
    (tmp_path / "some_module.py").write_text(PROGRAM)
    path = os.environ.get("PYTHONPATH", "")
    done = started(*summary, "-m", "some_module", "x", cwd=tmp_path,
                   env={**os.environ, "PYTHONPATH": f"{tmp_path}:{path}"})
    assert (done.returncode, done.stdout, done.stderr) == (3, "__main__ ['x']\n", "")
    assert "  sgemm           1" in (tmp_path / "told.txt").read_text()


def test_there_has_to_be_a_program():
    done = started()
    assert done.returncode == 2 and "which program?" in done.stderr
    assert "usage" in started("--help").stdout
