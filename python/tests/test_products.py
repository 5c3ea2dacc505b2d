"""matmul, dot and vdot: which calls of the library they are, and what is left to NumPy."""

import duoblas
import numpy as np
import pytest

from bounds import near, product

A = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


def served(function, *arguments, **named):
    """Its result, and the explanation of the call of the library."""
    before = duoblas.report()
    result = function(*arguments, **named)
    assert duoblas.report() == before
    return result, duoblas.explain()


def test_one_call(rng):
    """For each product; what is broadcast is not copied."""
    for of_a, of_b, operation, count in [
            ((3, 4), (4, 5), "sgemm", 1), ((4,), (4, 5), "sgemm", 1), ((3, 4), (4,), "sgemm", 1),
            ((4,), (4,), "sdot", 1), ((6, 3, 4), (6, 4, 5), "sgemm", 6),
            ((3, 4), (6, 4, 5), "sgemm", 6), ((2, 6, 3, 4), (2, 6, 4, 5), "sgemm", 12),
            ((2, 6, 3, 4), (6, 4, 5), "sgemm", 12), ((2, 1, 3, 4), (6, 4, 5), "sgemm", 12),
            ((6, 3, 4), (4, 5), "sgemm", 1), ((2, 6, 3, 4), (1, 1, 4, 5), "sgemm", 1),
            ((2, 6, 3, 4), (4,), "sgemm", 1)]:
        a, b = rng.standard_normal(of_a, np.float32), rng.standard_normal(of_b, np.float32)
        c, told = served(duoblas.matmul, a, b)
        assert (told["operation"], told["count"]) == (operation, count)
        assert near(c, *product(a, b))
        if operation == "sgemm" and count == 1 and len(of_a) > 1:  # the rows of all a
            assert told["m"] == a.size // 4
    c, told = served(duoblas.dot, a, rng.standard_normal((5, 4, 7), np.float32))
    assert c.shape == (2, 6, 3, 5, 7) and told["count"] == 60


def test_rows_that_do_not_go_on(rng):
    """Are no product with the rows of the next matrix."""
    a, b = rng.standard_normal((6, 5, 4), np.float32), rng.standard_normal((4, 7), np.float32)
    for part in (a[:, :3], a[:, 1:], a[::2], a[::-1]):
        c, told = served(duoblas.matmul, part, b)
        assert near(c, *product(part, b)) and told["count"] == len(part)
    out = np.zeros((6, 9, 7), np.float32)[:, :5]
    assert near(duoblas.matmul(a, b, out), *product(a, b)) and (out.base[:, 5:] == 0).all()


def test_broadcast_factor_is_copied_once(monkeypatch):
    copies = []
    monkeypatch.setattr(duoblas._products, "copied",
                        lambda o, name: copies.append(o.shape) or duoblas._arrays.copied(o, name))
    odd = np.broadcast_to(np.tile(A, (2, 2))[::2, ::2], (100, 3, 4))
    assert near(duoblas.matmul(odd, A.T), *product(odd, A.T))
    assert near(duoblas.matmul(A.T, odd[:50]), *product(A.T, odd[:50]))
    assert copies == [(1, 3, 4)] * 2


def test_out(rng):
    """It may be any array: also a part of a factor."""
    square = rng.standard_normal((5, 6, 6), np.float32)
    right, bound = product(square, square)
    whole = np.full((5, 6, 12), np.nan, np.float32)
    for out in (np.empty((5, 6, 6), np.float32), whole[:, :, ::-2], whole[:, :, 3:9],
                np.empty((6, 6, 5), np.float32).T, square.copy()):
        a = out if out.base is None and out.shape == square.shape else square
        a[...] = square
        assert served(duoblas.matmul, a, a, out=out)[0] is out and near(out, right, bound)
    assert np.isnan(whole[:, :, 0]).all()
    whole = rng.standard_normal((203, 6), np.float32)
    before = whole.copy()
    assert near(duoblas.matmul(whole[:-3], square[0], whole[3:]),
                *product(before[:-3], square[0]))
    assert (whole[:3] == before[:3]).all()


def test_out_with_repeated_elements():
    """NumPy writes all products, one over the other; the last stays."""
    memory = np.zeros((2, 3, 3), np.float32)
    out = np.lib.stride_tricks.as_strided(memory, (2, 3, 3), (0, 12, 4))
    assert served(duoblas.matmul, np.stack([A, 2 * A]), A.T, out=out)[0] is out
    assert near(memory[0], *product(2 * A, A.T)) and (memory[1] == 0).all()


def test_context():
    with duoblas.Context(path="cpu") as ctx:
        pass
    for function in (duoblas.matmul, duoblas.dot, duoblas.vdot):
        for a in (A[0], A @ A.T):
            with duoblas.Context(path="cpu") as ctx:
                function(a, a, ctx=ctx)
                assert ctx.explain()["side"] == "cpu"
            with pytest.raises(ValueError, match="closed"):
                function(a, a, ctx=ctx)
            with pytest.raises(TypeError, match="not a duoblas.Context"):
                function(a, a, ctx=5)


class Kind(np.ndarray):
    """A subclass with rules of its own."""


def test_report():
    """What NumPy computes is counted; what it refuses is not."""
    def new(before):
        now = duoblas.report()["not_served"].get("matmul", {})
        return {why: n - before.get(why, 0) for why, n in now.items() if n != before.get(why, 0)}

    for a, b, why in [(A.astype(float), A.T, "float64"), (A, A.T.astype(np.int16), "int16"),
                      (A.tolist(), A.T, "list"), (A.view(Kind), A.T, "Kind")]:
        before = duoblas.report()["not_served"].get("matmul", {})
        c = duoblas.matmul(a, b)
        assert type(c) is type(np.matmul(a, b)) and (c == np.matmul(a, b)).all()
        assert new(before) == {why: 1}
    before = duoblas.report()["not_served"]["matmul"]
    for a, b, out in [(A, A, None), (A.astype(float), A, None), (A[0, 0], A, None), ("x", A, None),
                      (np.stack([A] * 2), np.stack([A.T] * 3), None),
                      (A, A.T, np.zeros((2, 2), np.float32)), (A, A.T, A[:, :3].astype(int))]:
        with pytest.raises((TypeError, ValueError)):
            duoblas.matmul(a, b, out=out)
    assert new(before) == {}
    assert duoblas.matmul(A, A.T, out=np.zeros((2, 3, 3), np.float32)).shape == (2, 3, 3)
    assert new(before) == {"out": 1}
    told = duoblas.report()
    told["not_served"].clear()
    assert duoblas.report() != told


def test_memory_maps(tmp_path):
    """Are served."""
    a = np.memmap(tmp_path / "a", np.float32, "w+", shape=A.shape)
    a[...] = A
    c, _ = served(duoblas.matmul, a, A.T)
    assert type(c) is np.ndarray and near(c, *product(A, A.T))
