"""Arrays that others have made on a device: on the simulated one, by both protocols."""

import gc
import threading

import duoblas
import numpy as np
import pytest

from conftest import DeviceArray, DLPackArray
from bounds import U, near, product
from duoblas import _ranges


@pytest.fixture(autouse=True)
def nothing_is_left(capsules):
    yield
    gc.collect()
    assert not _ranges.adopted._known and not _ranges.kept._known
    assert capsules() == 0


def test_sgemm(rng, sim, on_device):
    for path in ("auto", "gpu", "cpu"):
        a, b = rng.standard_normal((70, 50), np.float32), rng.standard_normal((50, 60), np.float32)
        c = rng.standard_normal((70, 60), np.float32)
        da, db, dc = on_device(a), on_device(b), on_device(c)
        moved = sim.uploaded_bytes() + sim.downloaded_bytes()
        with duoblas.Context(path=path):
            assert duoblas.sgemm(da, db, dc, 0.5, 2) is dc
            told = duoblas.explain()
        assert near(dc.get(), *product(a, b, 0.5, 2, c))
        assert told["residence"] == ("device",) * 3
        if path == "gpu":
            assert told["side"] == "gpu"
            assert sim.uploaded_bytes() + sim.downloaded_bytes() == moved


def test_views(rng, on_device):
    whole = rng.standard_normal((40, 60), np.float32)
    d = on_device(whole)
    c = on_device(np.zeros((20, 60), np.float32))
    for a, b in [((slice(20), slice(10, 30)), (slice(20, 40), slice(0, 60, 1))),
                 ((slice(0, 40, 2), slice(20)), (slice(0, 20), slice(0, 60)))]:
        duoblas.sgemm(d[a], d[b], c)
        assert near(c.get(), *product(whole[a], whole[b]))
    with pytest.raises(ValueError, match="copy"):
        duoblas.sgemm(d[::2, ::3], d[:20], c)
    with pytest.raises(ValueError, match="shares elements with a"):
        duoblas.sgemm(d[:20, :20], d[:20], d[10:30])


def test_matmul(rng, sim, on_device):
    """By one call, where the arrays are."""
    for of_a, of_b in [((7, 5), (5, 6)), ((5,), (5, 6)), ((3, 7, 5), (5,)), ((3, 7, 5), (5, 6)),
                       ((7, 5), (3, 5, 6)), ((4, 1, 7, 5), (3, 5, 6))]:
        a, b = rng.standard_normal(of_a, np.float32), rng.standard_normal(of_b, np.float32)
        for function in (np.matmul, np.dot):
            right, bound = product(a, b, by=function)
            da, db, out = on_device(a), on_device(b), on_device(np.full(right.shape, np.nan))
            moved = sim.uploaded_bytes() + sim.downloaded_bytes()
            with duoblas.Context(path="gpu"):
                assert getattr(duoblas, function.__name__)(da, db, out=out) is out
                assert duoblas.explain()["residence"] == ("device",) * 3
            assert sim.uploaded_bytes() + sim.downloaded_bytes() == moved
            assert near(out.get(), right, bound)
    x = on_device(a[0, 0])
    assert duoblas.vdot(x, x) == duoblas.sdot(a[0, 0].ravel(), a[0, 0].ravel())
    with pytest.raises(ValueError, match="give the array"):
        duoblas.matmul(x, db)
    d = on_device(np.ones((3, 2)))
    for call in (lambda: duoblas.vdot(db[:, ::-1], db), lambda: duoblas.matmul(db[:, ::2, ::2], d)):
        with pytest.raises(ValueError, match="copy it first"):
            call()


def test_reductions(rng, on_device):
    x = rng.standard_normal(5001, np.float32)
    d = on_device(x)
    for step in (1, 3):
        part = x[::step].astype(float)
        bound = 8 * U * abs(part).sum()
        assert abs(float(duoblas.ssum(d[::step])) - part.sum()) <= bound
        assert abs(float(duoblas.sasum(d[::step])) - abs(part).sum()) <= bound
    assert duoblas.sdot(d, d[::-1]) == duoblas.sdot(x, x[::-1])
    assert duoblas.ssum(d[:0]) == 0
    square = on_device(x[:4900].reshape(70, 70))
    assert duoblas.sum(square) == duoblas.ssum(x[:4900])
    assert duoblas.abs_sum(square, (1, 0)) == duoblas.sasum(x[:4900])
    with pytest.raises(ValueError, match="copy it first"):
        duoblas.sum(square[:, :30])
    out = on_device([np.nan])
    assert duoblas.ssum(d, out=out) is out
    assert out.get()[0] == duoblas.ssum(x)


def test_mixed_with_host_arrays(rng, on_device):
    a, b = rng.standard_normal((30, 40), np.float32), rng.standard_normal((40, 20), np.float32)
    c = np.empty((30, 20), np.float32)
    duoblas.sgemm(on_device(a), b, c)
    assert near(c, *product(a, b))
    with duoblas.keep(b):
        duoblas.sgemm(on_device(a), b, c)
        assert near(c, *product(a, b))


def test_result_has_to_be_given(on_device):
    a = on_device(np.ones((3, 3)))
    with pytest.raises(ValueError, match="give the array"):
        duoblas.sgemm(a, a)


def test_types(sim, on_device):
    a = on_device(np.ones((3, 3)))
    double = type(a)(sim, np.ones((3, 3)))
    with pytest.raises(TypeError):
        duoblas.sgemm(double, a, a)
    a.read_only = True
    if type(a) is not DLPackArray:  # DLPack before 1.0 cannot tell
        with pytest.raises(ValueError, match="read-only"):
            duoblas.sgemm(a, a, a)


def test_mask(sim):
    a = DeviceArray(sim, np.ones(3, np.float32))
    a.mask = a
    with pytest.raises(TypeError, match="mask"):
        duoblas.ssum(a)


def test_keep(rng, sim, on_device):
    """Adopted once, and for views of it, too."""
    a = rng.standard_normal((50, 50), np.float32)
    d, c = on_device(a), on_device(np.zeros((50, 50), np.float32))
    with duoblas.keep(d, c) as held, duoblas.prepare(d) as factor:
        assert len(_ranges.adopted._known) == 2
        for _ in range(3):
            duoblas.sgemm(d, d, c)
            duoblas.sgemm(d[:10], d[:, :50], c[:10])
        held.fetch()
        factor.changed()
        assert near(c.get(), *product(a, a))
    with pytest.raises(ValueError, match="gaps"):
        duoblas.keep(d[:, :10])


def test_done_when_the_call_returns(rng, sim, on_device):
    """Also where arrays are kept: in no stream of the caller's."""
    a = rng.standard_normal((50, 50), np.float32)
    d, c = on_device(a), on_device(np.zeros((50, 50), np.float32))
    sim.set_delay(20000)
    with duoblas.Context(path="gpu"), duoblas.keep(d, c):
        for alpha in (1, 2, 3):
            duoblas.sgemm(d, d, c, alpha)
            assert near(c.get(), *product(a, a, alpha))


def test_threads(rng, on_device):
    """Threads that read the same array adopt it together."""
    a = rng.standard_normal((60, 60), np.float32)
    d = on_device(a)
    right, bound = product(a, a)
    good = []

    def work():
        c = on_device(np.zeros((60, 60), np.float32))
        for _ in range(30):
            duoblas.sgemm(d, d, c)
        good.append(near(c.get(), right, bound))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert good == [True] * 4


def test_stream_that_arrays_are_asked_to_follow(sim, rng):
    DLPackArray.streams.clear()
    d = DLPackArray(sim, np.ones((2, 2), np.float32))
    duoblas.sdot(d[0], d[1])
    assert DLPackArray.streams == [1, 1]


def test_in_the_callers_stream(sim, rng):
    """Arrays are asked to follow it; a call on kept ones does not wait."""
    a = rng.standard_normal((50, 50), np.float32)
    d, c = DLPackArray(sim, a), DLPackArray(sim, np.zeros((50, 50), np.float32))
    with duoblas.Context(path="gpu", stream=7) as ctx:
        duoblas.sgemm(d, d, c)  # now its device is known
        assert (ctx._stream, ctx._device) == (7, 0)
        assert near(c.get(), *product(a, a))
        DLPackArray.streams.clear()
        with ctx.keep(d, c):
            sim.set_delay(500000)
            event = duoblas.Event()
            for _ in range(3):
                duoblas.sgemm(d, d, c, 2)
            event.record()
            assert not event.query()
            sim.set_delay(0)
        assert event.query()
        assert set(DLPackArray.streams) == {7}
    assert near(c.get(), *product(a, a, 2))


def test_other_device(on_device):
    d = on_device(np.ones(3))
    with duoblas.Context() as ctx:
        ctx._device = 3
        with pytest.raises(ValueError, match="device 0, the context on 3"):
            duoblas.ssum(d)
