"""sum and abs_sum against NumPy's: random shapes, strides, types, axes, results and errors."""

import numpy as np
import pytest

from against_numpy import RANDOM, SIZES, TYPES, arrays, chance, numpys, outcome, same
from bounds import U
from hypothesis import given, strategies as st


@st.composite
def calls(draw, name):
    """An array, out or None, and other arguments."""
    x = draw(arrays(draw(st.lists(SIZES, max_size=4))))
    named = {}
    if chance(draw, 2):
        axes = st.integers(-x.ndim - chance(draw, 9), max(0, x.ndim - 1))
        one = st.sampled_from([None, (), 1.0, "x", [0], True, np.int64(0)])
        named["axis"] = draw(st.lists(axes, max_size=4).map(tuple) if chance(draw, 2) else
                             one if chance(draw, 5) else axes)
    if chance(draw, 3):
        named["keepdims"] = draw(st.booleans())
    if chance(draw, 6):
        named["dtype"] = draw(st.sampled_from(["f4", np.float32, float, "i8", "nonsense"]))
    out = None
    if chance(draw, 2) and (x.ndim > 0 or name == "sum"):  # abs gives a number, not an array
        made = outcome(numpys(name), x, **named)
        shape = [2] if isinstance(made, type) else list(np.shape(made))
        if chance(draw, 9):
            shape = [*shape, 1]
        out = draw(arrays(shape, True, TYPES) if chance(draw, 2) else
                   st.just(np.zeros(shape, np.float32)))
        if chance(draw, 9):
            out = draw(st.sampled_from([x, 5, (x,)]))
    return x, out, named


def check(name, x, out, named):
    bounds = None
    if x.dtype == np.float32:
        about = {key: value for key, value in named.items() if key != "dtype"}
        exact = outcome(numpys(name), x.astype(float), **about)
        if not isinstance(exact, type):
            bounds = exact, 8 * U * np.sum(abs(x.astype(float)), **about)
    same(name, (x,), out, bounds, **named)


@RANDOM
@given(calls("sum"))
def test_sum(call):
    check("sum", *call)


@RANDOM
@given(calls("abs_sum"))
def test_abs_sum(call):
    check("abs_sum", *call)
