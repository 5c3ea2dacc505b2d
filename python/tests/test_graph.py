"""Graphs: captured calls give the bits of calls that are carried out; what is refused; lives."""

import gc
import os
import threading
import weakref

import duoblas
import numpy as np
import pytest
from duoblas import _ranges

IEEE = {"math": "ieee"}  # a product has the same bits in a graph


def numbers(rng, *shape):
    return rng.standard_normal(shape, np.float32)


def test_launch(rng):
    """Each launch does the calls with what is in the arrays then."""
    a, b, c = numbers(rng, 30, 20), numbers(rng, 20, 10), np.zeros((30, 10), np.float32)
    out = np.zeros(1, np.float32)
    with duoblas.Context(**IEEE), duoblas.Graph() as graph:
        assert duoblas.sgemm(a, b, c, 2) is c
        made = duoblas.sgemm(c.T, a)
        total = duoblas.ssum(c[3])
        assert duoblas.sasum(c[:, 1], out=out) is out
        inner = duoblas.sdot(c[0], c[1, ::-1])
        many = duoblas.sgemm_batched(np.stack([a, a]), b)
        all_of_it = duoblas.sum(a)
        through = duoblas.matmul(a, b)
    assert not c.any() and not out.any()
    for _ in range(3):
        a[:] = numbers(rng, 30, 20)
        graph.launch()
        with duoblas.Context(**IEEE):
            right = duoblas.sgemm(a, b, alpha=2)
            np.testing.assert_array_equal(c, right)
            np.testing.assert_array_equal(made, duoblas.sgemm(right.T, a))
            np.testing.assert_array_equal(through, duoblas.sgemm(a, b))
            assert total == duoblas.ssum(right[3]) and out == duoblas.sasum(right[:, 1])
            assert inner == duoblas.sdot(right[0], right[1, ::-1]) and all_of_it == duoblas.sum(a)
    assert many.shape == (2, 30, 10) and many.any()
    assert type(total) is np.ndarray and total.shape == ()


def test_context_of_the_block(rng):
    """It is the one of the calls inside, and stays open."""
    x = numbers(rng, 100)
    before = duoblas.default_context()
    with duoblas.Context(threads=1) as ctx:
        with duoblas.Graph(ctx) as graph:
            assert duoblas.default_context() is ctx
            total = duoblas.ssum(x)
            at_once = duoblas.sasum(x, ctx=before)
        assert not ctx.closed and at_once == duoblas.sasum(x)
        duoblas.ssum(x)
        assert ctx.explain()["operation"] == "ssum"  # calls are carried out again
    graph.launch(before)
    assert total == duoblas.ssum(x)
    with duoblas.Graph() as graph:
        assert duoblas.default_context() is before
    assert not before.closed


def test_other_contexts(rng):
    """They take part from an event to another."""
    x = numbers(rng, 1000)
    fork, join = duoblas.Event(), duoblas.Event()
    with duoblas.Context() as side, duoblas.Graph(duoblas.Context()) as graph:
        first = duoblas.ssum(x)
        fork.record().wait(side)
        beside = duoblas.sasum(x, ctx=side)
        join.record(side).wait()
        last = duoblas.sdot(x, x)
    assert "->" in graph.text() and graph.text().count("label") == 3
    graph.launch()
    assert (first, beside, last) == (duoblas.ssum(x), duoblas.sasum(x), duoblas.sdot(x, x))
    with duoblas.Context() as later:  # the capture is over
        fork.wait(later)
        assert duoblas.ssum(x, ctx=later) == first


def test_contexts_that_are_not_joined(rng):
    x, fork = numbers(rng, 1000), duoblas.Event()
    with duoblas.Context() as ctx, duoblas.Context() as side:
        with pytest.raises(duoblas.DuoBLASError, match="not joined"):
            with duoblas.Graph(ctx):
                fork.record().wait(side)
                duoblas.sasum(x, ctx=side)
        assert duoblas.sasum(x, ctx=side) == duoblas.sasum(x, ctx=ctx)


def test_update(rng):
    a, b, c = numbers(rng, 8, 5), numbers(rng, 5, 6), np.zeros((8, 6), np.float32)
    x, out = numbers(rng, 50), np.zeros((), np.float32)
    for math in ("accurate", "ieee", "tf32", "float64"):
        with duoblas.Context(math=math), duoblas.Graph() as graph:
            duoblas.sgemm(a, b, c)
            duoblas.sdot(x, x, out=out)
        other, y = np.zeros_like(c), numbers(rng, 50)
        graph.update(1, duoblas.sgemm, a, b, other, alpha=3)
        graph.update(2, duoblas.sdot, x, y, out=out)
        graph.launch()
        assert not c.any()
        np.testing.assert_allclose(other, 3 * (a @ b), rtol=1e-2, atol=1e-2)
        assert out == pytest.approx(x @ y, abs=1e-4)


def test_bad_updates(rng):
    a, c = numbers(rng, 8, 8), np.zeros((8, 8), np.float32)
    with duoblas.Graph() as graph:
        duoblas.sgemm(a, a, c)
    with pytest.raises(duoblas.ArgumentError) as told:
        graph.update(2, duoblas.sgemm, a, a, c)
    assert told.value.status is duoblas.Status.ERR_NODE
    for call, *arguments in ((duoblas.sgemm, a, a[:, :7], c[:, :7]), (duoblas.sgemm, a, a.T, c),
                             (duoblas.ssum, a[0])):
        with pytest.raises(duoblas.ArgumentError) as told:
            graph.update(1, call, *arguments)
        assert told.value.status is duoblas.Status.ERR_SHAPE
    for call, *arguments in ((duoblas.sgemm_batched, a[None], a, c[None]), (len, a),
                             (duoblas.sgemm, a[::2, ::2], a[::2, ::2], c[:4, :4])):
        with pytest.raises((ValueError, TypeError)):
            graph.update(1, call, *arguments)
    duoblas.sgemm(a, a)  # is carried out
    graph.launch()
    np.testing.assert_allclose(c, a @ a, rtol=1e-4, atol=1e-4)


def test_what_would_be_copied(rng):
    a = numbers(rng, 8, 8)
    packed = np.zeros(8, np.dtype([("x", "f4"), ("y", "i1")]))["x"]

    class Copying:
        def __array__(self, dtype=None, copy=None):
            return a.copy()

    class Own:
        def __array__(self, dtype=None, copy=None):
            return a

    for call in (lambda: duoblas.sgemm(a[::2, ::2], a[:4]), lambda: duoblas.ssum(a[0, ::-1]),
                 lambda: duoblas.ssum(packed), lambda: duoblas.sgemm(Copying(), a),
                 lambda: duoblas.sgemm_batched(a[None, ::2, ::2], a[:4]),
                 lambda: duoblas.sum(a[::2, ::2])):
        with pytest.raises(ValueError, match="copied"), duoblas.Graph():
            call()
    with duoblas.Graph() as graph:
        c = duoblas.sgemm(Own(), Own())
    graph.launch()
    np.testing.assert_allclose(c, a @ a, rtol=1e-4, atol=1e-4)


def test_what_numpy_computes(rng):
    a = numbers(rng, 8, 8)
    for call in (lambda: duoblas.matmul(a.astype(float), a), lambda: duoblas.sum(a, axis=0),
                 lambda: duoblas.vdot([1], [2]), lambda: duoblas.matmul(a, a, out=a)):
        with pytest.raises(ValueError, match="serve"), duoblas.Graph():
            call()
    assert duoblas.sum(a, axis=0).shape == (8,)


def test_kept_arrays(rng):
    x = numbers(rng, 100)
    with duoblas.keep(x), pytest.raises(duoblas.ArgumentError, match="kept") as told:
        with duoblas.Graph():
            duoblas.ssum(x)
    assert told.value.status is duoblas.Status.ERR_HIDDEN


def test_errors_in_the_block(rng):
    x = numbers(rng, 100)
    with duoblas.Context() as ctx:
        with pytest.raises(KeyError):
            with duoblas.Graph(ctx) as graph:
                duoblas.ssum(x)
                raise KeyError
        assert duoblas.ssum(x) == duoblas.ssum(x, ctx=ctx)  # are carried out
        for use in (graph.launch, graph.text, graph.__enter__):
            with pytest.raises(ValueError):
                use()
        graph.close()
    with pytest.raises(ValueError, match="closed"):
        with duoblas.Context() as ctx, duoblas.Graph(ctx):
            ctx.close()
    with duoblas.Graph(), pytest.raises(duoblas.DuoBLASError):
        duoblas.default_context().synchronize()
    with pytest.raises(TypeError):
        with duoblas.Graph("gpu"):
            pass


def test_graph_in_a_graph(rng):
    with duoblas.Graph() as outer:
        with pytest.raises(duoblas.DuoBLASError):
            with duoblas.Graph():
                pass
        total = duoblas.ssum(np.ones(5, np.float32))
    outer.launch()
    assert total == 5


def test_arrays_live(rng):
    """As long as the graph uses them."""
    def graph_of(n):
        x = numbers(rng, n)
        with duoblas.Graph() as graph:
            out = duoblas.ssum(x)
        return graph, weakref.ref(x), weakref.ref(out), x.copy()

    graph, x, out, values = graph_of(1000)
    gc.collect()
    graph.launch()
    assert out() == duoblas.ssum(values)
    y = numbers(rng, 1000)
    second, result = weakref.ref(y), np.zeros((), np.float32)
    graph.update(1, duoblas.ssum, y, out=result)
    graph.update(1, duoblas.ssum, values, out=result)
    del y
    gc.collect()
    assert second() is None and x() is not None  # the last update's arrays are in use
    graph.close()
    assert x() is None and out() is None
    with pytest.raises(ValueError):
        graph.launch()
    graph, x, out, _ = graph_of(10)
    del graph
    gc.collect()
    assert x() is None and out() is None


def test_its_life():
    with duoblas.Graph() as graph:
        pass
    assert repr(graph) == "<duoblas.Graph>" and graph.handle
    graph.close()
    assert "without" in repr(graph)
    graph.close()  # does nothing


def test_threads(rng):
    """They launch one graph by turns."""
    x = numbers(rng, 10000)
    with duoblas.Graph() as graph:
        total = duoblas.ssum(x)
    problems = []

    def work():
        try:
            for _ in range(50):
                graph.launch()
        except Exception as problem:  # noqa: BLE001
            problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not problems and total == duoblas.ssum(x)


def test_child(rng):
    x = numbers(rng, 1000)
    with duoblas.Graph() as graph:
        total = duoblas.ssum(x)
    child = os.fork()
    if child == 0:
        try:
            graph.launch()
            right = total == duoblas.ssum(x)
            graph.close()
            os._exit(0 if right else 1)
        except BaseException:  # noqa: BLE001
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    graph.launch()
    assert total == duoblas.ssum(x)


# ---- On a device ----

def test_arrays_on_the_device(rng, on_device):
    """They are known to the library as long as the graph."""
    a, x = numbers(rng, 64, 64), numbers(rng, 5000)
    da, dc, dx, out = (on_device(v) for v in (a, np.zeros((64, 64)), x, np.zeros(1)))
    with duoblas.Context(device=0, **IEEE) as ctx:
        with duoblas.Graph() as graph:
            duoblas.sgemm(da, da, dc)
            duoblas.ssum(dx, out=out)
        assert len(_ranges.adopted._known) == 4
        for _ in range(3):
            graph.launch()
        np.testing.assert_array_equal(dc.get(), duoblas.sgemm(a, a))
        assert out.get()[0] == duoblas.ssum(x)
        other = on_device(2 * x)
        graph.update(2, duoblas.ssum, other, out=out)
        graph.launch()
        assert out.get()[0] == duoblas.ssum(2 * x)
        assert ctx.explain()["operation"] == "ssum"
    graph.close()
    assert not _ranges.adopted._known


def test_device_is_needed(rng, on_device):
    x, out = on_device(numbers(rng, 100)), on_device(np.zeros(1))
    with duoblas.Context() as ctx, pytest.raises(ValueError, match="device="):
        with duoblas.Graph(ctx):
            duoblas.ssum(x, out=out)
    with duoblas.Context(device=0) as ctx, pytest.raises(duoblas.ArgumentError) as told:
        with duoblas.Graph(ctx):
            duoblas.ssum(x)  # its result is in host memory
    assert told.value.status is duoblas.Status.ERR_HIDDEN
    assert not _ranges.adopted._known
