"""Arrays of libraries with DLPack's exchange in C: the quick way of a call, and the long one."""

import contextlib
import ctypes
import gc
import threading

import duoblas
import numpy as np
import pytest

import ways
from bounds import near, product
from conftest import DLPackArray, ExchangeArray, HostArray, NewDLPackArray, exchange_capsule
from duoblas import _ranges
from ways import both, taken

pytestmark = ways.needs_module

A = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
B = np.arange(20, dtype=np.float32).reshape(4, 5) % 7 - 3
LATER = (ctypes.c_uint32 * 32)(2)  # an exchange of DLPack 2


@pytest.fixture(autouse=True)
def nothing_is_left(capsules):
    yield
    gc.collect()
    assert not _ranges.adopted._known and not _ranges.kept._known
    assert capsules() == 0


def same(x, y):
    """Two outcomes of ways.both."""
    if isinstance(x, tuple):
        return x == y
    return (type(x) is type(y) and x.dtype == y.dtype and x.shape == y.shape
            and np.array_equal(np.asarray(x), np.asarray(y)))


# ---- Host memory ----

@pytest.mark.parametrize("a, b", [(A, B), (A.copy("F"), B), (A[:, 1:], B[:3, 2:]),
                                  (A[:1], B[:, :1]), (B.T, A.T), (A[2:, ::2], B[::2, 1:2])])
def test_products(taken, a, b):
    right, bound = product(a, b)
    for x, y in ((HostArray(a), HostArray(b)), (HostArray(a), b), (a, HostArray(b))):
        before = taken()
        assert type(duoblas.sgemm(x, y)) is np.ndarray and near(duoblas.matmul(x, y), right, bound)
        c = HostArray(np.full(right.shape, np.nan, np.float32, "F"))
        assert duoblas.matmul(x, y, out=c) is c and near(c.view, right, bound)
        before_it = c.view.copy()
        assert duoblas.sgemm(x, y, c, 2, 1) is c
        assert near(c.view, *product(a, b, 2, 1, before_it))
        assert taken() == before + 4


def test_reductions(taken):
    x, y, out = HostArray(A[0]), HostArray(B[:, 1]), HostArray(np.zeros((1, 1), np.float32))
    for function in (duoblas.ssum, duoblas.sasum):
        made = function(x)
        assert type(made) is np.float32 and made == function(A[0])
        assert function(x, out=out) is out and out.view[0, 0] == made
    for function in (duoblas.sdot, duoblas.dot, duoblas.vdot):
        made = function(x, y)
        assert type(made) is np.float32 and made == A[0] @ B[:, 1]
    assert duoblas.sdot(x, y, out=out) is out and out.view[0, 0] == made
    assert taken() == 10


class Tensor(HostArray):
    """As PyTorch's, which may be more than its elements, and makes results of its own."""

    requires_grad, negative = False, False

    def is_neg(self):
        return self.negative

    def new_empty(self, size):
        return Tensor(np.full(size, np.nan, np.float32))

    def __array__(self, dtype=None, copy=None):
        if self.requires_grad or self.negative:
            raise RuntimeError("it is more than its elements")
        return super().__array__()


Tensor.__module__ = "torch"


def test_results_are_of_the_maker(taken):
    for function in (duoblas.sgemm, duoblas.matmul, duoblas.dot):
        for b in (B, Tensor(B)):
            made = function(Tensor(A), b)
            assert type(made) is Tensor and near(made.view, *product(A, B))
            assert type(function(A, b)) is np.ndarray
    for function in (duoblas.dot, duoblas.vdot):
        made = function(Tensor(A[0]), B[:, 1])
        assert type(made) is Tensor and made.view.shape == () and made.view == A[0] @ B[:, 1]
        assert type(function(A[0], Tensor(B[:, 1]))) is np.float32
    assert type(duoblas.sdot(Tensor(A[0]), A[0])) is np.float32
    assert taken() == 17


@pytest.mark.parametrize("told", [
    {"flags": 2}, {"fails": True}, {"version": (2, 0)}, {"kind": 10}, {"requires_grad": True},
    {"negative": True}, {"requires_grad": None}, {"requires_grad": property(lambda _: 1 // 0)},
    {"__dlpack_c_exchange_api__": None},
    {"__dlpack_c_exchange_api__": exchange_capsule(LATER)}])
def test_what_goes_the_long_way(monkeypatch, taken, told):
    """As if there were no exchange."""
    for name, value in told.items():
        monkeypatch.setattr(Tensor, name, value)
    for call in (lambda: duoblas.sgemm(Tensor(A), B), lambda: duoblas.sgemm(A, Tensor(B)),
                 lambda: duoblas.sdot(Tensor(A[0]), A[0]), lambda: duoblas.ssum(Tensor(A[0]))):
        try:
            call()
        except (ArithmeticError, BufferError, RuntimeError, TypeError):
            pass
    assert taken() == 0


def test_types_and_shapes(taken):
    for x in (A.astype(float), A[:0], A[None], A[0], A[::2, ::2]):
        quick, long = both(lambda: duoblas.sgemm(HostArray(x), B[::2, :]))
        assert same(quick, long), (quick, long)
    off = np.zeros(17, np.uint8)[1:].view(np.float32)
    for x in (A[0].astype(float), A[0, :0], A, off, A[0, ::-1]):
        for call in (lambda: duoblas.ssum(HostArray(x)), lambda: duoblas.sdot(A[0], HostArray(x))):
            quick, long = both(call)
            assert same(quick, long), (quick, long)


def test_read_only():
    c, out = HostArray(np.zeros((3, 5), np.float32)), HostArray(np.zeros(1, np.float32))
    c.read_only = out.read_only = True
    for call in (lambda: duoblas.sgemm(A, B, c), lambda: duoblas.ssum(A[0], out=out)):
        assert all("is read-only" in problem[1] for problem in both(call))
    assert (c.view == 0).all() and (out.view == 0).all()


def test_shared_elements(taken):
    whole = np.ones((4, 8), np.float32)
    a, unit = HostArray(whole[:, :4]), np.eye(4, dtype=np.float32)
    for c in (a, HostArray(whole[:, 2:6])):
        with pytest.raises(ValueError, match="c shares elements with a"):
            duoblas.sgemm(a, unit, c)
    duoblas.sgemm(a, unit, HostArray(whole[:, 4:]))  # beside each other
    assert (whole == 1).all() and taken() == 0


# ---- PyTorch ----

@pytest.fixture
def torch():
    found = pytest.importorskip("torch")
    if not hasattr(found.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this PyTorch has no exchange")
    return found


def test_tensors(torch, rng, taken):
    a, b = torch.from_numpy(A.copy()), torch.from_numpy(B.copy())
    c, out = torch.zeros(5, 3).T, torch.zeros(1)
    frozen = torch.nn.Parameter(a, requires_grad=False)
    calls = [lambda: duoblas.sgemm(a, b), lambda: duoblas.sgemm(frozen, b),
             lambda: duoblas.sgemm(a, B), lambda: duoblas.sgemm(A, b),
             lambda: duoblas.sgemm(b.T, a.T, alpha=0.5), lambda: duoblas.sgemm(a[1:, 1:], b[1:]),
             lambda: duoblas.sgemm(a, b, c, 2), lambda: duoblas.matmul(a, b, out=c),
             lambda: duoblas.dot(a, b), lambda: duoblas.dot(a[0], b[:, 1]),
             lambda: duoblas.vdot(a[0], A[1]), lambda: duoblas.vdot(A[0], a[1]),
             lambda: duoblas.sdot(a[0], b[:, 1]), lambda: duoblas.ssum(a[:, 1]),
             lambda: duoblas.sasum(a[0], out=out), lambda: duoblas.sdot(a[0], a[1], out=out[0])]
    for call in calls:
        before = taken()
        call()
        assert taken() == before + 1
        quick, long = both(call)
        assert same(quick, long)


def test_tensors_that_are_more_than_their_elements(torch, taken):
    a = torch.from_numpy(A.copy())
    wanted, complex_ = a.clone().requires_grad_(), torch.complex(a, a)
    for x in (wanted, wanted * 2, torch._neg_view(a), torch.imag(complex_.conj()), complex_.conj(),
              a.to_sparse(), a.double(), a.bfloat16(), a.to("meta"),
              torch._efficientzerotensor((3, 4))):
        for call in (lambda: duoblas.sgemm(x, B), lambda: duoblas.sgemm(x.T, x)):
            quick, long = both(call)
            assert quick == long and issubclass(quick[0], Exception), (quick, long)
    for c in (wanted, torch._neg_view(a)):
        for problem in both(lambda: duoblas.sgemm(A, np.eye(4, dtype=np.float32), c)):
            assert issubclass(problem[0], Exception)
    assert same(*both(lambda: duoblas.sgemm(a[:0], B)))
    a = a.clone()
    lazy, before = torch._lazy_clone(a), taken()
    duoblas.sgemm(A, np.eye(4, dtype=np.float32), lazy, 2)
    assert np.array_equal(a, A) and np.array_equal(lazy, 2 * A)
    assert taken() == before + 1


# ---- On a device ----

N = 30


@pytest.fixture
def device(sim, taken):
    """A context in the stream that the arrays' library works in."""
    with duoblas.Context(path="gpu", device=0, stream=ExchangeArray.stream) as ctx:
        yield ctx


@pytest.fixture(params=[ExchangeArray, NewDLPackArray])
def put(request, sim):
    """Of a library with the exchange, or one whose arrays are asked by __dlpack__, as CuPy's."""
    return lambda array: request.param(sim, np.asarray(array, np.float32))


def test_kept_arrays(rng, sim, taken, device, put):
    a = rng.standard_normal((N, N), np.float32)
    d, c, x, out = put(a), put(np.zeros((N, N))), put(a[0]), put(np.zeros(1))
    with device.keep(d, x), device.keep(c, out):
        sim.hold(True)
        before = taken()
        assert duoblas.sgemm(d, d, c) is c and duoblas.matmul(d[:, :9], d[3:12], c) is c
        assert duoblas.ssum(x, out=out) is out
        event = duoblas.Event()
        event.record()
        assert not event.query()  # none of them has waited
        sim.hold(False)
        device.synchronize()
        assert near(c.get(), *product(a[:, :9], a[3:12]))
        assert out.get() == duoblas.ssum(a[0])
        assert duoblas.sdot(x, d[1]) == duoblas.sdot(a[0], a[1])
        host = np.zeros((N, N), np.float32)
        assert near(duoblas.sgemm(d, a, host, 2), *product(a, a, 2))
        assert duoblas.explain()["residence"] == ("device", "pageable", "pageable")
        assert taken() == before + 7
        assert all(r.needed == r.lasting == 1 for r in _ranges.adopted._known)


def test_many_kept_arrays(rng, taken, device, put):
    """Each is found among the others; one that is not there is known for its calls alone."""
    arrays = [rng.standard_normal((4, 4)).astype(np.float32) for _ in range(9)]
    put_there = [put(a) for a in arrays]
    c = put(np.zeros((4, 4)))
    with device.keep(*put_there[1:]), device.keep(c):
        for i, (a, d) in enumerate(zip(arrays, put_there)):
            before = taken()
            duoblas.sgemm(d, d, c)
            device.synchronize()
            assert near(c.get(), *product(a, a)) and taken() - before == 1
            assert [(r.needed, r.lasting) for r in _ranges.adopted._known] == [(1, 1)] * 9


@pytest.mark.parametrize("stream, of_arrays", [(0, 0), (0, 1), (9, 9)])
def test_streams(monkeypatch, rng, sim, taken, stream, of_arrays):
    """0 and 1 are both CUDA's default stream."""
    monkeypatch.setattr(ExchangeArray, "stream", of_arrays)
    a = rng.standard_normal((N, N), np.float32)
    d, c = ExchangeArray(sim, a), ExchangeArray(sim, np.zeros((N, N), np.float32))
    with duoblas.Context(path="gpu", device=0, stream=stream) as ctx, ctx.keep(d, c):
        duoblas.ssum(a[0])
        before = taken()
        duoblas.sgemm(d, d, c)
        assert taken() == before + 1
        ctx.synchronize()
    assert near(c.get(), *product(a, a))


@pytest.mark.parametrize("why", ["other stream", "no stream"])
def test_what_goes_the_long_way_there(monkeypatch, rng, sim, taken, device, why):
    a = rng.standard_normal((N, N), np.float32)
    d, c = ExchangeArray(sim, a), NewDLPackArray(sim, np.zeros((N, N), np.float32))
    if why == "other stream":
        monkeypatch.setattr(ExchangeArray, "stream", 9)
    else:
        device.set_stream(None)
    with device.keep(d, c):
        before = taken()
        assert duoblas.sgemm(d, d, c) is c
        device.synchronize()
        assert near(c.get(), *product(a, a)) and taken() == before


@pytest.mark.parametrize("alone", [False, True])
def test_not_kept(rng, sim, taken, device, put, alone):
    """They are known during the call, which waits. Another call may need one of them."""
    a = rng.standard_normal((N, N), np.float32)
    d, x, c = put(a), put(a[0]), put(np.zeros((N, N)))
    other = _ranges.adopted.need(None, d.address, 4 * N * N, False) if alone else None
    sim.set_delay(2000)
    before = taken()
    with device.keep(c):
        assert duoblas.sgemm(d, d, c) is c
        assert near(c.get(), *product(a, a))
    assert duoblas.sdot(x, d[1]) == duoblas.sdot(a[0], a[1]) and taken() == before + 3
    assert [r.needed for r in _ranges.adopted._known] == ([1] if alone else [])
    if other is not None:
        _ranges.adopted.let_go(None, other, False)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("stream", [0, 1, 9])
def test_no_context(monkeypatch, rng, taken, put, kept, stream):
    """The thread's own context runs in CUDA's default stream, and its calls wait."""
    monkeypatch.setattr(ExchangeArray, "stream", stream)
    a = rng.standard_normal((N, N), np.float32)
    d, c = put(a), put(np.zeros((N, N)))
    before = taken()
    with duoblas.keep(d, c) if kept else contextlib.nullcontext():
        for _ in range(3):
            duoblas.ssum(a[0])  # in the thread's context for host memory
            c.memory.sim.set_delay(1000)
            duoblas.sgemm(d, d, c)
            assert near(c.get(), *product(a, a))
    in_order = stream <= 1 or type(d) is NewDLPackArray
    assert taken() - before - 3 in ((2, 3) if in_order else (0,))  # the first one makes the context
    assert _ranges.adopted._known == []


def test_kept_in_part(taken, device, put):
    d, c = put(np.ones((N, N))), put(np.zeros((N, N)))
    with device.keep(d, c[:-1]):
        for problem in both(lambda: duoblas.sgemm(d, d, c)):
            assert problem[0] is duoblas.ArgumentError and "cuts across" in problem[1]
        assert [r.needed for r in _ranges.adopted._known] == [1, 1]
        duoblas.sgemm(d[:-1], d, c[:-1])
        device.synchronize()
        assert (c.get()[:-1] == N).all()
    assert device._own.acquire(blocking=False)


def test_arrays_that_are_asked(sim, taken, device):
    """For the context's stream. What they refuse, and what their copies are, the long way knows."""
    x, streams = NewDLPackArray(sim, np.ones(9, np.float32)), NewDLPackArray.streams
    with device.keep(x):
        streams.clear()
        assert duoblas.ssum(x) == 9 and streams == [7] and taken() == 1
        x.read_only = True
        for problem in both(lambda: duoblas.sdot(x, x, out=x[:1])):
            assert problem == (ValueError, "out is read-only")
    old = DLPackArray(sim, np.ones(9, np.float32))  # it may give a copy, and not tell
    with device.keep(old):
        before = taken()
        assert duoblas.ssum(old, ctx=device) == 9 and taken() == before


def test_an_interrupt_while_an_array_is_asked(monkeypatch, sim, device):
    asked = []

    def interrupted(self, **_):
        asked.append(self)
        raise KeyboardInterrupt
    monkeypatch.setattr(NewDLPackArray, "__dlpack__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        duoblas.ssum(NewDLPackArray(sim, np.ones(9, np.float32)))
    assert len(asked) == 1


def test_other_device(taken, device, put):
    d = put(np.ones(3))
    with device.keep(d):
        before = taken()
        device._device = 3
        with pytest.raises(ValueError, match="device 0, the context on 3"):
            duoblas.ssum(d)
        device._device = 0
        assert duoblas.ssum(d) == 3 and taken() == before + 1


def test_result_has_to_be_given(taken, device, put):
    d = put(np.ones((3, 3)))
    with device.keep(d):
        for problem in both(lambda: duoblas.sgemm(d, d)):
            assert problem[0] is ValueError and "give the array" in problem[1]
    assert device._own.acquire(blocking=False)


def test_released_during_a_call(sim, taken, device, put):
    """The range stays known until the call ends."""
    d, c, ended = put(np.ones((N, N))), np.zeros((N, N), np.float32), []
    kept = device.keep(d)

    def work():
        before = taken()
        sim.hold(True)
        duoblas.sgemm(d, d, c, ctx=device)
        ended.append(taken() - before)

    thread = threading.Thread(target=work)
    thread.start()
    while not any(r.needed == 2 for r in _ranges.adopted._known):
        assert thread.is_alive()
    kept.release()
    assert [(r.needed, r.lasting) for r in _ranges.adopted._known] == [(1, 0)]
    sim.hold(False)
    thread.join()
    assert ended == [1] and (c == N).all()
