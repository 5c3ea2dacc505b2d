"""Kept arrays that look after themselves: nobody calls fetch or changed here."""

import copy
import ctypes
import gc
import pickle

import duoblas
import numpy as np
import pytest

from bounds import near, product
from duoblas import _ranges
from duoblas._library import library

N = 24
ONE = np.eye(N, dtype=np.float32)


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    gc.collect()
    assert not _ranges.kept._known


@pytest.fixture
def a(rng):
    return rng.standard_normal((N, N), np.float32)


@pytest.fixture
def on_gpu():
    """The context, where there is a device: results in kept arrays stay there."""
    with duoblas.Context(path="gpu") as ctx:
        yield ctx


def there(k):
    """What the library's calls read."""
    return duoblas.sgemm(k, ONE)


def item(k):
    k[1, 2] = 5


def items(k):
    k[k < 0] = 0


def all_items(k):
    k[...] = 7


def items_of_a_row(k):
    k[1][2:4] = 5


def items_of_the_transpose(k):
    k.T[1] = 5


def items_of_another_shape(k):
    k.reshape(-1)[5:9] = 5


def kept_items(k):
    k[1:] = k[:-1]


def in_place(k):
    k += 1


def in_place_in_a_part(k):
    k[:, 3] *= 2


def output(k):
    np.sqrt(2.0, out=k)


def output_with_mask(k):
    np.negative(k, out=k, where=k > 0)


def one_of_two_outputs(k):
    fraction, whole = np.modf(k, out=(None, k))
    assert whole is k and isinstance(fraction, np.ndarray)


def sums_into_a_row(k):
    np.add.reduce(k, axis=0, out=k[0])


def sums_by_numpy(k):
    np.ones((3, N), np.float32).sum(axis=0, out=k[0])


def at(k):
    np.add.at(k, ([1, 1], [2, 2]), 1)


def items_of_the_diagonal(k):
    k[np.diag_indices(N)] = 1


def method_fill(k):
    k.fill(3)


def method_put(k):
    k.put([1, 2], 9)


def method_sort(k):
    k.sort(axis=0)


def method_partition(k):
    k[2].partition(3)


WRITES = [item, items, all_items, items_of_a_row, items_of_the_transpose, items_of_another_shape,
          kept_items, in_place, in_place_in_a_part, output, output_with_mask, one_of_two_outputs,
          sums_into_a_row, sums_by_numpy, at, items_of_the_diagonal, method_fill, method_put,
          method_sort, method_partition]


@pytest.mark.parametrize("write", WRITES)
def test_writes(a, on_gpu, write):
    """Calls compute with what was written."""
    plain = a.copy()
    with duoblas.keep(a) as k:
        there(k)  # from now on there is a copy on the device
        write(k)
        write(plain)
        assert near(there(k), *product(plain, ONE))
    assert np.array_equal(a, plain)


@pytest.mark.parametrize("write", WRITES)
def test_writes_to_results(a, on_gpu, write):
    """What is not written stays as the call left it."""
    c = np.full_like(a, np.nan)
    plain = duoblas.sgemm(a, ONE)
    with duoblas.keep(c) as k:
        duoblas.sgemm(a, ONE, k)
        write(k)
        write(plain)
        assert near(there(k), *product(plain, ONE))
    assert np.array_equal(c, plain)


READS = {
    "item": lambda k: k[1, 2], "row": lambda k: k[1] + 0, "mask": lambda k: k[k > 0],
    "rows": lambda k: k[[1, 3]], "iteration": lambda k: [row.sum() for row in k],
    "operator": lambda k: 2 - k, "scalar": lambda k: np.float32(2) * k, "product": lambda k: k @ k,
    "comparison": lambda k: k == k[0], "contains": lambda k: k[0, 0] in k,
    "ufunc": lambda k: np.exp(k), "reduction": lambda k: np.add.reduce(k),
    "norm": lambda k: np.linalg.norm(k), "mean": lambda k: np.mean(k), "sort": lambda k: np.sort(k),
    "concatenate": lambda k: np.concatenate([k, k]), "dot": lambda k: np.dot(k, k),
    "where": lambda k: np.where(k > 0, k, 0), "einsum": lambda k: np.einsum("ij,ji", k, k),
    "array": lambda k: np.array(k, np.float64), "into_plain": lambda k: np.add(k[0], 1, np.ones(N)),
    "transpose": lambda k: np.transpose(k) + 0, "copy": lambda k: k.copy(),
    "sum": lambda k: k.sum(),
    "list": lambda k: k.tolist(), "bytes": lambda k: k.tobytes(), "max": lambda k: k.max(axis=0),
    "float": lambda k: float(k[0, :1].reshape(())), "truth": lambda k: bool(k[0, :1]),
    "int": lambda k: int(k[0, :1].reshape(())), "print": lambda k: str(k), "len": len,
    "same_type": lambda k: k.astype(np.float32, copy=False) + 0, "flatten": lambda k: k.T.flatten(),
    "repr": lambda k: repr(k).replace("KeptArray(", "array(").split()[0],
    "format": lambda k: f"{k[0, 0]:.3f}",
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reads(a, on_gpu, read):
    """They see what calls wrote."""
    c = np.full_like(a, np.nan)
    with duoblas.keep(c) as k:
        duoblas.sgemm(a, ONE, k)
        if on_gpu.explain()["side"] == "gpu":
            assert np.isnan(c).all()
        found, wanted = read(k), read(duoblas.sgemm(a, ONE))
        assert np.array_equal(found, wanted) and type(found) is type(wanted)
        duoblas.sgemm(a, ONE, k, alpha=2)
        assert np.array_equal(read(k), read(duoblas.sgemm(a, ONE, alpha=2)))


def test_iteration(rng):
    """The manual's, beside NumPy's."""
    a = rng.standard_normal((N, N), np.float32)
    a = a + a.T + 20 * ONE
    x, y, z = np.ones((N, 1), np.float32), np.empty((N, 1), np.float32), np.ones((N, 1))
    with duoblas.keep(a) as k, duoblas.keep(x, y) as (kx, ky):
        for _ in range(20):
            duoblas.sgemm(k, kx, ky)
            kx[...] = ky / np.linalg.norm(ky)
            z = a @ z / np.linalg.norm(a @ z)
    assert np.allclose(x, z, atol=1e-4)


def test_calls_fetch_nothing(a, on_gpu, sim):
    """Nor do views."""
    c = np.zeros((3, N, N), np.float32)
    with duoblas.keep(a) as ka, duoblas.keep(c) as kc:
        up, down = sim.uploaded_bytes(), sim.downloaded_bytes()
        duoblas.sgemm(ka, ka.T, kc[0])
        duoblas.sgemm_batched(ka, kc[:1], out=kc[1:2])
        duoblas.matmul(kc[0], ka, out=kc[2])
        duoblas.sum(kc[0].reshape(-1), out=kc[1, 0, :1].reshape(()))
        assert on_gpu.explain()["residence"][::2] == ("kept", "kept")
        assert sim.uploaded_bytes() - up <= a.nbytes + c.nbytes
        assert sim.downloaded_bytes() == down
        assert np.allclose(kc[2], a.astype(float) @ a.T @ a, atol=1e-3)


def test_reads_of_current_arrays_copy_nothing(a, on_gpu, sim):
    with duoblas.keep(a) as k:
        there(k)
        up, down = sim.uploaded_bytes(), sim.downloaded_bytes()
        for _ in range(3):
            k.sum(), k + 1, k[0, 0], k.T, there(k)
        assert sim.uploaded_bytes() == up + 4 * a.nbytes - a.nbytes  # ONE, which is not kept
        assert sim.downloaded_bytes() == down + 3 * a.nbytes  # the results


def test_a_part_that_was_written_is_sent(a, on_gpu, sim):
    with duoblas.keep(a, ONE) as (k, one):
        duoblas.sgemm(k, one)
        up = sim.uploaded_bytes()
        k[0, :4] = 1
        duoblas.sgemm(k, one)
        assert 0 < sim.uploaded_bytes() - up <= a.nbytes


@pytest.mark.parametrize("function", [duoblas.sgemm, duoblas.matmul, duoblas.dot, duoblas.vdot,
                                      lambda x, y: duoblas.sum(x), lambda x, y: duoblas.ssum(x[0]),
                                      lambda x, y: duoblas.sdot(x[0], y[0]),
                                      lambda x, y: duoblas.sgemm_grouped([x], [y])[0]])
def test_functions(a, function):
    """They take them as they take NumPy's, and serve them."""
    before = duoblas.report()
    with duoblas.keep(a) as k:
        found, wanted = function(k, k.T), function(a, a.T)
        assert type(found) is type(wanted) and np.allclose(found, wanted, atol=1e-4)
    assert duoblas.report() == before


def test_copies_are_numpys(a, on_gpu):
    with duoblas.keep(a) as k:
        whole = np.asarray(k)
        k[0] = 5
        assert type(whole) is np.ndarray and (whole[0] != 5).all()
        for other in (np.array(k), pickle.loads(pickle.dumps(k)), copy.copy(k), copy.deepcopy(k)):
            assert type(other) is np.ndarray and not np.shares_memory(other, a)
            assert np.array_equal(other, a) and (other[0] == 5).all()
        with pytest.raises(ValueError, match="is a copy"):
            k.__array__(copy=False)


def test_what_would_be_unseen(a):
    """It is refused."""
    with duoblas.keep(a) as k:
        for access in (memoryview, ctypes.c_char.from_buffer, lambda k: np.copyto(k, 1),
                       lambda k: np.dot(a, a, out=k), lambda k: a.take([0], out=k[0, :1]),
                       lambda k: np.frombuffer(k, np.float32)):
            with pytest.raises((TypeError, BufferError)):
                access(k)
        for name in ("ctypes", "data", "base", "flat", "resize", "setflags", "byteswap", "view",
                     "__array_interface__", "__array_struct__", "__dlpack__"):
            assert not hasattr(k, name) and name not in dir(k)
    locked = a.copy()
    locked.flags.writeable = False
    with duoblas.keep(locked) as k:
        assert near(there(k), *product(a, ONE))
        for write in (item, in_place, method_fill, lambda k: duoblas.sgemm(a, ONE, k)):
            with pytest.raises(ValueError):
                write(k)


def test_what_it_looks_like(a):
    with duoblas.keep(a[:1, :2].copy()) as k:
        k[...] = 1
        assert repr(k) == "KeptArray([[1., 1.]], dtype=float32)" and str(k) == "[[1. 1.]]"
        assert (k.shape, k.ndim, k.size, k.dtype, len(k)) == ((1, 2), 2, 2, np.float32, 1)
        assert k.strides == (8, 4) and k.nbytes == 8 and k.flags.c_contiguous
        assert {"sum", "T", "fill", "reshape", "strides"} < set(dir(k))


def test_what_keep_gives(a):
    """One array: it. Several, or another library's: what holds them."""
    b = ONE.copy()
    with duoblas.keep(a) as k, duoblas.prepare(b) as factor:
        assert isinstance(k, duoblas.KeptArray) and isinstance(factor, duoblas.KeptArray)
        with duoblas.keep(k) as again, duoblas.keep(k[:3]) as part:
            assert again.shape == a.shape and part.shape == (3, N)
    with duoblas.keep(a, b) as held:
        assert isinstance(held, duoblas.Kept)
        assert [x.shape for x in held] == [x.shape for x in held.arrays] == [a.shape, b.shape]
    held = duoblas.keep(a)
    assert len(held.arrays) == 1
    held.release()


@pytest.mark.parametrize("write", [item, in_place, method_fill])
def test_what_cannot_be_fetched_is_not_written(a, monkeypatch, write):
    """Newer elements on the device stay there, to be fetched later."""
    before, told = a.copy(), []
    with duoblas.keep(a) as k:
        with monkeypatch.context() as patch:
            patch.setattr(library, "duo_fetch", lambda *_: duoblas.Status.ERR_DEVICE)
            patch.setattr(library, "duo_changed", lambda *_: told.append("changed") or 0)
            with pytest.raises(duoblas.DeviceError):
                write(k)
    assert np.array_equal(a, before) and not told


def test_with_the_array_itself(a, on_gpu):
    """As without kept arrays: the program says what it does to it."""
    c = np.full_like(a, np.nan)
    with duoblas.keep(a) as ka, duoblas.keep(c) as kc:
        duoblas.sgemm(a, ONE, c)
        kc.fetch()
        assert near(c, *product(a, ONE))
        a *= 2
        ka.changed()
        assert near(there(ka), *product(a, ONE))
        ka.release()
    assert not _ranges.kept._known


def test_after_the_block(a):
    c = np.full_like(a, np.nan)
    with duoblas.Context(path="gpu") as ctx, ctx.keep(a, c) as (ka, kc):
        duoblas.sgemm(ka, ONE, kc)
    assert near(np.asarray(kc), *product(a, ONE))
    kc[0] = 3
    assert (c[0] == 3).all() and near(duoblas.sgemm(kc, ONE), *product(c, ONE))


def test_it_is_kept_as_long_as_a_part_of_it(a):
    row = duoblas.keep(a).arrays[0][1]
    gc.collect()
    assert len(_ranges.kept._known) == 1 and row.shape == (N,)
    with pytest.warns(RuntimeWarning, match="neither released nor used"):
        del row
