"""crossover(): by a stand-in for the program, and by the program where it is beside the library."""

import builtins
import json
import os
import sys

import duoblas
import pytest
from duoblas import _crossover

STAND_IN = """#!{python}
import json, os, sys
given = dict(a.partition("=")[::2] for a in sys.argv[2:])
if {fails}:
    sys.stderr.write("it began\\nduoblas: no memory\\n")
    sys.exit(1)
if os.isatty(2):
    for part in (10, 55, 100):
        sys.stderr.write("\\r[###...] %3d %%  0:01 left  sgemm" % part)
        sys.stderr.flush()
print("tables")
figures = [dict(residence=r, seconds_median=t) for r, t in
           (("host", 2e-6), ("host", 1e-6), ("pageable", 3e-6), ("resident", None))]
cases = [dict(operation=o, family="n", n=n, figures=figures) for o in ("sgemm", "ssum")
         for n in (10, 100)]
facts = dict(verdict=["From n = 364 on.", "Never."], cases=cases, given=sys.argv[1:])
open(given["--json"], "w").write(json.dumps(facts))
"""


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """Makes it; fails: it does."""
    def make(fails=False):
        program = tmp_path / "stand-in"
        program.write_text(STAND_IN.format(python=sys.executable, fails=fails))
        program.chmod(0o755)
        monkeypatch.setenv("DUOBLAS_TOOL", str(program))
    return make


def without(monkeypatch, name):
    """The module is not installed."""
    whole = builtins.__import__

    def imported(module, *rest):
        if module.partition(".")[0] == name:
            raise ImportError(module)
        return whole(module, *rest)

    monkeypatch.setattr(builtins, "__import__", imported)


def test_facts(stand_in, capfd):
    stand_in()
    facts = duoblas.crossover(progress=False)
    assert str(facts) == "From n = 364 on.\nNever."
    assert facts["given"][:-1] == ["crossover", "--no-files", "--quick", "--no-profile"]
    facts = duoblas.crossover(False, operations=["sgemm", "ssum"], max_seconds=7, save=True,
                              ignore_noise=True, progress=False)
    assert set(facts["given"][2:-1]) == {"--ignore-noise", "--operations=sgemm,ssum",
                                         "--max-seconds=7"}
    assert json.loads(json.dumps(facts)) == facts
    assert capfd.readouterr() == ("", "")


def test_nothing_is_printed_without_tqdm(stand_in, monkeypatch, capfd):
    stand_in()
    without(monkeypatch, "tqdm")
    duoblas.crossover()
    assert capfd.readouterr() == ("", "")


def no_terminal():
    raise OSError("out of pty devices")


@pytest.mark.parametrize("terminals", [True, False])
def test_progress(stand_in, monkeypatch, terminals):
    """Also where the system has no terminals left."""
    stand_in()
    if not terminals:
        monkeypatch.setattr("pty.openpty", no_terminal)

    class Bar:
        def __init__(self):
            self.n, self.seen, self.closed = 0, [], False

        def update(self, by):
            self.n += by
            self.seen.append(self.n)

        def close(self):
            self.closed = True

    bar = Bar()
    monkeypatch.setattr(_crossover, "_bar", lambda wanted: bar if wanted else None)
    duoblas.crossover()
    assert bar.closed and bar.n == 100 and sorted(bar.seen) == bar.seen
    if not terminals:
        assert bar.seen == [100]


def test_failure(stand_in, monkeypatch):
    stand_in(fails=True)
    before = len(os.listdir("/proc/self/fd"))
    for progress in (False, True):
        with pytest.raises(RuntimeError, match="status 1: duoblas: no memory"):
            duoblas.crossover(progress=progress)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("bad, error", [({"operations": ["dgemm"]}, ValueError),
                                        ({"max_seconds": 1.5}, TypeError),
                                        ({"max_seconds": 1 << 40}, ValueError)])
def test_bad_arguments(stand_in, bad, error):
    stand_in()
    with pytest.raises(error):
        duoblas.crossover(**bad)


def test_there_is_no_program(monkeypatch, tmp_path):
    """As in a wheel."""
    monkeypatch.setattr(_crossover, "library_path", str(tmp_path / "libduoblas.so.1"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DUOBLAS_TOOL", raising=False)
    with pytest.raises(FileNotFoundError, match="DUOBLAS_TOOL"):
        duoblas.crossover()


def test_figure(stand_in, monkeypatch):
    stand_in()
    facts = duoblas.crossover(progress=False)
    with monkeypatch.context() as patch:
        without(patch, "matplotlib")
        assert facts.figure() is None and facts._repr_png_() is None
    pytest.importorskip("matplotlib")
    first, second = facts.figure().axes
    assert (first.get_title(), second.get_title()) == ("sgemm", "ssum")
    cpu, gpu = first.lines  # nothing is known of the third
    assert list(cpu.get_xdata()) == [10, 100] and list(cpu.get_ydata()) == [1e-6, 1e-6]
    assert list(gpu.get_ydata()) == [3e-6, 3e-6]
    assert facts._repr_png_().startswith(b"\x89PNG")


def test_the_program(tmp_path, monkeypatch):
    try:
        _crossover._program()
    except FileNotFoundError:
        pytest.skip("there is no program")
    monkeypatch.setenv("HOME", str(tmp_path))
    facts = duoblas.crossover(operations=["ssum"], max_seconds=1, progress=False)
    assert facts["tool"] and facts["verdict"] and str(facts)
    assert {case["operation"] for case in facts["cases"]} == {"ssum"}
    assert {path.name for path in tmp_path.iterdir()} <= {".nv"}  # the driver's cache
    assert facts.figure() is None or len(facts.figure().axes) == 1
