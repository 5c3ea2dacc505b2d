"""set_log and set_decide: functions of the program that the library calls."""

import gc
import logging
import os
import subprocess
import sys
import threading
import weakref
from contextlib import contextmanager

import duoblas
import numpy as np
import pytest

X = np.arange(100000, dtype=np.float32)


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


@pytest.fixture
def lines():
    """What the logger "duoblas" is told."""
    logger, handler = logging.getLogger("duoblas"), Lines()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield handler.lines
    logger.removeHandler(handler)
    logger.setLevel(level)


@contextmanager
def ignored():
    """The exceptions that could not be raised."""
    found, before = [], sys.unraisablehook
    sys.unraisablehook = lambda told: found.append(told.exc_value)
    try:
        yield found
    finally:
        sys.unraisablehook = before


# ---- The log ----

def test_log(lines, capfd):
    with duoblas.Context(path="cpu") as ctx:
        ctx.set_log()
        duoblas.ssum(X)
        line, = lines
        assert line.startswith("ssum") and "100000" in line
        duoblas.sgemm(X.reshape(500, 200), X.reshape(200, 500))
        assert len(lines) == 2 and lines[1].startswith("sgemm")
        ctx.set_log(None)
        duoblas.ssum(X)
        other = Lines()
        logger = logging.Logger("other")
        logger.addHandler(other)
        ctx.set_log(logger)
        duoblas.ssum(X)
    assert len(lines) == 2 and len(other.lines) == 1
    assert capfd.readouterr() == ("", "")


def test_log_of_failed_calls(lines, sim):
    with duoblas.Context(path="gpu") as ctx:
        ctx.set_log()
        duoblas.ssum(X)
        with pytest.raises(ValueError):
            ctx.set_threads(-1)
    assert lines


def test_nobody_listens(capfd):
    with duoblas.Context() as ctx:
        ctx.set_log()
        duoblas.ssum(X)
    assert capfd.readouterr() == ("", "")


def test_handlers_that_raise():
    class Bad(logging.Logger):
        def handle(self, record):
            raise KeyError("bad")

    with duoblas.Context(path="cpu") as ctx, ignored() as problems:
        ctx.set_log(Bad("bad"))
        assert duoblas.ssum(X) == duoblas.ssum(X, ctx=duoblas.Context())
    assert [type(problem) for problem in problems] == [KeyError]


def test_handlers_may_compute():
    """The library is in no call then."""
    class Computing(Lines):
        def emit(self, record):
            super().emit(record)
            self.total = duoblas.ssum(X, ctx=other)

    handler, logger, other = Computing(), logging.Logger("computing"), duoblas.Context()
    logger.addHandler(handler)
    with duoblas.Context() as ctx:
        ctx.set_log(logger)
        assert duoblas.ssum(X) == handler.total


def test_no_python_runs_in_the_library(lines):
    """Neither is anything collected there."""
    with duoblas.Context(path="cpu") as ctx:
        ctx.set_log()
        called = []
        sys.setprofile(lambda frame, event, _: called.append((frame.f_code, event)))
        try:
            duoblas.ssum(X)
        finally:
            sys.setprofile(None)
        assert [code.co_name for code, event in called
                if event == "call" and "duoblas/_callbacks.py" in code.co_filename] == ["tell"]
    assert len(lines) == 1


def test_log_by_threads(lines):
    with duoblas.Context() as ctx:
        ctx.set_log()
        threads = [threading.Thread(target=lambda: [duoblas.ssum(X, ctx=ctx) for _ in range(50)])
                   for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert len([line for line in lines if line.startswith("ssum")]) == 200


def test_log_in_a_child(lines):
    with duoblas.Context() as ctx:
        ctx.set_log()
        ctx._log._lines.append(b"of a call of the parent")
        child = os.fork()
        if child == 0:
            try:
                duoblas.ssum(X)
                os._exit(0 if lines and "of a call of the parent" not in lines else 1)
            except BaseException:  # noqa: BLE001
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not lines
        duoblas.ssum(X)
    assert "of a call of the parent" in lines


PROGRAM = """
import logging, threading, time, sys
import numpy as np
import duoblas
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s %(message)s")
x = np.ones(3000000, np.float32)
forever = duoblas.Context(path="cpu")      # lives until the end, in a cycle
forever.set_log(); forever.set_decide(lambda told: None)
forever.self = forever
duoblas.ssum(x, ctx=forever)
def work():
    ctx = duoblas.Context(path="cpu"); ctx.set_log("quiet"); ctx.set_decide(lambda told: None)
    while True: duoblas.ssum(x, ctx=ctx)
logging.getLogger("quiet").propagate = False
for _ in range(2): threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""


def test_end_of_the_interpreter():
    """Also while threads compute."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("duoblas ssum")


# ---- Decisions ----

def test_decide(sim):
    """Any candidate that can, of either side."""
    a = np.ones((300, 300), np.float32)
    with duoblas.Context(path="gpu") as ctx:
        duoblas.sgemm(a, a)
        usual = ctx.explain()
        names = [c["algorithm"] for c in usual["candidates"] if c["accepts"]]
        assert len(names) > 1
        for name in names:
            ctx.set_decide(lambda told: name)
            np.testing.assert_array_equal(duoblas.sgemm(a, a), 300)
            assert ctx.explain()["algorithm"] == name
        for decide in (lambda told: None, None):
            ctx.set_decide(decide)
            duoblas.sgemm(a, a)
            assert ctx.explain()["algorithm"] == usual["algorithm"]


def test_what_decide_is_told():
    asked = []

    def decide(told):
        asked.append(told)
        return told["algorithm"]

    with duoblas.Context(path="cpu") as ctx:
        ctx.set_decide(decide)
        duoblas.sgemm(X.reshape(500, 200), X.reshape(200, 500))
        ran = ctx.explain()
        ctx.set_decide(None)
        duoblas.ssum(X)
    told, = asked
    for field in ("operation", "m", "n", "k", "count", "residence", "algorithm", "side", "threads"):
        assert told[field] == ran[field]
    assert told["seconds"] is None and told["reason"] == told["note"] == ""
    assert [c["algorithm"] for c in told["candidates"]] == [c["algorithm"]
                                                            for c in ran["candidates"]]


def test_bad_decisions():
    """The library's choice stands, and the program is told."""
    a = np.ones((300, 300), np.float32)

    def raising(told):
        raise KeyError("bad")

    def refusing(told):
        return next(c["algorithm"] for c in told["candidates"] if not c["accepts"])

    with duoblas.Context(path="cpu") as ctx:
        duoblas.sgemm(a, a)
        usual = ctx.explain()["algorithm"]
        for decide, problem in ((raising, KeyError), (refusing, ValueError),
                                (lambda told: "fastest", ValueError),
                                (lambda told: 1, ValueError), (lambda: None, TypeError),
                                (lambda told: duoblas.ssum(X), ValueError),
                                (lambda told: ctx.close(), ValueError)):
            ctx.set_decide(decide)
            with ignored() as problems:
                duoblas.sgemm(a, a)
            assert [type(p) for p in problems] == [problem]
            assert ctx.explain()["algorithm"] == usual
        with pytest.raises(TypeError):
            ctx.set_decide("sgemm_cpu_ffma")


def test_other_contexts_while_deciding():
    other = duoblas.Context()
    with duoblas.Context() as ctx:
        ctx.set_decide(lambda told: seen.append(duoblas.ssum(X, ctx=other)))
        seen = []
        assert duoblas.ssum(X) == seen[0]


def test_callbacks_live_with_the_context():
    """And no longer."""
    def decide(told):
        return None

    ctx = duoblas.Context()
    ctx.set_log()
    ctx.set_decide(decide)
    seen, told = weakref.ref(decide), weakref.ref(ctx)
    del decide
    gc.collect()
    duoblas.ssum(X, ctx=ctx)
    assert seen() is not None
    del ctx
    assert told() is None  # without a collection: they make no cycle
    gc.collect()
    assert seen() is None
