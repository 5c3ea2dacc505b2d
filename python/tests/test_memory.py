"""Arrays in the library's device memory, and copies."""

import copy
import gc
import os
import pickle

import duoblas
import numpy as np
import pytest
from duoblas import _ranges
from duoblas._library import library

from bounds import near, product

LAYOUTS = [lambda x: x, np.asfortranarray, lambda x: x[:, ::2], lambda x: x[::-1], lambda x: x[1:3]]


def numbers(rng, *shape):
    return rng.standard_normal(shape, np.float32)


def read(array):
    """What is in it."""
    return duoblas.copy(np.full(array.shape, np.nan, np.float32), array)


@pytest.fixture(params=["gpu", "cpu"])
def place(request):
    """Device memory, where there is a device, and the host's in its place."""
    with duoblas.Context(path=request.param) as ctx:
        yield ctx


@pytest.fixture
def on_gpu(sim):
    with duoblas.Context(path="gpu") as ctx:
        yield ctx
        gc.collect()


def put(values, order="C"):
    return duoblas.copy(duoblas.device_empty(values.shape, order), values)


# ---- Wherever the memory is ----

@pytest.mark.parametrize("shape", [7, (7,), (3, 5), (2, 3, 4), (), (0,), (3, 0, 2)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_is_as_numpys(place, shape, order):
    like = np.empty(shape, np.float32, order)
    array = duoblas.device_empty(shape, order)
    for of in (array, array[...]) + ((array[1:], ) if like.ndim else ()):
        assert of.dtype == np.float32 and of.nbytes == 4 * of.size
    assert (array.shape, array.ndim, array.size) == (like.shape, like.ndim, like.size)
    if like.size:
        assert array.strides == like.strides and array.T.strides == like.T.strides
    np.testing.assert_array_equal(read(duoblas.copy(array, np.ones_like(like))), np.ones_like(like))


@pytest.mark.parametrize("arguments, error", [
    ((-1,), ValueError), (((2, -1),), ValueError), ((2, "K"), ValueError), (("x",), TypeError),
    (((1 << 62, 8),), ValueError), ((1 << 58,), MemoryError)])
def test_bad_arguments(place, arguments, error):
    with pytest.raises(error):
        duoblas.device_empty(*arguments)


@pytest.mark.parametrize("of_to", LAYOUTS)
@pytest.mark.parametrize("of_source", LAYOUTS)
def test_copy(place, rng, of_to, of_source):
    """From the host to the host, to the device, there, and back."""
    values, to = of_source(numbers(rng, 4, 6)), of_to(np.zeros((4, 6), np.float32))
    rows, columns = (min(x) for x in zip(values.shape, to.shape))
    values, to = values[:rows, :columns], to[:rows, :columns]
    assert duoblas.copy(to, values) is to
    np.testing.assert_array_equal(to, values)
    for order in "CF":
        device = duoblas.device_empty(values.shape, order)
        assert duoblas.copy(device, values) is device
        other = duoblas.copy(duoblas.device_empty(values.shape, order), device)
        to[...] = 0
        duoblas.copy(to, other)
        np.testing.assert_array_equal(to, values)


def test_parts(place, rng):
    values = numbers(rng, 6, 5)
    array = put(values)
    for part in (np.s_[2], np.s_[1:4], np.s_[:, 1:3], np.s_[..., 2:], np.s_[3, 4], np.s_[None, 5],
                 np.s_[::2, 1:]):
        np.testing.assert_array_equal(read(array[part]), values[part])
    duoblas.copy(array[1:3, 2:4], np.full((2, 2), 9, np.float32))
    values[1:3, 2:4] = 9
    np.testing.assert_array_equal(read(array), values)


def test_bad_copies(place, rng):
    array = put(numbers(rng, 3, 4))
    for to, source, error in ((array, np.ones((4, 3), np.float32), ValueError),
                              (array, np.ones((3, 4)), TypeError),
                              (np.ones((3, 4)), array, TypeError), ([[1.0]], array, TypeError),
                              (np.broadcast_to(np.float32(1), (3, 4)), array, ValueError)):
        with pytest.raises(error):
            duoblas.copy(to, source)


def test_kept_arrays(place, rng):
    """Their newest copy counts."""
    a = numbers(rng, 64, 64)
    c = np.zeros((64, 64), np.float32)
    with duoblas.keep(a, c):
        duoblas.sgemm(a, a, c)
        out = read(c)
        duoblas.copy(a, np.ones((64, 64), np.float32))
        assert duoblas.ssum(a.ravel()) == 4096
    assert near(out, *product(out * 0 + c, np.eye(64, dtype=np.float32)))


def test_a_copy_is_no_operation(place):
    """explain() does not tell of it."""
    x = np.ones(100, np.float32)
    duoblas.ssum(x)
    told = duoblas.explain()
    with duoblas.Context():
        duoblas.copy(np.empty_like(x), x)
        assert duoblas.explain() == told
    assert duoblas.explain() == told


def test_freed_with_the_last_view(place):
    array = duoblas.device_empty((4, 5))
    view = array[1:].T
    del array
    gc.collect()
    duoblas.copy(view, np.ones((5, 3), np.float32))
    np.testing.assert_array_equal(read(view), 1)


def test_memory_comes_back(place):
    for _ in range(300):
        duoblas.device_empty(1 << 20)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_leaves_it_to_the_parent(place):
    array = put(np.ones(1000, np.float32))
    child = os.fork()
    if child == 0:
        try:
            del array
            gc.collect()
            os._exit(0 if duoblas.ssum(put(np.ones(10, np.float32))) == 10 else 1)
        except BaseException:  # noqa: BLE001
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert duoblas.ssum(array) == 1000


def test_without_a_gpu():
    with duoblas.Context(path="cpu"):
        assert type(duoblas.device_empty(3)) is np.ndarray


# ---- On the device ----

def test_operands(on_gpu, sim, rng):
    """Nothing moves."""
    a, b = numbers(rng, 40, 30), numbers(rng, 50, 30)
    da, db, dc = put(a), put(b), duoblas.device_empty((40, 50))
    before = sim.uploaded_bytes(), sim.downloaded_bytes()
    assert duoblas.sgemm(da, db.T, dc) is dc
    assert on_gpu.explain()["residence"] == ("device",) * 3
    assert (sim.uploaded_bytes(), sim.downloaded_bytes()) == before
    assert near(read(dc), *product(a, b.T))
    assert type(duoblas.matmul(dc, db)) is type(duoblas.sgemm(dc, db)) is duoblas.DeviceArray
    stacks = duoblas.sgemm_batched(put(np.stack([a, a])), db.T)
    assert near(read(stacks)[1], *product(a, b.T))
    assert duoblas.sum(da) == duoblas.ssum(a.ravel()) and duoblas.vdot(da, da) > 0
    assert duoblas.sdot(da[0], da[1, ::-1]) == duoblas.sdot(a[0], a[1, ::-1])
    out = duoblas.device_empty(1)
    assert duoblas.ssum(da[2], out=out) is out and read(out)[0] == duoblas.ssum(a[2])
    mixed = np.zeros((40, 50), np.float32)
    assert near(duoblas.sgemm(da, np.ascontiguousarray(b.T), mixed), *product(a, b.T))
    duoblas.sgemm_grouped([da, da], [db.T, db[:20].T], [dc, duoblas.device_empty((40, 20))])
    with pytest.raises(ValueError, match="shares"):
        duoblas.sgemm(dc[:30, :30], dc[:30, :30], dc[:30, :30])


def test_calls_do_not_wait(on_gpu, sim, rng):
    a = numbers(rng, 64, 64)
    da, dc = put(a), duoblas.device_empty((64, 64))
    on_gpu.synchronize()
    sim.hold(True)
    event = duoblas.Event()
    duoblas.sgemm(da, da, dc)
    event.record()
    assert not event.query()
    sim.hold(False)
    assert near(read(dc), *product(a, a))  # waits


def test_what_would_be_read_by_the_host(on_gpu, rng):
    """Is refused: the address is not the host's."""
    array = put(numbers(rng, 8, 8))
    with pytest.raises(TypeError, match="copy"):
        np.asarray(array)
    with pytest.raises(TypeError, match="copy"):
        duoblas.matmul(array, np.ones((8, 8)))
    for call in (lambda: duoblas.sgemm(array[::2, ::2], array[:4]),
                 lambda: duoblas.sgemm_batched(array[None, ::2, ::2], array[:4]),
                 lambda: duoblas.sasum(array[0, ::-1]),
                 lambda: duoblas.copy(duoblas.device_empty((8, 8), "F"), array),
                 lambda: duoblas.copy(np.zeros((4, 4), np.float32), array[::2, ::2])):
        with pytest.raises(ValueError):
            call()
    for call in (lambda: duoblas.sum(array[::2, ::2]), lambda: duoblas.vdot(array.T, array),
                 lambda: duoblas.matmul(array[::2, ::2], array[:4]),
                 lambda: duoblas.sum(array, axis=0)):
        with pytest.raises((ValueError, TypeError)):
            call()
    for index in ([0, 1], np.array([0]), True, np.True_, "x", 1.0, array):
        with pytest.raises(TypeError):
            array[index]
    with pytest.raises(IndexError):
        array[8]
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="DeviceArray"):
            copied(array)
    assert "DeviceArray" in repr(array) and len(array) == 8 and array.device == 0


class Other:
    """An array of another library that was made of ours."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def test_other_libraries(on_gpu, sim, rng):
    """They see it when the work on it is done, and may give it back as an operand."""
    a = numbers(rng, 64, 64)
    da, dc = put(a), duoblas.device_empty((64, 64))
    sim.set_delay(50)
    duoblas.sgemm(da, da, dc)
    told, seen = dc[1:, ::2].__cuda_array_interface__, np.zeros((64, 64), np.float32)
    sim.read(seen.ctypes.data, told["data"][0] - 256, seen.nbytes)
    assert near(seen, *product(a, a))
    assert told["shape"] == (63, 32) and told["strides"] == (256, 8) and told["typestr"] == "<f4"
    assert da.__cuda_array_interface__["strides"] is None
    sim.set_delay(0)
    known = len(_ranges.adopted._known)
    duoblas.sgemm(Other(da), Other(da), Other(dc))
    assert near(read(dc), *product(a, a)) and len(_ranges.adopted._known) == known


def test_arrays_of_others(on_gpu, on_device, rng):
    a = numbers(rng, 30, 20)
    theirs, ours = on_device(a), duoblas.device_empty((30, 20))
    np.testing.assert_array_equal(read(duoblas.copy(ours, theirs)), a)
    duoblas.copy(theirs, np.ones_like(a))
    np.testing.assert_array_equal(theirs.get(), 1)
    duoblas.copy(theirs[:10], ours[:10])
    np.testing.assert_array_equal(theirs.get()[:10], a[:10])


def test_is_freed(on_gpu):
    array = duoblas.device_empty((4, 5))
    address = array.__cuda_array_interface__["data"][0]
    view = array[1:].T
    del array
    gc.collect()
    assert any(r.low == address for r in _ranges.adopted._known)
    del view
    gc.collect()
    assert not any(r.low == address for r in _ranges.adopted._known)
    assert library.duo_free(None, address) == duoblas.Status.ERR_RANGE  # it was freed already


def test_kept_and_prepared(on_gpu, rng):
    a = numbers(rng, 64, 64)
    da = put(a)
    with duoblas.keep(da) as kept, duoblas.prepare(da) as prepared:
        assert near(read(duoblas.sgemm(da, da)), *product(a, a))
        duoblas.copy(da, np.ones_like(a))
        prepared.changed()
        kept.fetch()
        np.testing.assert_array_equal(read(duoblas.sgemm(da, da)), 64)
    np.testing.assert_array_equal(read(da), 1)


def test_in_a_graph(on_gpu, rng):
    """With its copies from and to the host."""
    x, result = numbers(rng, 20, 30), np.zeros((20, 20), np.float32)
    dx, dc = duoblas.device_empty((20, 30)), duoblas.device_empty((20, 20))
    with duoblas.Graph() as graph:
        duoblas.copy(dx, x)
        duoblas.sgemm(dx, dx.T, dc)
        duoblas.copy(result, dc)
    del dx, dc
    gc.collect()
    for _ in range(3):
        x[:] = numbers(rng, 20, 30)
        graph.launch()
        assert near(result, *product(x, x.T))
    with pytest.raises(ValueError), duoblas.Graph():
        duoblas.copy(duoblas.device_empty((20, 30), "F"), x)


def test_copy_reorders_nothing_kept(on_gpu, rng):
    to, array = np.zeros((8, 8), np.float32), put(numbers(rng, 8, 8))
    with duoblas.keep(to):
        for places in ((to, array.T), (array.T, to)):
            with pytest.raises(ValueError, match="side by side"):
                duoblas.copy(*places)
    np.testing.assert_array_equal(duoblas.copy(to, array.T), read(array).T)
