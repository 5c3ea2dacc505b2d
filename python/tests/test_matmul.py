"""matmul, dot and vdot against NumPy's: random shapes, strides, types, results and errors."""

import numpy as np

from against_numpy import RANDOM, SIZES, TYPES, arrays, chance, outcome, same
from bounds import product
from hypothesis import given, strategies as st


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
    made = outcome(function, a, b)
    shape = [2, 3] if isinstance(made, type) else list(np.shape(made))
    if chance(draw, 12):
        shape = shape[1:] if chance(draw, 2) else [3, *shape]
    if chance(draw, 12) and shape:
        shape[draw(st.integers(0, len(shape) - 1))] += 1
    if chance(draw, 2):
        return a, b, np.zeros(shape, np.float32)
    return a, b, draw(arrays(shape, True, TYPES))


def check(name, a, b, out):
    bounds = None
    if a.dtype == b.dtype == np.float32:
        flat = (a.ravel(), b.ravel()) if name == "vdot" else (a, b)
        found = outcome(lambda: product(*flat, by=getattr(np, name)))
        bounds = found if isinstance(found, tuple) else None
    same(name, (a, b), out, bounds)


@RANDOM
@given(calls(np.matmul))
def test_matmul(call):
    check("matmul", *call)


@RANDOM
@given(calls(np.dot))
def test_dot(call):
    check("dot", *call)


@RANDOM
@given(pairs())
def test_vdot(call):
    check("vdot", *call)
