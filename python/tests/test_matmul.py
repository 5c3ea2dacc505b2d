"""matmul, dot and vdot against NumPy's: random shapes, strides, types, results and errors.

300 cases of each; with DUOBLAS_TEST_LONG=1 5000."""

import os

import duoblas
import numpy as np
import pytest

from bounds import near, product

pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings, strategies as st

COUNT = 5000 if os.environ.get("DUOBLAS_TEST_LONG") == "1" else 300
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


@st.composite
def shapes(draw):
    """Of two factors: they mostly fit."""
    m, n, k = (draw(SIZES) for _ in range(3))
    batch = draw(st.lists(st.sampled_from([2, 3, 5, 4, 1, 2, 0]), max_size=3))
    pair = []
    for matrix, vector in (([m, k], [k]), ([k, n], [k])):
        own = batch[draw(st.sampled_from([0, 0, 0, 1, 2])):]
        mine = [1 if chance(draw, 4) else count for count in own]
        shape = vector if chance(draw, 5) else mine + matrix
        if chance(draw, 25):
            shape = shape[:-1]
        if chance(draw, 25) and shape:
            shape[draw(st.integers(0, len(shape) - 1))] += 1
        pair.append(tuple(shape))
    return pair


@st.composite
def pairs(draw):
    """Two arrays with mostly the same number of elements."""
    shape = draw(st.lists(SIZES, max_size=3))
    others = [shape, shape, shape[::-1], [int(np.prod(shape))], [*shape, 2]]
    return draw(arrays(shape)), draw(arrays(draw(st.sampled_from(others)))), None


@st.composite
def calls(draw, function):
    """Two factors, and out or None."""
    a, b = (draw(arrays(shape)) for shape in draw(shapes()))
    if chance(draw, 2):
        return a, b, None
    if chance(draw, 6):
        return a, b, draw(st.sampled_from([a, b, 5, "x", (a,), [1.0], np.float32(1)]))
    try:
        with np.errstate(all="ignore"):
            shape = list(np.shape(function(a, b)))
    except ValueError:
        shape = [2, 3]
    if chance(draw, 12):
        shape = shape[1:] if chance(draw, 2) else [3, *shape]
    if chance(draw, 12) and shape:
        shape[draw(st.integers(0, len(shape) - 1))] += 1
    if chance(draw, 2):
        return a, b, np.zeros(shape, np.float32)
    return a, b, draw(arrays(shape, True, TYPES))


def outcome(function, *arguments, **named):
    """Its result, or the type of its error."""
    try:
        with np.errstate(all="ignore"):
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


def same(name, a, b, out):
    """Does duoblas.name give what numpy.name gives?"""
    is_tuple = isinstance(out, tuple)
    if is_tuple:
        out, = out
    if WRITES_BESIDE and isinstance(out, np.ndarray) and min(out.strides, default=0) < 0:
        out = out.copy()
    named = {} if out is None else {"out": (out,) if is_tuple else out}
    written = isinstance(out, np.ndarray) and out.flags.writeable
    around = before = None
    if written:
        around, before = owner(out), out.copy()
        memory = around.copy()
    bounds = None
    if all(x.dtype == np.float32 for x in (a, b)):
        flat = (a.ravel(), b.ravel()) if name == "vdot" else (a, b)
        bounds = outcome(lambda: product(*flat, by=getattr(np, name)))
    want = outcome(getattr(np, name), a, b, **named)
    saved = want.copy() if isinstance(want, np.ndarray) else want
    if written:
        out[...] = before
        assert around.tobytes() == memory.tobytes()
    got = outcome(getattr(duoblas, name), a, b, **named)
    assert type(got) is type(want) and (got is out) == (want is out)
    if isinstance(want, type):
        assert got is want
        return
    assert np.shape(got) == np.shape(saved) and got.dtype == saved.dtype
    if got.dtype != np.float32 or not isinstance(bounds, tuple):
        assert np.array_equal(got, saved, equal_nan=got.dtype.kind in "fc")
    elif not (written and any(n > 1 and s == 0 for n, s in zip(out.shape, out.strides))):
        assert near(got, *bounds)
    if written:  # and nothing else
        out[...] = before
        assert around.tobytes() == memory.tobytes()


@RANDOM
@given(calls(np.matmul))
def test_matmul(call):
    same("matmul", *call)


@RANDOM
@given(calls(np.dot))
def test_dot(call):
    same("dot", *call)


@RANDOM
@given(pairs())
def test_vdot(call):
    same("vdot", *call)
