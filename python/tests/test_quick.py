"""The quick way of a call gives what the long way gives, and leaves to it what it does not know."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import duoblas
import ways
from duoblas import _quick
from ways import both, taken

pytestmark = ways.needs_module


def same(x, y):
    if isinstance(x, (np.ndarray, np.generic)):
        return (type(x) is type(y) and x.dtype == y.dtype and x.shape == y.shape
                and x.strides == y.strides and x.tobytes() == y.tobytes())
    return x == y


@st.composite
def matrix(draw, rows, columns):
    """A matrix in one of many storages."""
    order = draw(st.sampled_from("CF"))
    gap, step, first = draw(st.tuples(st.integers(0, 3), st.integers(1, 2), st.integers(0, 2)))
    base = np.zeros((rows + first, (columns + gap) * step) if order == "C"
                    else (rows + first + gap, columns * step), np.float32, order)
    x = base[first:first + rows, :columns * step:step]
    x[...] = np.arange(x.size).reshape(x.shape) % 7 - 3
    how = draw(st.sampled_from(["plain"] * 6 + ["float64", "swapped", "reversed", "locked", "bytes",
                                                "subclass", "list"]))
    if how == "float64":
        return x.astype(np.float64)
    if how == "swapped":
        return x.astype(">f4")
    if how == "reversed":
        return x[::-1]
    if how == "bytes":
        off = np.empty(x.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(x.shape)
        off[...] = x
        return off
    if how == "locked":
        x = x.copy()
        x.flags.writeable = False
    if how == "subclass":
        return x.view(np.recarray)
    return x.tolist() if how == "list" else x


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_products_are_the_same(data):
    m, n, k = (data.draw(st.integers(0, 5)) for _ in "mnk")
    a = data.draw(matrix(m, k))
    b = data.draw(matrix(k + data.draw(st.sampled_from([0] * 9 + [1])), n))
    c = data.draw(st.one_of(st.none(), matrix(m, n)))
    alpha, beta = (data.draw(st.sampled_from([0, 1, 0.5, 1e300, True, np.float32(2), 10**400, "x"]))
                   for _ in "ab")

    def call():
        to = c.copy() if type(c) is np.ndarray and c.flags.writeable and c.flags.forc else c
        result = duoblas.sgemm(a, b, to, alpha, beta)
        assert to is None or result is to
        return result

    quick, long = both(call)
    assert same(quick, long), (quick, long)
    quick, long = both(lambda: duoblas.matmul(a, b))
    assert same(quick, long), (quick, long)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_numbers_are_the_same(data):
    n = data.draw(st.integers(0, 9))

    def vector():
        step = data.draw(st.sampled_from([1, 2, 3, -1, -2]))
        base = np.random.default_rng(n).standard_normal(10 * abs(step)).astype(np.float32)
        x = base[::step][:n + data.draw(st.sampled_from([0] * 9 + [1]))]
        return data.draw(st.sampled_from([x, x, x, x.astype(">f4"), x.astype(float), x[None],
                                          np.broadcast_to(np.float32(2), n), x.tolist()]))

    x, y = vector(), vector()
    for call in (lambda: duoblas.sasum(x), lambda: duoblas.ssum(x), lambda: duoblas.sdot(x, y),
                 lambda: duoblas.dot(x, y), lambda: duoblas.vdot(x, y)):
        quick, long = both(call)
        assert same(quick, long), (quick, long)


def test_plain_calls_take_it(taken):
    a, b = np.ones((3, 4), np.float32), np.ones((5, 4), np.float32)
    c = np.empty((3, 5), np.float32, "F")
    duoblas.sgemm(a, b.T)
    duoblas.sgemm(a, b.T, c, 2, 1.5)
    duoblas.sgemm(a, b.T, out=c)
    duoblas.matmul(a, b.T, out=c)
    duoblas.dot(a[0], b[0])
    duoblas.vdot(a[:, 0], a[:, 1])
    for function in (duoblas.ssum, duoblas.sasum):
        function(a[:, 0])
        function(a[:, 0], out=np.empty((), np.float32))
    duoblas.sdot(a[0], b[0], out=c[:1, 0])
    assert taken() == 11


def test_shared_elements_are_found(taken):
    a = np.ones((4, 4), np.float32)
    with pytest.raises(ValueError, match="c shares elements with a"):
        duoblas.sgemm(a, np.ones((4, 4), np.float32), a)
    whole = np.ones((4, 8), np.float32)
    duoblas.sgemm(whole[:, :4], np.eye(4, dtype=np.float32), whole[:, 4:])  # beside each other
    assert (whole == 1).all() and taken() == 0


def test_a_closed_context_is_refused():
    ctx = duoblas.Context()
    x = np.ones(3, np.float32)
    duoblas.ssum(x, ctx=ctx)
    assert duoblas.ssum(x, ctx=ctx) == 3
    ctx.close()
    with pytest.raises(ValueError, match="the context is closed"):
        duoblas.ssum(x, ctx=ctx)


def test_statuses_become_exceptions():
    code = """
        import ctypes, numpy as np, duoblas
        from duoblas import _library, _quick
        from duoblas._context import Context, default_context
        from duoblas._errors import check
        from duoblas import _arrays, _ranges, _scope
        Sum = ctypes.CFUNCTYPE(*[ctypes.c_int] * 1, *[ctypes.c_void_p] * 5)
        failing = Sum(lambda *_: int(duoblas.Status.ERR_MEMORY))
        address = ctypes.cast(failing, ctypes.c_void_p).value
        x = np.ones(3, np.float32)
        duoblas.ssum(x)
        _quick.quick.use(*[address] * 5, _scope.thread, _scope.blocks, Context, check,
                         _ranges.adopted, _arrays.empty_like)
        for call in (lambda: duoblas.ssum(x), lambda: duoblas.sasum(x)):
            for _ in range(3):
                try:
                    call()
                except duoblas.OutOfMemoryError:
                    print("refused")
        assert default_context()._own.acquire(blocking=False)
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True,
                          text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("refused\n" * 6, 0), done.stderr


def test_explain_tells_of_the_last_call(taken):
    a = np.ones((3, 4), np.float32)
    with duoblas.Context(path="cpu") as ctx:
        duoblas.sgemm(a, a.T)
        duoblas.sgemm(a, a.T)
        assert duoblas.explain() == ctx.explain()
    duoblas.ssum(a[0])
    duoblas.ssum(a[0])
    assert duoblas.explain()["operation"] == "ssum"
    assert taken() >= 2


def test_a_context_that_two_threads_share(taken):
    ctx, x, wrong = duoblas.Context(), np.ones(1000, np.float32), []

    def add():
        for _ in range(500):
            if duoblas.ssum(x, ctx=ctx) != 1000:
                wrong.append(1)
    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_wait_for_a_context_can_be_interrupted():
    ctx, x, held = duoblas.Context(), np.ones(3, np.float32), threading.Event()
    duoblas.ssum(x, ctx=ctx)

    def hold():
        with ctx._own:
            held.set()
            time.sleep(1)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    alarm = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    alarm.start()
    with pytest.raises(KeyboardInterrupt):
        duoblas.ssum(x, ctx=ctx)
    thread.join()
    alarm.join()
    assert duoblas.ssum(x, ctx=ctx) == 3


def test_nothing_is_left_behind():
    a = np.ones((6, 6), np.float32)
    results = [duoblas.sgemm(a, a) for _ in range(3)]
    before = [sys.getrefcount(x) for x in (a, None, results[0])]
    for _ in range(1000):
        duoblas.sgemm(a, a, results[0])
        duoblas.ssum(a[0])
        duoblas.matmul(a, a)
    after = [sys.getrefcount(x) for x in (a, None, results[0])]
    assert all(abs(x - y) < 100 for x, y in zip(before, after)), (before, after)
