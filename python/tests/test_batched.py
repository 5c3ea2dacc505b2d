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


# ---- Lists ----

def matrices(rng, count, rows, columns, how):
    """Each an array of its own."""
    return [stack(rng, 1, rows, columns, how)[0] for _ in range(count)]


@pytest.mark.parametrize("of_c", ["C", "turned", "apart"])
@pytest.mark.parametrize("of_b", LAYOUTS)
@pytest.mark.parametrize("of_a", LAYOUTS)
def test_lists(rng, of_a, of_b, of_c):
    count, m, n, k = (int(v) for v in rng.integers(2, 30, 4))
    a, b = matrices(rng, count, m, k, of_a), tuple(matrices(rng, count, k, n, of_b))
    c = matrices(rng, count, m, n, of_c)
    before = [x.copy() for x in c]
    assert duoblas.sgemm_batched(a, b, c, 1.5, -0.5) is c
    for x, y, z, old in zip(a, b, c, before):
        assert near(z, *product(x, y, 1.5, -0.5, old))
        assert np.isnan(z.base).sum() == z.base.size - z.size


def test_lists_and_others(rng):
    a, b = matrices(rng, 5, 6, 4, "C"), rng.standard_normal((5, 4, 7), np.float32)
    c = np.zeros((5, 6, 7), np.float32)
    assert duoblas.sgemm_batched(a, b, out=c) is c and right(np.stack(a), b, c, 1, 0, c)
    made = duoblas.sgemm_batched(a, b[0])
    assert made.shape == (5, 6, 7) and right(np.stack(a), b[0], made, 1, 0, made)
    turned = duoblas.sgemm_batched(b[0].T, [x.T for x in a])
    np.testing.assert_allclose(turned, made.transpose(0, 2, 1), rtol=1e-5, atol=1e-5)
    mixed = [a[0], np.asfortranarray(a[1]), np.repeat(a[2], 2, 1)[:, ::2], *a[3:]]
    assert right(np.stack(a), b, duoblas.sgemm_batched(mixed, b), 1, 0, made)


def test_lists_are_one_call(rng):
    """And nothing is put into a stack."""
    a, c = matrices(rng, 9, 20, 20, "C"), matrices(rng, 9, 20, 20, "C")
    with duoblas.Context(path="cpu") as ctx:
        duoblas.sgemm_batched(a, a[0], c)
        told = ctx.explain()
        assert (told["count"], told["m"]) == (9, 20)
        seen = []
        run = ctx._run
        ctx._run = lambda f, operands, *rest: (seen.extend(operands), run(f, operands, *rest))
        duoblas.sgemm_batched(a, a, c)
    assert {o.address for o in seen} == {x.ctypes.data for x in a + c}


def test_bad_lists(rng):
    a, b = matrices(rng, 3, 4, 5, "C"), matrices(rng, 3, 5, 6, "C")
    c = [np.full((4, 6), np.nan, np.float32) for _ in range(3)]
    for bad in ((a, b[:2]), (a, b, c[:2]), (a, [*b[:2], b[2][:4]]), (a, b, c[0]), ([], b[0]),
                (a, b, None, 1, 1), (a, b, [*c[:2], c[2][::2, ::2]]), ([a[0][0]] * 3, b),
                (a, b, [a[0], *c[1:]]), (np.stack(a)[:2], b)):
        with pytest.raises(ValueError):
            duoblas.sgemm_batched(*bad)
    with pytest.raises(TypeError):
        duoblas.sgemm_batched([[[1.0, 2.0]]], [[[1.0], [2.0]]])
    assert all(np.isnan(x).all() for x in c)
    assert duoblas.sgemm_batched([], b[0], []) == []


def test_lists_on_the_device(rng, on_device):
    a, b = matrices(rng, 4, 30, 20, "C"), matrices(rng, 4, 20, 10, "C")
    c = [on_device(np.zeros((30, 10))) for _ in range(4)]
    with duoblas.Context(path="gpu") as ctx:
        duoblas.sgemm_batched([on_device(x) for x in a], [on_device(x) for x in b], c)
        assert ctx.explain()["count"] == 4 and ctx.explain()["residence"] == ("device",) * 3
    for x, y, z in zip(a, b, c):
        assert near(z.get(), *product(x, y))
