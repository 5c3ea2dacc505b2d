"""A forked child computes, whatever the threads of its parent were doing.

DUOBLAS_TEST_LONG=1 forks a thousand times in each state."""

import os
import re
import signal
import threading
import warnings
from contextlib import contextmanager
from pathlib import Path

import duoblas
import numpy as np
import pytest

from duoblas import _ranges

FORKS = 1000 if os.environ.get("DUOBLAS_TEST_LONG") == "1" else 8
LIMIT = 60  # seconds after which a child counts as hung
A = np.arange(30000, dtype=np.float32).reshape(150, 200) % 7
RIGHT = A @ A.T  # exact


def fork():
    with warnings.catch_warnings():  # newer Pythons warn of what is tested here
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def in_child(work):
    """Does work() end well there?"""
    pid = fork()
    if pid == 0:
        signal.alarm(LIMIT)
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def good(ctx=None):
    assert (duoblas.sgemm(A, A.T, ctx=ctx) == RIGHT).all()
    assert duoblas.ssum(A[1], ctx=ctx) == A[1].sum()


@contextmanager
def meanwhile(work):
    """A thread that does work() again and again."""
    ended, begun = threading.Event(), threading.Event()

    def loop():
        while not ended.is_set():
            work()
            begun.set()

    thread = threading.Thread(target=loop)
    thread.start()
    assert begun.wait(LIMIT)
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def held(lock):
    """A thread that holds it."""
    ended, begun = threading.Event(), threading.Event()

    def hold():
        with lock:
            begun.set()
            ended.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    assert begun.wait(LIMIT)
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_all_locks_are_known():
    """A lock that is not made by _locked.py would stay locked in the child."""
    package = Path(duoblas.__file__).parent
    made = {path.name for path in package.glob("*.py")
            if re.search(r"\b(R?Lock|Condition|Semaphore|Event|Queue)\(\)", path.read_text())}
    assert made == {"_locked.py"}


def test_in_a_call():
    """Also with the context that the call is of."""
    with duoblas.Context() as shared:
        with meanwhile(lambda: duoblas.sgemm(A, A.T, ctx=shared)):
            assert all(in_child(lambda: (good(shared), good())) for _ in range(FORKS))
        good(shared)


def test_while_arrays_are_kept():
    x = np.ones(500, np.float32)
    with meanwhile(lambda: duoblas.keep(x).release()):
        def work():
            with duoblas.keep(A), duoblas.prepare(RIGHT):
                good()
        assert all(in_child(work) for _ in range(FORKS))


@pytest.mark.parametrize("which", ["context", "kept", "adopted"])
def test_locked(which):
    """Each lock of the package, when another thread holds it."""
    with duoblas.Context() as ctx:
        lock = {"context": ctx, "kept": _ranges.kept, "adopted": _ranges.adopted}[which]._lock

        def work():
            with ctx.keep(A):
                good(ctx)
            _ranges.adopted._find(0, 1)
            with _ranges.adopted._lock:
                pass
            ctx.close()

        with held(lock):
            assert all(in_child(work) for _ in range(FORKS))


def test_locked_by_the_thread_that_forks():
    """The child goes on inside, alone, and frees the lock."""
    with duoblas.Context() as ctx:
        def work():
            with ctx.keep(A):
                good(ctx)

        got = []

        def try_lock():
            got.append(ctx._lock.acquire(blocking=False))
            if got[0]:
                ctx._lock.release()

        other = threading.Thread(target=try_lock)
        with ctx._lock, _ranges.kept._lock:
            pid = fork()
            if pid == 0:
                signal.alarm(LIMIT)
                work()
                other.start()
                other.join()
        if pid == 0:
            status = 1
            try:
                with meanwhile(work):
                    work()
                status = 0 if got == [False] else 2
            finally:
                os._exit(status)
        assert os.waitpid(pid, 0)[1] == 0
        good(ctx)


def test_other_threads_have_objects_of_their_own():
    """Python ends them in the child before it calls anything of the package."""
    own, made, ended = threading.local(), threading.Event(), threading.Event()

    def work():
        own.kept = duoblas.keep(np.ones(100, np.float32))
        duoblas.ssum(A[0])  # a context, too
        made.set()
        ended.wait()
        own.kept.release()

    thread = threading.Thread(target=work)
    thread.start()
    assert made.wait(LIMIT)
    with held(_ranges.kept._lock):
        assert all(in_child(good) for _ in range(FORKS))
    ended.set()
    thread.join()


def test_what_the_child_inherits(tmp_path):
    """Blocks, kept arrays and contexts can be used and ended on both sides."""
    x = A.copy()
    with duoblas.Context(math="float64") as ctx, duoblas.keep(x) as kept:
        good()
        event = duoblas.Event().record()

        def work():
            assert duoblas.default_context() is ctx
            assert (duoblas.sgemm(x, x.T) == RIGHT).all()
            kept.fetch()
            x[...] = 1
            kept.changed()
            assert duoblas.ssum(x[0]) == x.shape[1]
            assert event.query()
            kept.release()
            with duoblas.keep(x):
                good()
            ctx.__exit__(None, None, None)
            assert ctx.closed and duoblas.default_context() is not ctx
            good()

        assert in_child(work)
        assert (x == A).all() and not ctx.closed
        good()


def test_explain():
    """A child explains calls of its own."""
    with duoblas.Context() as ctx:
        duoblas.ssum(A[0])

        def work():
            with pytest.raises(LookupError):
                duoblas.explain()
            duoblas.sasum(A[0])
            assert duoblas.explain()["operation"] == "sasum"

        assert in_child(work)
        assert duoblas.explain() == ctx.explain()
    assert duoblas.explain()["operation"] == "ssum"  # its context is closed
    assert in_child(work)


def test_in_turn():
    """A child of a child."""
    with duoblas.Context() as ctx, held(ctx._lock):
        def work():
            good(ctx)
            with held(ctx._lock):
                assert in_child(lambda: good(ctx))
        assert in_child(work)


def test_ranges_that_were_being_changed():
    """A range that a thread was taking back at the fork is needed, and let go, again."""
    x = np.ones(100, np.float32)
    low, bytes_ = x.ctypes.data, x.nbytes

    def work():
        held = _ranges.kept.need(None, low, bytes_, True)
        duoblas._library.library.duo_release(None, low)  # and then the parent forked
        held.needed -= 1
        with duoblas.keep(x):
            assert duoblas.ssum(x) == 100
        assert not _ranges.kept._known
    assert in_child(work)


def test_results_that_are_on_the_device(sim):
    """They are lost to the child, which is told, and not to the parent."""
    c = np.zeros_like(RIGHT)
    with duoblas.Context(path="gpu"), duoblas.keep(A, c) as kept:
        duoblas.sgemm(A, A.T, c)

        def work():
            for call in (lambda: duoblas.ssum(c[0]), kept.fetch, kept.release):
                with pytest.raises(duoblas.DeviceLostError):
                    call()
            good()

        assert all(in_child(work) for _ in range(FORKS))
        kept.fetch()
        assert (c == RIGHT).all()
