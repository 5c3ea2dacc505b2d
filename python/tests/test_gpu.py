"""On a real GPU, beside CuPy, PyTorch and Numba: results land in the memory of their arrays, and
nothing is copied."""

import threading

import duoblas
import numpy as np
import pytest

from bounds import U, near, product
from duoblas import _arrays
from duoblas._library import library

if duoblas.device_count() == 0 or hasattr(library, "sim_lose"):
    pytest.skip("there is no GPU", allow_module_level=True)


class CuPy:
    name = "cupy"

    def __init__(self):
        self.library = pytest.importorskip("cupy")

    def put(self, array):
        return self.library.asarray(array)

    def get(self, array):
        return self.library.asnumpy(array)

    def address(self, array):
        return array.data.ptr

    def stream(self):
        return self.library.cuda.Stream(non_blocking=True)

    def busy(self, array):
        """Queues work that takes a while and ends with ones in the array."""
        big = self.library.ones((4096, 4096), np.float32)
        for _ in range(20):
            big = big @ big * np.float32(2.0**-12)
        array[...] = big[:array.shape[0], :array.shape[1]]

    def within(self, stream):
        return stream


class PyTorch:
    name = "torch"

    def __init__(self):
        self.library = pytest.importorskip("torch")
        if not self.library.cuda.is_available():
            pytest.skip("PyTorch has no GPU")

    def put(self, array):
        return self.library.from_numpy(array).cuda()

    def get(self, array):
        return array.cpu().numpy()

    def address(self, array):
        return array.data_ptr()

    def stream(self):
        return self.library.cuda.Stream()

    def busy(self, array):
        big = self.library.ones((4096, 4096), device="cuda")
        for _ in range(20):
            big = big @ big * 2.0**-12
        array.copy_(big[:array.shape[0], :array.shape[1]])

    def within(self, stream):
        return self.library.cuda.stream(stream)


@pytest.fixture(params=[CuPy, PyTorch], ids=["cupy", "torch"])
def maker(request):
    return request.param()


@pytest.fixture
def gpu():
    with duoblas.Context(path="gpu") as ctx:
        yield ctx


def told_of_the_device(ctx):
    told = ctx.explain()
    return told["side"] == "gpu" and set(told["residence"]) <= {"device", "unused"}


def test_address(rng, maker):
    """The operand is the array's own memory."""
    d = maker.put(rng.standard_normal((40, 30), np.float32))
    for part in (d, d[3:, 5:], d.T):
        o = _arrays.operand(part, "d")
        assert o.address == maker.address(part) and o.device == 0
        assert o.shape == tuple(part.shape)


def test_sgemm(rng, maker, gpu):
    a, b = rng.standard_normal((700, 300), np.float32), rng.standard_normal((300, 500), np.float32)
    c = rng.standard_normal((700, 500), np.float32)
    da, db, dc = maker.put(a), maker.put(b), maker.put(c)
    where = maker.address(dc)
    assert duoblas.sgemm(da, db, dc, 0.5, 2) is dc
    assert maker.address(dc) == where
    assert near(maker.get(dc), *product(a, b, 0.5, 2, c))
    assert told_of_the_device(gpu)
    made = duoblas.sgemm(db.T, da.T)
    assert type(made) is type(da) and near(maker.get(made), *product(b.T, a.T))
    duoblas.sgemm(da[:300, 1:], db[1:, :200], dc[100:400, 50:250])
    assert near(maker.get(dc)[100:400, 50:250], *product(a[:300, 1:], b[1:, :200]))


def test_batched(rng, maker, gpu):
    a, b = rng.standard_normal((40, 33, 20), np.float32), rng.standard_normal((20, 12), np.float32)
    c = np.zeros((40, 33, 12), np.float32)
    dc = maker.put(c)
    where = maker.address(dc)
    assert duoblas.sgemm_batched(maker.put(a), maker.put(b), dc) is dc
    assert maker.address(dc) == where and told_of_the_device(gpu)
    for i in range(40):
        assert near(maker.get(dc)[i], *product(a[i], b))


def test_reductions(rng, maker, gpu):
    x = rng.standard_normal(300001, np.float32)
    d, out = maker.put(x), maker.put(np.full(1, np.nan, np.float32))
    assert duoblas.ssum(d) == duoblas.ssum(x) and duoblas.sasum(d) == duoblas.sasum(x)
    assert duoblas.sdot(d, d) == duoblas.sdot(x, x)
    assert abs(float(duoblas.ssum(d[::3])) - x[::3].astype(float).sum()) <= 8 * U * abs(x).sum()
    assert duoblas.ssum(d, out=out) is out and told_of_the_device(gpu)
    assert maker.get(out)[0] == duoblas.ssum(x)


def test_what_is_queued_before_is_waited_for(maker):
    """In the default stream, in another one, and back."""
    n = 512
    ones = np.ones((n, n), np.float32)
    for stream in (None, maker.stream()):
        a, c = maker.put(np.zeros((n, n), np.float32)), maker.put(np.zeros((n, n), np.float32))
        with maker.within(stream) if stream is not None else duoblas.Context(path="gpu"):
            maker.busy(a)
            duoblas.sgemm(a, a, c)
            assert near(maker.get(c + 0), *product(ones, ones))


def test_in_the_callers_stream(rng, maker):
    """Behind the stream's work and before it, and with kept arrays without waiting."""
    n = 512
    ones = np.ones((n, n), np.float32)
    stream = maker.stream()
    with maker.within(stream):
        a, c = maker.put(np.zeros((n, n), np.float32)), maker.put(np.zeros((n, n), np.float32))
        with duoblas.Context(path="gpu", stream=stream) as ctx:
            for _ in range(5):
                a[...] = 0
                maker.busy(a)
                with ctx.keep(a, c):
                    duoblas.sgemm(a, a, c)
                    twice = c + c  # in the same stream
                assert near(maker.get(twice) / 2, *product(ones, ones))
                maker.busy(a)
                duoblas.sgemm(a, a, c)  # not kept: waits
                assert near(maker.get(c), *product(ones, ones))


def test_default_stream_by_number(rng, maker):
    a = rng.standard_normal((64, 64), np.float32)
    d = maker.put(a)
    with duoblas.Context(stream=0):
        assert near(maker.get(duoblas.sgemm(d, d)), *product(a, a))


def test_views_of_one_allocation_in_threads(rng, maker):
    """Pools put many arrays into one allocation, which is adopted as a whole."""
    a = rng.standard_normal((256, 256), np.float32)
    right, bound = product(a, a)
    d = maker.put(a)
    good = []

    def work():
        c = maker.put(np.zeros((256, 256), np.float32))
        for _ in range(50):
            duoblas.sgemm(d, d, c)
        good.append(near(maker.get(c), right, bound))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert good == [True] * 4


def test_mixed(rng, maker):
    a, b = rng.standard_normal((200, 300), np.float32), rng.standard_normal((300, 100), np.float32)
    c = np.empty((200, 100), np.float32)
    duoblas.sgemm(maker.put(a), b, c)
    assert near(c, *product(a, b))
    with duoblas.keep(b), duoblas.prepare(maker.put(a)):
        duoblas.sgemm(maker.put(a), b, c)
    assert near(c, *product(a, b))


def test_types(maker):
    d = maker.put(np.ones((8, 8)))
    with pytest.raises(TypeError):
        duoblas.sgemm(d, d)


def test_torch_on_the_host(rng):
    torch = pytest.importorskip("torch")
    a = torch.from_numpy(rng.standard_normal((30, 30), np.float32))
    c = torch.zeros(30, 30)
    duoblas.sgemm(a, a, c)
    assert near(c.numpy(), *product(a.numpy(), a.numpy()))


def test_numba(rng):
    cuda = pytest.importorskip("numba.cuda")
    x = rng.standard_normal(10000, np.float32)
    d, out = cuda.to_device(x), cuda.to_device(np.zeros(1, np.float32))
    duoblas.ssum(d, out=out)
    assert out.copy_to_host()[0] == duoblas.ssum(x)


def test_memory_of_others_is_given_back(rng, maker):
    """After a call nothing is adopted: the memory may be freed and come again."""
    for n in (100, 1000, 300, 2000, 50):
        a = rng.standard_normal((n, n), np.float32)
        d = maker.put(a)
        x = maker.get(duoblas.sgemm(d, d[:, :3]))
        assert near(x, *product(a, a[:, :3]))
        del d
        if maker.name == "cupy":
            maker.library.get_default_memory_pool().free_all_blocks()
        else:
            maker.library.cuda.empty_cache()
    assert not duoblas._ranges.adopted._known


def test_info():
    assert duoblas.info()["devices"][0]["memory_bytes"] > 0
