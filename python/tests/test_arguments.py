"""Arguments that are no numbers, do not fit, or are not what they should be."""

import types

import duoblas
import numpy as np
import pytest

from duoblas._arguments import stream_address

A = np.ones((4, 4), np.float32)


def test_streams_of_others():
    """CuPy's, PyTorch's, Numba's and cuda.core's, and CUDA's default one, which is 0 to them."""
    handle = types.SimpleNamespace(value=0x30)
    for stream, address in [
            (None, None), (0, 1), (2, 2), (0x50, 0x50), (types.SimpleNamespace(ptr=0x10), 0x10),
            (types.SimpleNamespace(cuda_stream=0), 1), (types.SimpleNamespace(handle=handle), 0x30),
            (types.SimpleNamespace(handle=types.SimpleNamespace(value=None)), 1),
            (types.SimpleNamespace(__cuda_stream__=lambda: (0, 0x40)), 0x40),
            (2**64 - 1, 2**64 - 1)]:
        assert stream_address(stream) == address
    for bad in ("7", b"7", 7.0, [], object()):
        with pytest.raises(TypeError):
            stream_address(bad)
    for bad in (-1, 2**64):
        with pytest.raises(ValueError):
            stream_address(bad)


@pytest.mark.parametrize("bad", ["x", b"1", 1j, np.complex64(1), [1.0], A, object(), None])
@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_scalars(name, bad):
    for call, a in ((duoblas.sgemm, A), (duoblas.sgemm_batched, A[None])):
        c = np.full_like(a, np.nan)
        with pytest.raises(TypeError, match=f"^{name} is a .*, not a real number$"):
            call(a, a, c, **{name: bad})
        assert np.isnan(c).all()


@pytest.mark.parametrize("bad", [10**400, -10**400])
def test_scalars_that_do_not_fit(bad):
    with pytest.raises(ValueError, match="^beta is an integer that is out of range$"):
        duoblas.sgemm(A, A, A.copy(), beta=bad)


@pytest.mark.parametrize("good", [2, 2.0, True + 1, np.float32(2), np.float64(2), np.int8(2),
                                  np.array(2.0)])
def test_good_scalars(good):
    assert (duoblas.sgemm(A, A, alpha=good) == 8).all()


def test_beta_that_is_too_small_for_a_float():
    assert (duoblas.sgemm(A, A, beta=1e-50) == 4).all()  # is 0: C is not needed


def test_out_is_another_name_of_c():
    for call, a in ((duoblas.sgemm, A), (duoblas.sgemm_batched, A[None])):
        c = np.ones_like(a)
        assert call(a, a, out=c) is c and (c == 4).all()
        assert call(a, a, beta=2, out=c) is c and (c == 12).all()
        with pytest.raises(ValueError, match="^give c or out, not both$"):
            call(a, a, c, out=c)
    c = [np.ones_like(A)]
    assert duoblas.sgemm_grouped([A], [A], beta=2, out=c) is c and (c[0] == 6).all()
    with pytest.raises(ValueError, match="^give c or out, not both$"):
        duoblas.sgemm_grouped([A], [A], c, out=c)


@pytest.mark.parametrize("name", ["threads", "device", "devices"])
def test_integers(name):
    def make(value):
        duoblas.Context(**{name: [value] if name == "devices" else value})

    for bad in (1.5, "x", "0", 0.0, None if name == "devices" else b"", 1j):
        with pytest.raises(TypeError, match=f"^{name}.* not an integer$"):
            make(bad)
    for bad in (2**31, 2**32, 2**32 + 1, 2**40, -2**32 + 1, -2**31 - 1):
        with pytest.raises(ValueError, match=f"^{name}.* out of range$"):
            make(bad)


def test_good_integers():
    with duoblas.Context(path="cpu") as ctx:
        for one in (1, np.int64(1), np.uint8(1), True):
            ctx.set_threads(one)
            duoblas.ssum(np.ones(1000000, np.float32))
            assert ctx.explain()["threads"] == 1
    with pytest.raises(TypeError):
        duoblas.Context(devices=0)


@pytest.mark.parametrize("bad", [5, "cpu", duoblas.Context, object()])
def test_contexts(bad):
    event = duoblas.Event()
    for call in (lambda: duoblas.sgemm(A, A, ctx=bad), lambda: duoblas.sgemm_batched(A, A, ctx=bad),
                 lambda: duoblas.ssum(A[0], ctx=bad), lambda: duoblas.sdot(A[0], A[0], ctx=bad),
                 lambda: duoblas.matmul(A, A, ctx=bad), lambda: duoblas.matmul(A[0], A, ctx=bad),
                 lambda: duoblas.sum(A, ctx=bad), lambda: duoblas.abs_sum(A, ctx=bad),
                 lambda: duoblas.keep(A, ctx=bad), lambda: duoblas.prepare(A, ctx=bad),
                 lambda: event.record(bad), lambda: event.wait(bad), lambda: duoblas.explain(bad)):
        with pytest.raises(TypeError, match="^ctx is a .*, not a duoblas.Context$"):
            call()


def test_what_they_look_like():
    with duoblas.Context(path="cpu", threads=2, adapt=False, priority="high",
                         remember="bytes", opening="background") as ctx:
        assert repr(ctx) == "<duoblas.Context path='cpu' threads=2 adapt=False priority='high' " \
            "remember='bytes' opening='background'>"
        ctx.set_path("auto")
        with duoblas.keep(A, A[:2]) as kept, duoblas.prepare(A[:0], A[:0]) as prepared:
            assert repr(kept) == "<duoblas.Kept kept=2>"
            assert repr(prepared) == "<duoblas.Kept prepared=0>"
    assert repr(ctx).startswith("<duoblas.Context path='auto'") and repr(ctx).endswith(" closed>")
    assert repr(duoblas.Context()) == "<duoblas.Context>"
    assert repr(duoblas.Event()).startswith("<duoblas.Event 0x")
