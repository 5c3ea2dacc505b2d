"""Arrays in pinned memory."""

import copy
import gc
import os
import pickle
import threading

import duoblas
import numpy as np
import pytest
from duoblas._library import library


def is_pinned(address):
    """Was it in memory of duo_malloc_host? It is not afterwards."""
    return library.duo_free_host(None, address) == 0


@pytest.mark.parametrize("make", [duoblas.empty_pinned, duoblas.zeros_pinned])
@pytest.mark.parametrize("shape", [7, (7,), (3, 5), (2, 3, 4), (), (0,), (3, 0, 2)])
@pytest.mark.parametrize("dtype", [np.float32, "float64", np.int8, ">i4", "M8[s]"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_is_as_numpys(make, shape, dtype, order):
    like = np.zeros(shape, dtype, order)
    array = make(shape, dtype, order)
    assert type(array) is np.ndarray
    assert (array.shape, array.dtype, array.strides) == (like.shape, like.dtype, like.strides)
    assert array.flags.writeable and array.flags.aligned
    if array.size:
        assert array.ctypes.data % 256 == 0
    if make is duoblas.zeros_pinned:
        np.testing.assert_array_equal(array, like)


def test_default_is_float32():
    assert duoblas.empty_pinned(3).dtype == duoblas.zeros_pinned(3).dtype == np.float32


def test_zeros_are_zeros_where_others_were():
    for _ in range(20):
        array = duoblas.zeros_pinned(1000)
        assert not array.any()
        array[:] = 1
        del array


@pytest.mark.parametrize("source", [
    np.arange(12, dtype=np.float32).reshape(3, 4), np.asfortranarray(np.ones((3, 4))),
    np.arange(24.0).reshape(4, 6)[::2, ::3], np.float32(3), [[1, 2], [3, 4]], np.zeros((0, 2)),
    np.broadcast_to(np.float32(2), (3, 4)), np.arange(5)[::-1]])
def test_pin_copies(source):
    array = duoblas.pin(source)
    like = np.asarray(source)
    np.testing.assert_array_equal(array, like)
    assert array.dtype == like.dtype and not np.shares_memory(array, like)
    assert array.flags.f_contiguous == (like.flags.fnc or like.ndim < 2 or array.size == 0)


@pytest.mark.parametrize("arguments, error", [
    ((-1,), ValueError), (((2, -1),), ValueError), ((2, "nonsense"), TypeError),
    ((2, object), TypeError), ((2, [("a", object)]), TypeError),
    ((2, np.float32, "K?"), ValueError), (("x",), TypeError), (((1 << 62, 8),), ValueError)])
def test_bad_arguments(arguments, error):
    for make in (duoblas.empty_pinned, duoblas.zeros_pinned):
        with pytest.raises(error):
            make(*arguments)


def test_too_much_memory():
    with pytest.raises(MemoryError):
        duoblas.empty_pinned(1 << 58, np.int8)


def test_bad_context():
    with pytest.raises(TypeError):
        duoblas.empty_pinned(3, ctx="gpu")


def test_is_freed_with_the_last_view():
    array = duoblas.empty_pinned((4, 5))
    address = array.ctypes.data
    view = array[1:, ::2].T
    memory = memoryview(view)
    del array, view
    gc.collect()
    memory[0, 0] = 5.0  # still there
    memory.release()
    del memory
    gc.collect()
    assert not is_pinned(address)


def test_is_not_freed_before():
    array = duoblas.empty_pinned(1000)
    view = array[10:]
    address = array.ctypes.data
    del array
    gc.collect()
    assert is_pinned(address)
    del view  # frees what is freed already, which does nothing


def test_copies_are_plain():
    array = duoblas.pin(np.arange(6, dtype=np.float32))
    for other in (copy.copy(array), copy.deepcopy(array), pickle.loads(pickle.dumps(array))):
        np.testing.assert_array_equal(other, array)
        assert not is_pinned(other.ctypes.data)


def test_is_an_operand(rng):
    a = duoblas.pin(rng.standard_normal((30, 40), np.float32))
    b = duoblas.pin(np.asfortranarray(rng.standard_normal((40, 20), np.float32)))
    c = duoblas.empty_pinned((30, 20))
    assert duoblas.sgemm(a, b, out=c) is c
    np.testing.assert_allclose(c, a.astype(float) @ b, rtol=1e-4, atol=1e-4)


def test_is_known_as_pinned(sim, rng):
    a = duoblas.pin(rng.standard_normal((64, 64), np.float32))
    with duoblas.Context(path="gpu") as ctx:
        duoblas.sgemm(a, a[:, :32])
        first, second, third = ctx.explain()["residence"]
    assert (first, second, third) == ("pinned", "pinned", "pageable")


def test_results_that_come_later(sim, rng):
    """Memory is not given back before the GPU's work on it is done."""
    sim.set_delay(20)
    with duoblas.Context(path="gpu", asynchronous=True) as ctx:
        x = duoblas.pin(np.ones(4096, np.float32))
        result = duoblas.ssum(x)
        del x
        gc.collect()
        ctx.synchronize()
        assert result == 4096


def test_threads():
    wrong = []

    def work():
        try:
            for i in range(100):
                array = duoblas.zeros_pinned(100 + i)
                array += 1
                wrong.extend([] if duoblas.ssum(array) == 100 + i else [i])
        except Exception as problem:  # noqa: BLE001
            wrong.append(problem)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_leaves_it_to_the_parent():
    array = duoblas.zeros_pinned(1000)
    child = os.fork()
    if child == 0:
        try:
            del array
            gc.collect()
            other = duoblas.zeros_pinned(10)
            os._exit(0 if duoblas.ssum(other) == 0 else 1)
        except BaseException:  # noqa: BLE001
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    array += 1
    assert duoblas.ssum(array) == 1000
    assert is_pinned(array.ctypes.data)
