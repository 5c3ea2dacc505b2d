"""Arrays of other libraries in host memory."""

import sys
import types

import duoblas
import numpy as np
import pytest

from bounds import near, product
from duoblas import _cuda, _dlpack

A = np.arange(12, dtype=np.float32).reshape(3, 4)


class Other:
    """By DLPack alone."""

    kind = 1

    def __init__(self, array):
        self.array = np.array(array, order="K")
        self.streams = []

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return self.array.__dlpack__()


class Copying(Other):
    """Which gives NumPy a copy."""

    def __array__(self, dtype=None, copy=None):
        return self.array.copy()


class Locked(Other):
    """Immutable, of which DLPack before 1.0 says nothing."""

    def __array__(self, dtype=None, copy=None):
        view = self.array.view()
        view.flags.writeable = False
        return view


class Silent(Other):
    """As CuPy's in pinned or managed memory."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")


@pytest.mark.parametrize("kind", [*_dlpack.HOST, _dlpack.MANAGED])
@pytest.mark.parametrize("maker", [Other, Copying, Silent])
def test_operands(monkeypatch, maker, kind):
    """Results are put into their memory, not into a copy's."""
    monkeypatch.setattr(maker, "kind", kind)
    waited = []
    monkeypatch.setattr(_cuda, "synchronize", lambda *where: waited.append(where))
    for a in (A, A.copy(order="F"), A[:, ::2], A[::-1]):
        c, out = maker(np.zeros((3, 3))), maker(np.zeros(1))
        c.array, out.array = c.array.astype(np.float32), out.array.astype(np.float32)
        assert duoblas.sgemm(maker(a), a.T, c) is c
        assert near(c.array, *product(a, a.T))
        assert duoblas.sdot(maker(a[0]), a[0], out=out) is out
        assert out.array[0] == duoblas.sdot(a[0], a[0])
    stacks = maker(np.zeros((2, 3, 3), np.float32))
    assert duoblas.sgemm_batched(np.stack([A, A]), A.T, stacks) is stacks
    assert near(stacks.array[1], *product(A, A.T))
    assert not waited or kind == _dlpack.MANAGED
    assert set(waited) <= {(_cuda.LEGACY_STREAM, 0)} and set(c.streams) <= {None}
    if kind == _dlpack.MANAGED:
        assert waited
    else:
        with pytest.raises(TypeError):
            duoblas.ssum(maker(A[0].astype(float)))
    with pytest.raises(TypeError):
        duoblas.ssum(A[0], out=maker(np.zeros(1)))


def test_arrays_are_asked_once():
    """A call in a context of the program's need not know their device before. But the quick way
    asks the first one, too."""
    asked = []

    class Asked(Other):
        def __dlpack_device__(self):
            asked.append(self)
            return super().__dlpack_device__()

    a, c = Asked(A), Asked(np.zeros((3, 3), np.float32))
    with duoblas.Context():
        duoblas.sgemm(a, A.T, c)
        assert 2 <= len(asked) <= 3
    asked.clear()
    with duoblas.Context() as ctx:
        duoblas.ssum(Asked(A[0]), ctx=ctx)
        assert 1 <= len(asked) <= 2


class Managed:
    """Managed memory by the CUDA array interface."""

    stream = None

    def __init__(self, array):
        self.array = np.array(array)

    @property
    def __cuda_array_interface__(self):
        return dict(self.array.__array_interface__, stream=self.stream)


def test_managed_memory_by_the_interface(monkeypatch):
    """It is used from the host, when the work in its stream is done."""
    waited = []
    monkeypatch.setattr(_cuda, "is_managed", lambda address: True)
    monkeypatch.setattr(_cuda, "synchronize", lambda *where: waited.append(where))
    c = Managed(np.zeros((3, 3), np.float32))
    with duoblas.Context() as ctx:
        assert duoblas.sgemm(Managed(A), A.T, c) is c and near(c.array, *product(A, A.T))
        assert not waited
        ctx._stream = c.stream = 7
        assert duoblas.sgemm(Managed(A), A.T, c, 2) is c and near(c.array, *product(A, A.T, 2))
        assert waited == [(7, 0)]


def test_shared_elements():
    c = Silent(A[:, :3])
    with pytest.raises(ValueError, match="shares elements with a"):
        duoblas.sgemm(c, np.eye(3, dtype=np.float32), c)


def test_read_only():
    c = Locked(np.zeros((3, 3), np.float32))
    with pytest.raises(ValueError, match="read-only"):
        duoblas.sgemm(A, A.T, c)
    assert (c.array == 0).all()
    assert near(duoblas.sgemm(Locked(A), A.T), *product(A, A.T))


@pytest.mark.parametrize("kind", [4, 7, 8, 10, 14])
def test_other_memory(monkeypatch, kind):
    monkeypatch.setattr(Silent, "kind", kind)
    for call in (lambda: duoblas.ssum(Silent(A[0])), lambda: duoblas.keep(Silent(A)),
                 lambda: duoblas.sgemm(A, A.T, Silent(A))):
        with pytest.raises(TypeError, match=f"memory of DLPack's kind {kind}"):
            call()


class Interface:
    """By NumPy's own protocol. new: it is of a copy."""

    def __init__(self, array, new):
        self.array, self.new = array, new

    @property
    def __array_interface__(self):
        told = self.array.__array_interface__
        return dict(told, data=bytearray(self.array.tobytes())) if self.new else told


def test_interface():
    c = Interface(np.zeros((3, 3), np.float32), False)
    assert duoblas.sgemm(Interface(A, True), A.T, c) is c and near(c.array, *product(A, A.T))
    with pytest.raises(TypeError, match="cannot be put into"):
        duoblas.sgemm(A, A.T, Interface(np.zeros((3, 3), np.float32), True))
    with duoblas.keep(Interface(A, False)):
        pass
    for copying in (Interface(A, True), Copying(A), [[1.0, 2.0]]):
        with pytest.raises((TypeError, ValueError)):
            duoblas.keep(copying)


class Plain:
    """By __array__ alone, of which nobody knows whether it copies."""

    def __array__(self, dtype=None, copy=None):
        return A


@pytest.mark.parametrize("c", [Plain(), memoryview(A.copy()), A.tolist(), A[0, 0]])
def test_results_that_would_be_lost(c):
    before = A.copy()
    with pytest.raises(TypeError, match="cannot be put into"):
        duoblas.sgemm(A, np.eye(4, dtype=np.float32), c)
    with pytest.raises(TypeError, match="cannot be put into"):
        duoblas.ssum(A[0], out=c)
    assert (A == before).all()


# ---- Results ----

class _Tensor(Other):
    """As PyTorch's: its results are its own."""

    def new_empty(self, size):
        return _Tensor(np.full(size, np.nan, np.float32))

    def __array__(self, dtype=None, copy=None):
        return self.array


_Tensor.__module__ = "torch"


class _CuPy(Silent):
    """As CuPy's in managed memory."""

    kind = _dlpack.MANAGED
    device = __import__("contextlib").nullcontext()


_CuPy.__module__ = "cupy._core.core"


def test_result_is_of_the_maker(monkeypatch):
    made = duoblas.sgemm(_Tensor(A), A.T)
    assert type(made) is _Tensor and near(made.array, *product(A, A.T))
    made = duoblas.sgemm_batched(_Tensor(np.stack([A, A])), A.T)
    assert type(made) is _Tensor and near(made.array[1], *product(A, A.T))
    assert type(duoblas.sgemm(A, _Tensor(A.T))) is np.ndarray
    for a in (A, np.stack([A, A]), A[0]):
        for b in (A.T, np.stack([A.T, A.T]), A[1]):
            for function in (duoblas.matmul, duoblas.dot):
                made = function(_Tensor(a), b)
                right, bound = product(a, b, by=getattr(np, function.__name__))
                assert type(made) is _Tensor and made.array.shape == right.shape
                assert near(made.array, right, bound)
    for made in (duoblas.vdot(_Tensor(A), A), duoblas.sum(_Tensor(A)), duoblas.abs_sum(_Tensor(A))):
        assert type(made) is _Tensor and made.array.shape == ()
    assert type(duoblas.matmul(A, _Tensor(A.T))) is np.ndarray
    cupy = types.SimpleNamespace(empty=lambda shape, kind: _CuPy(np.full(shape, np.nan, kind)))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for function in (duoblas.sgemm, duoblas.matmul, duoblas.dot):
        made = function(_CuPy(A), A.T)
        assert type(made) is _CuPy and near(made.array, *product(A, A.T))
    assert type(duoblas.ssum(_Tensor(A[0]))) is np.float32


def test_torch(rng):
    torch = pytest.importorskip("torch")
    a = torch.from_numpy(rng.standard_normal((30, 20), np.float32))
    for x, y in ((a, a.T), (a.T, a), (a[::2, ::3], a[::2, ::3].T)):
        c = duoblas.sgemm(x, y)
        assert type(c) is torch.Tensor and near(c.numpy(), *product(x.numpy(), y.numpy()))
        assert duoblas.sgemm(x, y, c, 2) is c
        assert near(c.numpy(), *product(x.numpy(), y.numpy(), 2))
    assert type(duoblas.sgemm(a.numpy(), a.T)) is np.ndarray
    with duoblas.keep(a):
        duoblas.sgemm(a, a.T)
    for function, x, y in ((duoblas.matmul, a.double(), a.T.double()), (duoblas.dot, a[0], a[1]),
                           (duoblas.matmul, torch.stack([a, a]), a.T), (duoblas.vdot, a, a)):
        made, right = function(x, y), getattr(np, function.__name__)(x.numpy(), y.numpy())
        assert type(made) is torch.Tensor and np.allclose(made.numpy(), right, rtol=1e-4)
    for x, named in ((a, {}), (a, {"axis": 0, "keepdims": True}), (a.double(), {"axis": (0, 1)})):
        made, right = duoblas.abs_sum(x, **named), np.sum(abs(x.numpy()), **named)
        assert type(made) is torch.Tensor and np.allclose(made.numpy(), right, rtol=1e-5)
    c = torch.zeros(60, 60)[::2, ::2]
    assert duoblas.matmul(a, a.T, out=c) is c and near(c.numpy(), *product(a.numpy(), a.T.numpy()))
    with pytest.raises(RuntimeError):
        duoblas.matmul(a, a)
    out = torch.zeros(1)
    assert duoblas.ssum(a[0], out=out) is out and out[0] == duoblas.ssum(a[0].numpy())
    for bad in (a.double(), torch.zeros(3, 3, requires_grad=True)):
        with pytest.raises((TypeError, RuntimeError, BufferError)):
            duoblas.sgemm(bad, bad)


def test_a_minus_sign_that_is_still_to_be_applied():
    """PyTorch's DLPack would give the elements without it."""
    class Negative(Other):
        def is_neg(self):
            return True

    with pytest.raises(BufferError, match="minus sign"):
        duoblas.ssum(A[0], out=Negative(np.zeros(1, np.float32)))
    c = np.zeros((3, 3), np.float32)
    with pytest.raises(BufferError, match="minus sign"):
        duoblas.sgemm(Negative(A), A.T, c)
    assert (c == 0).all()
