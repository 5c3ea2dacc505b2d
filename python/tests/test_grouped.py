"""sgemm_grouped on NumPy arrays: values, orders, groups, errors."""

import duoblas
import numpy as np
import pytest

from bounds import near, product

SHAPES = [(7, 5, 3), (7, 5, 3), (20, 1, 9), (1, 1, 1), (64, 40, 33), (64, 40, 33), (7, 5, 3)]


def matrix(rng, rows, columns, order):
    """A view of a larger array whose other elements are NaN."""
    array = np.full((rows + 2, columns + 3), np.nan, np.float32, order=order)[1:-1, 1:-2]
    array[...] = rng.standard_normal((rows, columns))
    return array


@pytest.mark.parametrize("orders", ["CCC", "FFF", "CFC", "FCF", "CCF"])
def test_values(orders):
    rng = np.random.default_rng(3)
    a = [matrix(rng, m, k, orders[0]) for m, n, k in SHAPES]
    b = [matrix(rng, k, n, orders[1]) for m, n, k in SHAPES]
    c = [matrix(rng, m, n, orders[2]) for m, n, k in SHAPES]
    before = [x.copy() for x in c]
    assert duoblas.sgemm_grouped(a, b, c, 1.5, -0.5) is c
    for x, y, z, old in zip(a, b, c, before):
        assert near(z, *product(x, y, 1.5, -0.5, old))
        assert np.isnan(z.base).sum() == z.base.size - z.size


def test_new_results():
    rng = np.random.default_rng(4)
    a = [matrix(rng, m, k, "C") for m, n, k in SHAPES]
    b = [matrix(rng, k, n, "C") for m, n, k in SHAPES]
    c = duoblas.sgemm_grouped(a, b)
    assert [z.shape for z in c] == [(m, n) for m, n, k in SHAPES]
    for x, y, z in zip(a, b, c):
        assert near(z, *product(x, y, 1.0, 0.0, np.zeros_like(z)))


def test_none():
    assert duoblas.sgemm_grouped([], []) == []


def test_errors():
    x = np.ones((2, 3), np.float32)
    y = np.ones((3, 2), np.float32)
    square = np.ones((3, 3), np.float32)
    for wrong in (lambda: duoblas.sgemm_grouped([x], []),
                  lambda: duoblas.sgemm_grouped([x, x], [y, x]),
                  lambda: duoblas.sgemm_grouped([x], [y], beta=1.0),
                  lambda: duoblas.sgemm_grouped([x], [y], [square]),
                  lambda: duoblas.sgemm_grouped([square], [square], [square])):
        with pytest.raises(ValueError):
            wrong()
