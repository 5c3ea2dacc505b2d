"""sgemm on NumPy arrays: values, orders, strides, scalars."""

import duoblas
import numpy as np
import pytest

from bounds import near, product


def laid_out(rng, rows, columns, how):
    """Random elements, as a view of a larger array whose other elements are NaN."""
    parts = {
        "C": lambda: np.full((rows, columns), np.nan, np.float32),
        "F": lambda: np.full((columns, rows), np.nan, np.float32).T,
        "rows apart": lambda: np.full((rows, columns + 3), np.nan, np.float32)[:, 1:columns + 1],
        "columns apart": lambda: np.full((columns, rows + 2), np.nan, np.float32)[:, 2:].T,
        "every second row": lambda: np.full((2 * rows, columns), np.nan, np.float32)[::2],
        "scattered": lambda: np.full((2 * rows, 3 * columns), np.nan, np.float32)[::2, ::3],
        "backwards": lambda: np.full((rows, columns), np.nan, np.float32)[::-1],
    }
    array = parts[how]()
    array[...] = rng.standard_normal((rows, columns))
    return array


USED_THERE = ["C", "F", "rows apart", "columns apart", "every second row"]
LAYOUTS = [*USED_THERE, "scattered", "backwards"]


@pytest.mark.parametrize("of_c", USED_THERE)
@pytest.mark.parametrize("of_b", LAYOUTS)
@pytest.mark.parametrize("of_a", LAYOUTS)
def test_layouts(rng, of_a, of_b, of_c):
    m, n, k = (int(v) for v in rng.integers(1, 40, 3))
    a, b = laid_out(rng, m, k, of_a), laid_out(rng, k, n, of_b)
    c = laid_out(rng, m, n, of_c)
    right, bound = product(a, b, 1.5, -0.5, c)
    around = c.base if c.base is not None else c
    outside = int(np.isnan(around).sum())
    assert duoblas.sgemm(a, b, c, 1.5, -0.5) is c
    assert near(c, right, bound)
    assert np.isnan(around).sum() == outside


def test_random_shapes(rng):
    for _ in range(60):
        m, n, k = (int(v) for v in rng.integers(0, 90, 3))
        a, b = (laid_out(rng, *s, LAYOUTS[rng.integers(len(LAYOUTS))]) for s in ((m, k), (k, n)))
        c = duoblas.sgemm(a, b, alpha=2)
        assert c.shape == (m, n) and c.dtype == np.float32 and c.flags.c_contiguous
        assert near(c, *product(a, b, 2))


@pytest.mark.parametrize("math", ["accurate", "ieee", "float64"])
def test_large(rng, math):
    a = rng.standard_normal((300, 200), np.float32)
    b = rng.standard_normal((260, 200), np.float32).T
    with duoblas.Context(math=math):
        assert near(duoblas.sgemm(a, b), *product(a, b))


def test_one_row_and_one_column(rng):
    """Their strides say nothing."""
    row = np.lib.stride_tricks.as_strided(rng.standard_normal(5, np.float32), (1, 5), (12, 4))
    column = rng.standard_normal((5, 7), np.float32)[:, 3:4]
    assert near(duoblas.sgemm(row, column), *product(row, column))
    assert near(duoblas.sgemm(column, row), *product(column, row))
    twice = np.broadcast_to(row, (3, 5))
    assert near(duoblas.sgemm(twice, column), *product(twice, column))


def test_c_is_not_read(rng):
    a, b = rng.standard_normal((6, 4), np.float32), rng.standard_normal((4, 5), np.float32)
    c = np.full((6, 5), np.nan, np.float32)
    assert near(duoblas.sgemm(a, b, c), *product(a, b))
    c[...] = 3
    assert (duoblas.sgemm(a * np.float32(np.nan), b, c, 0, 2) == 6).all()


def test_empty():
    a, b = np.ones((3, 0), np.float32), np.ones((0, 4), np.float32)
    assert (duoblas.sgemm(a, b) == np.zeros((3, 4))).all()
    assert duoblas.sgemm(b, np.ones((4, 2), np.float32)).shape == (0, 2)


def test_other_hosts_arrays(rng):
    """What NumPy can look at."""
    a = rng.standard_normal((3, 4), np.float32)

    class Other:
        def __array__(self, dtype=None, copy=None):
            return a

    assert near(duoblas.sgemm(Other(), a.T), *product(a, a.T))
    odd = np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 4)
    assert near(duoblas.sgemm(odd, a.T), *product(a, a.T))


def test_strange_strides(rng):
    """Rows that overlap, and elements that are 6 bytes apart."""
    windows = np.lib.stride_tricks.sliding_window_view(rng.standard_normal(20, np.float32), 5)
    assert near(duoblas.sgemm(windows, windows.T), *product(windows, windows.T))
    records = np.zeros((4, 5), {"names": ["x"], "formats": ["f4"], "itemsize": 6})
    records["x"] = rng.standard_normal((4, 5))
    x = records["x"]
    assert near(duoblas.sgemm(x, x.T), *product(x, x.T))
    assert duoblas.ssum(x[0]) == duoblas.ssum(x[0].copy())
    with pytest.raises(ValueError, match="aligned"):
        duoblas.sgemm(x[:, :4], x[:, :4], x[:, :4])
    with pytest.raises(ValueError, match="aligned"):
        duoblas.ssum(x[0], out=x[0, 1:2])


# ---- What is refused ----

ONE = np.ones((4, 4), np.float32)


@pytest.mark.parametrize("array", [
    np.ones((4, 4)), np.ones((4, 4), np.int32), np.ones((4, 4), ">f4"), [[1.0] * 4] * 4,
    np.ma.masked_array(ONE, ONE > 0), np.ones((4, 4), np.float16), "text", None])
def test_wrong_types(array):
    with pytest.raises(TypeError):
        duoblas.sgemm(array, ONE)
    with pytest.raises(TypeError):
        duoblas.sgemm(ONE, array)
    if array is not None:
        with pytest.raises(TypeError):
            duoblas.sgemm(ONE, ONE, array)


def test_wrong_shapes():
    for a, b, c in [(ONE[:3].T, ONE, None), (ONE, ONE, ONE[:3].copy()), (ONE[0], ONE, None),
                    (ONE, ONE[0], None), (ONE, ONE, np.zeros(16, np.float32)),
                    (ONE[None], ONE, None)]:
        with pytest.raises(ValueError):
            duoblas.sgemm(a, b, c)
    with pytest.raises(ValueError, match="beta"):
        duoblas.sgemm(ONE, ONE, beta=1)


def test_results_that_cannot_be_written():
    locked = np.zeros((4, 4), np.float32)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        duoblas.sgemm(ONE, ONE, locked)
    for c in (np.zeros((8, 8), np.float32)[::2, ::2], np.zeros((4, 4), np.float32)[::-1],
              np.broadcast_to(np.zeros(4, np.float32), (4, 4))):
        with pytest.raises(ValueError):
            duoblas.sgemm(ONE, ONE, c)
    with pytest.raises(TypeError):
        duoblas.sgemm("x", ONE)


def test_overlap():
    whole = np.ones((8, 8), np.float32)
    for c in (whole[:4, :4], whole[2:6, 3:7], whole[:4, :4].T):
        with pytest.raises(ValueError, match="shares elements with a"):
            duoblas.sgemm(whole[:4, :4], ONE, c)
        with pytest.raises(ValueError, match="shares elements with b"):
            duoblas.sgemm(ONE, whole[:4, :4], c)
    # Side by side they lie within each other's bounds.
    assert (duoblas.sgemm(whole[:4, :4], whole[4:, :4], whole[:4, 4:]) == 4).all()
    assert (whole[4:] == 1).all() and (whole[:4, :4] == 1).all()
