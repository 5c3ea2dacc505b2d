"""Random arrays, and what duoblas and NumPy make of the same ones.

150 random calls of each function; with DUOBLAS_TEST_LONG=1 5000."""

import os
import warnings

import duoblas
import numpy as np
import pytest

from bounds import near

pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, settings, strategies as st

COUNT = 5000 if os.environ.get("DUOBLAS_TEST_LONG") == "1" else 150
RANDOM = settings(max_examples=COUNT, deadline=None, derandomize=True, database=None,
                  suppress_health_check=list(HealthCheck))
TYPES = ["f4"] * 60 + ["f8", "f2", ">f4", "i4", "?", "c8"]
SIZES = st.sampled_from([0, 1, 1, 2, 3, 4, 5, 7, 17])


def chance(draw, one_in):
    return draw(st.integers(0, one_in - 1)) == one_in // 2  # ends come more often


@st.composite
def arrays(draw, shape, writeable=False, types=TYPES):
    """Random elements of a shape: in any order of axes, with steps and gaps, backwards, repeated,
    not aligned."""
    rank, kind = len(shape), np.dtype(draw(st.sampled_from(types)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    steps = [draw(st.sampled_from([1, 1, 1, 1, 2, -1, -2, 0])) for _ in shape]
    if writeable and not chance(draw, 8):
        steps = [step or 1 for step in steps]
    order = draw(st.permutations(range(rank))) if chance(draw, 2) else list(range(rank))
    size = [0] * rank
    for axis, place in enumerate(order):
        size[place] = shape[axis] * max(1, abs(steps[axis])) + draw(st.sampled_from([0, 0, 0, 2]))
    whole = np.zeros(size, kind)
    if chance(draw, 30):
        whole = np.zeros(whole.nbytes + 1, np.uint8)[1:].view(kind).reshape(size)
    whole[...] = (4 * rng.standard_normal(size)).astype(kind)
    x = whole.transpose(order)[tuple(slice(0, n * max(1, abs(step)), max(1, abs(step)))
                                     for n, step in zip(shape, steps))]
    x = x[tuple(slice(None, None, -1 if step < 0 else 1) for step in steps)]
    x = np.lib.stride_tricks.as_strided(
        x, shape, [0 if step == 0 else s for step, s in zip(steps, x.strides)])
    if writeable and chance(draw, 20):
        x.flags.writeable = False
    assert x.shape == tuple(shape)
    return x


def outcome(function, *arguments, **named):
    """Its result, or the type of its error."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments, **named)
    except Exception as problem:
        return type(problem)


def writes_beside():
    """Does this NumPy write beside an out with negative strides, as 1.24 does?"""
    whole = np.zeros((64, 4), np.float32)
    out = whole[40:24:-4, 1:2]
    np.matmul(np.ones((4, 4), np.float32), np.ones((4, 1), np.float32), out=out)
    return not (out == 4).all()


WRITES_BESIDE = writes_beside()


def owner(array):
    """The array whose memory it is."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def numpys(name):
    """The function of NumPy."""
    return getattr(np, name, lambda x, **named: np.sum(abs(x), **named))


def same(name, arguments, out, bounds=None, **named):
    """Does duoblas.name give what numpy.name gives? bounds: of float32 results, as of product."""
    is_tuple = isinstance(out, tuple)
    if is_tuple:
        out, = out
    if WRITES_BESIDE and isinstance(out, np.ndarray) and min(out.strides, default=0) < 0:
        out = out.copy()
    if out is not None:
        named["out"] = (out,) if is_tuple else out
    written = isinstance(out, np.ndarray) and out.flags.writeable
    if written:
        around, before = owner(out), out.copy()
        memory = around.copy()
    want = outcome(numpys(name), *arguments, **named)
    saved = want.copy() if isinstance(want, np.ndarray) else want
    if written:
        out[...] = before
        assert around.tobytes() == memory.tobytes()
    got = outcome(getattr(duoblas, name), *arguments, **named)
    assert type(got) is type(want) and (got is out) == (want is out)
    if isinstance(want, type):
        assert got is want
        return
    assert np.shape(got) == np.shape(saved) and got.dtype == saved.dtype
    repeated = written and any(n > 1 and s == 0 for n, s in zip(out.shape, out.strides))
    if not repeated and not np.array_equal(got, saved, equal_nan=got.dtype.kind in "fc"):
        assert bounds is not None and got.dtype == np.float32 and near(got, *bounds)
    if written:  # and nothing else
        out[...] = before
        assert around.tobytes() == memory.tobytes()
