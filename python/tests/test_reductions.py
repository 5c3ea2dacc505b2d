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
