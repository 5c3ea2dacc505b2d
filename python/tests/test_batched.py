"""sgemm_batched on NumPy arrays: values, orders, strides, one factor for all."""

import duoblas
import numpy as np
import pytest

from bounds import near, product


def stack(rng, count, rows, columns, how):
    """Random elements, as a view of a larger array whose other elements are NaN."""
    parts = {
        "C": lambda: np.full((count, rows, columns), np.nan, np.float32),
        "turned": lambda: np.full((count, columns, rows), np.nan, np.float32).transpose(0, 2, 1),
        "apart": lambda: np.full((2 * count, rows, columns + 3), np.nan,
                                 np.float32)[::2, :, 1:columns + 1],
        "scattered": lambda: np.full((count, 2 * rows, 3 * columns), np.nan,
                                     np.float32)[:, ::2, ::3],
        "backwards": lambda: np.full((count, rows, columns), np.nan, np.float32)[::-1],
    }
    array = parts[how]()
    array[...] = rng.standard_normal((count, rows, columns))
    return array


USED_THERE = ["C", "turned", "apart", "backwards"]
LAYOUTS = [*USED_THERE, "scattered"]


def right(a, b, c, alpha, beta, before):
    for i in range(c.shape[0]):
        of_a, of_b = (x[i] if x.ndim == 3 else x for x in (a, b))
        if not near(c[i], *product(of_a, of_b, alpha, beta, before[i])):
            return False
    return True


@pytest.mark.parametrize("of_c", USED_THERE)
@pytest.mark.parametrize("of_b", LAYOUTS)
@pytest.mark.parametrize("of_a", LAYOUTS)
def test_layouts(rng, of_a, of_b, of_c):
    count, m, n, k = (int(v) for v in rng.integers(1, 30, 4))
    a, b = stack(rng, count, m, k, of_a), stack(rng, count, k, n, of_b)
    c = stack(rng, count, m, n, of_c)
    before = c.copy()
    around = c.base if c.base is not None else c
    outside = int(np.isnan(around).sum())
    assert duoblas.sgemm_batched(a, b, c, 1.5, -0.5) is c
    assert right(a, b, c, 1.5, -0.5, before)
    assert np.isnan(around).sum() == outside


def test_one_for_all(rng):
    one, many = rng.standard_normal((6, 4), np.float32), rng.standard_normal((9, 4, 5), np.float32)
    c = duoblas.sgemm_batched(one, many, alpha=2)
    assert c.shape == (9, 6, 5) and right(one, many, c, 2, 0, c)
    turned = many.transpose(0, 2, 1)
    c = duoblas.sgemm_batched(turned, one.T, alpha=2)
    assert c.shape == (9, 5, 6) and right(turned, one.T, c, 2, 0, c)


def test_no_products():
    assert duoblas.sgemm_batched(np.empty((0, 3, 4), np.float32),
                                 np.empty((0, 4, 2), np.float32)).shape == (0, 3, 2)


def test_bad_arguments(rng):
    a, b = rng.standard_normal((3, 4, 5), np.float32), rng.standard_normal((3, 5, 6), np.float32)
    c = np.full((3, 4, 6), np.nan, np.float32)
    for bad in ((a, b[:2]), (a, b[:, :4]), (a[0], b[0]), (a[0, 0], b), (a, b, c[:2]),
                (a, b, c[:, :3]), (a, b, c[0]), (a, b, a), (a, b, None, 1, 1),
                (a, b, np.broadcast_to(c[0], c.shape).copy()[:, ::2, ::2])):
        with pytest.raises(ValueError):
            duoblas.sgemm_batched(*bad)
    with pytest.raises(TypeError):
        duoblas.sgemm_batched(a.astype(float), b)
    shared = np.lib.stride_tricks.as_strided(np.zeros(40, np.float32), (3, 4, 6), (4, 24, 4))
    with pytest.raises(ValueError):  # products that overlap each other
        duoblas.sgemm_batched(a, b, shared)
    assert np.isnan(c).all()
