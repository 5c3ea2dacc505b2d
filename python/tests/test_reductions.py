"""sasum, ssum and sdot on NumPy arrays."""

import duoblas
import numpy as np
import pytest

from bounds import U

STEPS = [1, 2, 7, -1, -3, 0]


def vector(rng, n, step):
    """n random elements, a step apart, among NaN."""
    memory = np.full(max(1, n) * max(1, abs(step)) + 3, np.nan, np.float32)
    if step == 0:
        memory[0] = rng.standard_normal()
        return np.broadcast_to(memory[:1], (n,)) if n > 0 else memory[:0]
    x = memory[::step][:n]
    x[...] = rng.standard_normal(n)
    return x


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("n", [0, 1, 2, 17, 1000, 70001])
def test_sums(rng, n, step):
    x = vector(rng, n, step)
    exact = x.astype(float)
    bound = 8 * U * abs(exact).sum()
    for function, right in ((duoblas.ssum, exact.sum()), (duoblas.sasum, abs(exact).sum())):
        got = function(x)
        assert type(got) is np.float32
        assert abs(float(got) - right) <= bound
        assert got == function(np.ascontiguousarray(x))  # the same bits for every stride


@pytest.mark.parametrize("of_x", STEPS)
@pytest.mark.parametrize("of_y", STEPS)
def test_dot(rng, of_x, of_y):
    for n in (0, 1, 33, 5000):
        x, y = vector(rng, n, of_x), vector(rng, n, of_y)
        products = x.astype(float) * y.astype(float)
        got = duoblas.sdot(x, y)
        assert abs(float(got) - products.sum()) <= 9 * U * abs(products).sum() + n * 2.0**-150
        assert got == duoblas.sdot(np.ascontiguousarray(x), np.ascontiguousarray(y))
        assert duoblas.sdot(x, x) >= 0


def test_sides_agree(rng):
    """The same bits wherever it runs."""
    x = rng.standard_normal(200003, np.float32)
    results = set()
    for path in ("cpu", "gpu"):
        for threads in (1, 2, 3):
            with duoblas.Context(path=path, threads=threads):
                results.add((float(duoblas.ssum(x)), float(duoblas.sasum(x)),
                             float(duoblas.sdot(x, x[::-1]))))
    assert len(results) == 1


def test_out(rng):
    x = rng.standard_normal(100, np.float32)
    right = duoblas.ssum(x)
    for out in (np.zeros((), np.float32), np.zeros(1, np.float32), np.zeros((1, 1), np.float32),
                np.zeros(5, np.float32)[2:3]):
        assert duoblas.ssum(x, out=out) is out
        assert out.ravel()[0] == right
    assert duoblas.ssum(x, out=x[3:4])[0] == right  # may be an element of x
    for bad in (np.zeros(2, np.float32), np.zeros(0, np.float32)):
        with pytest.raises(ValueError):
            duoblas.ssum(x, out=bad)
    with pytest.raises(TypeError):
        duoblas.ssum(x, out=np.zeros(()))


def test_what_is_refused():
    x = np.ones(4, np.float32)
    for bad in (np.ones(4), [1.0, 2.0], np.ones(4, np.int32)):
        with pytest.raises(TypeError):
            duoblas.ssum(bad)
        with pytest.raises(TypeError):
            duoblas.sdot(x, bad)
    for bad in (np.ones((2, 2), np.float32), np.ones((), np.float32)):
        with pytest.raises(ValueError):
            duoblas.sasum(bad)
    with pytest.raises(ValueError, match="lengths: 4 and 3"):
        duoblas.sdot(x, x[:3])


def test_nan():
    x = np.ones(100, np.float32)
    x[77] = np.nan
    assert np.isnan(duoblas.ssum(x)) and np.isnan(duoblas.sasum(x)) and np.isnan(duoblas.sdot(x, x))


# ---- sum and abs_sum ----

PAIRS = pytest.mark.parametrize("by_numpy, by_blas", [(duoblas.sum, duoblas.ssum),
                                                      (duoblas.abs_sum, duoblas.sasum)])


@PAIRS
@pytest.mark.parametrize("step", STEPS)
def test_bits_of_vectors(rng, by_numpy, by_blas, step):
    x = vector(rng, 10007, step)
    assert type(by_numpy(x)) is np.float32 and by_numpy(x) == by_blas(x)


@PAIRS
def test_all_elements(rng, by_numpy, by_blas):
    """In the order of memory; copied only if they are at no equal distances."""
    x = rng.standard_normal((30, 40, 50), np.float32)
    in_order = by_blas(x.ravel())
    before = duoblas.report()
    for view in (x, x.T, x.transpose(1, 0, 2)):
        assert by_numpy(view) == by_numpy(view, axis=(0, -1, 1)) == in_order
    assert by_numpy(x[:, :, ::2]) == by_blas(x.ravel()[::2])
    for view in (x[:, ::-1], x[:, :7], x[1:, :, 3:]):
        assert by_numpy(view) == by_blas(view.ravel())
    assert by_numpy(np.broadcast_to(x[0, 0], (3, 50))) == by_blas(np.tile(x[0, 0], 3))
    assert by_numpy(x, keepdims=True).shape == (1, 1, 1)
    out = np.zeros((1, 1, 1), np.float32)
    assert by_numpy(x, None, np.float32, out, True) is out and out[0, 0, 0] == in_order
    assert duoblas.report() == before


@PAIRS
def test_lines(rng, by_numpy, by_blas):
    """Long and contiguous ones are sums of the library."""
    x = rng.standard_normal((3, 4, 17000), np.float32)
    before = duoblas.report()
    right = np.array([[by_blas(line) for line in matrix] for matrix in x])
    for view, axis, want in [(x, 2, right), (x, -1, right), (x[::-1, ::2], (2,), right[::-1, ::2]),
                             (x.transpose(2, 1, 0), 0, right.T), (x[1], 1, right[1])]:
        got = by_numpy(view, axis)
        assert got.dtype == np.float32 and (got == want).all()
        got = by_numpy(view, axis, keepdims=True)
        assert (got == np.expand_dims(want, axis)).all()
        out = np.full((*want.shape, 2), np.nan, np.float32)
        part = out[..., 1]
        assert by_numpy(view, axis, out=part) is part
        assert (part == want).all() and np.isnan(out[..., 0]).all()
    assert (by_numpy(x, (2, 1)) == [by_blas(matrix.ravel()) for matrix in x]).all()
    assert by_numpy(x[:0], 2).shape == (0, 4)
    assert duoblas.report() == before


@PAIRS
def test_what_numpy_sums(rng, by_numpy, by_blas):
    x = rng.standard_normal((4, 40000), np.float32)
    for axis, view in ((0, x), (1, x[:, ::2]), (1, x[:, :16000]), ((), x)):
        before = duoblas.report()["not_served"].get(by_numpy.__name__, {}).get("axis", 0)
        assert np.array_equal(by_numpy(view, axis),
                              np.sum(view if by_blas is duoblas.ssum else abs(view), axis))
        assert duoblas.report()["not_served"][by_numpy.__name__]["axis"] == before + 1
    lines = by_numpy(x, 1)
    assert np.allclose(by_numpy(x, 1, out=x[:, 0]), lines, rtol=1e-3)  # a part of x
    assert duoblas.report()["not_served"][by_numpy.__name__]["out"] > 0
    assert type(by_numpy(x, dtype=float)) is np.float64


def test_sums_in_an_asynchronous_context(rng):
    x = rng.standard_normal((2, 17000), np.float32)
    with duoblas.Context(asynchronous=True) as ctx:
        number, lines, product = duoblas.sum(x), duoblas.sum(x, 1), duoblas.vdot(x, x)
        ctx.synchronize()
        assert type(number) is type(product) is np.ndarray
    assert number == duoblas.sum(x) and product == duoblas.vdot(x, x)
    assert (lines == duoblas.sum(x, 1)).all()
