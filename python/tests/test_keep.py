"""Kept and prepared arrays."""

import gc
import subprocess
import sys
import threading
import warnings

import duoblas
import numpy as np
import pytest

from bounds import near, product
from duoblas import _ranges
from duoblas._library import library


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    gc.collect()
    assert not _ranges.kept._known and not _ranges.adopted._known


def test_iteration(rng):
    """README's power iteration, beside NumPy's."""
    n = 64
    a = rng.standard_normal((n, n), np.float32)
    a = a + a.T + 20 * np.eye(n, dtype=np.float32)
    x, y, z = np.ones((n, 1), np.float32), np.empty((n, 1), np.float32), np.ones((n, 1))
    with duoblas.keep(a), duoblas.keep(x, y) as vectors:
        for _ in range(20):
            duoblas.sgemm(a, x, y)
            vectors.fetch()
            x[...] = y / np.linalg.norm(y)
            vectors.changed()
            z = a @ z / np.linalg.norm(a @ z)
    assert np.allclose(x, z, atol=1e-4)


def test_result_is_there_after_the_block(rng):
    a, b = rng.standard_normal((40, 30), np.float32), rng.standard_normal((30, 20), np.float32)
    c = np.full((40, 20), np.nan, np.float32)
    with duoblas.keep(a, b, c):
        duoblas.sgemm(a, b, c)
    assert near(c, *product(a, b))


def test_sent_once(rng, sim):
    a, b = rng.standard_normal((256, 256), np.float32), np.ones((256, 8), np.float32)
    with duoblas.Context(path="gpu"), duoblas.keep(a, b):
        before = sim.uploaded_bytes()
        for _ in range(5):
            assert near(duoblas.sgemm(a, b), *product(a, b))
        assert duoblas.explain()["side"] == "gpu"
        assert duoblas.explain()["residence"] == ("kept", "kept", "pageable")
        assert sim.uploaded_bytes() - before == a.nbytes + b.nbytes


def test_nested(rng, sim):
    """The inner block does not end the outer one, be it for the same array or a part of it."""
    a = rng.standard_normal((128, 128), np.float32)
    with duoblas.Context(path="gpu") as ctx, duoblas.keep(a):
        with ctx.keep(a), ctx.keep(a[:64]), ctx.prepare(a):
            duoblas.ssum(a[0])
        duoblas.ssum(a[0])
        assert ctx.explain()["residence"][0] == "kept"
    duoblas.ssum(a[0])


def test_parts_of_kept_arrays(rng):
    a = rng.standard_normal((50, 60), np.float32)
    b = rng.standard_normal((60, 40), np.float32)
    with duoblas.keep(a, b):
        for part in (a[:, :20], a[10:30, 5:25], a[::2, :20]):
            assert near(duoblas.sgemm(part, b[:20]), *product(part, b[:20]))
        assert near(duoblas.sgemm(b.T[:, :20], a[:20]), *product(b.T[:, :20], a[:20]))


def test_prepare(rng):
    a, b = rng.standard_normal((130, 70), np.float32), rng.standard_normal((70, 90), np.float32)
    with duoblas.prepare(a) as factor:
        assert near(duoblas.sgemm(a, b), *product(a, b))
        a *= 2
        factor.changed()
        assert near(duoblas.sgemm(a, b), *product(a, b))


def test_prepare_is_told(rng, monkeypatch):
    """A promise, and its end, before the array is forgotten."""
    told, prepare = [], library.duo_prepare
    monkeypatch.setattr(library, "duo_prepare",
                        lambda *a: told.append((a[1:], len(_ranges.kept._known))) or prepare(*a))
    a = rng.standard_normal((4, 5), np.float32)
    with duoblas.prepare(a):
        pass
    assert told == [((a.ctypes.data, a.nbytes), 1), ((a.ctypes.data, 0), 1)]


def test_dropped(rng):
    """Without a block an array is kept as long as what keep returned."""
    a = rng.standard_normal((10, 10), np.float32)
    held = duoblas.keep(a)
    assert len(_ranges.kept._known) == 1
    del a
    gc.collect()
    held.changed()
    held.release()
    held.release()  # does nothing
    held = duoblas.keep(np.zeros(7, np.float32))
    with pytest.warns(RuntimeWarning, match="kept=1.* neither released nor used"):
        del held
        gc.collect()


def test_statement(rng):
    """It keeps nothing, and says so, and where."""
    a = rng.standard_normal((10, 10), np.float32)
    with pytest.warns(RuntimeWarning) as told:
        duoblas.keep(a)
        gc.collect()
    assert [warning.filename for warning in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        duoblas.prepare(a).release()
        duoblas.keep(a[:0])
        gc.collect()


def test_what_the_program_keeps_to_its_end():
    """Of that there is nothing to say."""
    program = """
import duoblas, numpy as np
held = duoblas.keep(np.ones(5, np.float32))
def f():
    duoblas.keep(np.ones(6, np.float32))
f()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.count("RuntimeWarning") == 1 and "<string>:5" in done.stderr


def test_released_by_another_thread(rng, monkeypatch):
    """While the context is in use: in no context that another thread may be in."""
    contexts = []
    monkeypatch.setattr(_ranges.kept, "_take_back", lambda handle, low:
                        contexts.append(handle) or library.duo_release(handle, low))
    a, b = rng.standard_normal((64, 48), np.float32), rng.standard_normal((48, 80), np.float32)
    right, bound = product(a, b)
    with duoblas.Context() as ctx:
        ended = threading.Event()

        def work():
            while not ended.is_set():
                ctx.keep(a).release()
                with ctx.prepare(b) as kept:
                    kept.changed()

        thread = threading.Thread(target=work)
        thread.start()
        good = all(near(duoblas.sgemm(a, b), right, bound) for _ in range(100))
        ended.set()
        thread.join()
    assert good and set(contexts) == {None}


def test_outlives_its_context(rng):
    a = rng.standard_normal((10, 10), np.float32)
    ctx = duoblas.Context()
    held = ctx.keep(a)
    ctx.close()
    held.release()


def test_what_is_refused(rng):
    a = rng.standard_normal((10, 10), np.float32)
    for bad in (a[:, :5], a[::2], a[::-1, ::2]):
        with pytest.raises(ValueError, match="gaps"):
            duoblas.keep(a.ravel(), bad)
    with pytest.raises(TypeError):
        duoblas.keep(a.astype(float))
    with duoblas.keep(a[:6]), pytest.raises(duoblas.ArgumentError) as told:
        duoblas.keep(a[4:])
    assert told.value.status is duoblas.Status.ERR_RANGE
    with duoblas.keep(a.T, a[:0]):
        pass


def test_lost(rng, sim):
    """The only current copy was on a device that is lost."""
    program = """
import ctypes, duoblas, numpy as np
a, c = np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
ctx = duoblas.Context(path="gpu")
held = ctx.keep(a, c)
duoblas.sgemm(a, a, c, ctx=ctx)
duoblas._library.library.sim_lose(0)
try:
    held.fetch()
except duoblas.DeviceLostError as e:
    print(e.status.name)
try:
    held.release()
except duoblas.DeviceLostError as e:
    print(e.status.name)
print(duoblas.sgemm(a, a, ctx=ctx)[0, 0], ctx.explain()["side"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["ERR_LOST", "ERR_LOST", "64.0", "cpu"], done.stderr
